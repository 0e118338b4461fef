"""Programs on a GPU that tests/simulator.py pretends, whose memory is smaller than their arrays of arcs: the same
answers, bit for bit, within the limit. With the argument "few" there is one layout, not three."""

import gc
import re
import sys

import kept_messages
import pytest
from beyond_programs import Reads, lengths
from simulator import Placed, pretend
from test_engines import PROGRAMS, Widest

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import resident
from edgewise.kernels.cuda import placed
from edgewise.run import Prepared

#: Sizes of a part of an array are multiples of this, and nothing is left for what the driver rounds up.
PAGE = 8
LAYOUTS = (ew.Layout(), ew.Layout(None, group_size=3, split=False), ew.Layout("linear", 3, made_on="cpu"))


def graph_of():
    return ew.generate.uniform(8, 40, seed=1, weights=(0, 9))


def cases():
    """By name: a program, its values, its schedules, and whether in-edges are there."""
    given, layouts = lengths(graph_of()), LAYOUTS[1:2] if sys.argv[1:] == ["few"] else LAYOUTS
    buffered = [ew.Schedule(ew.Buffered(), layout=layout) for layout in layouts]
    gathered = [ew.Schedule(ew.Pull(), layout=layout) for layout in layouts]
    pushed = [ew.Schedule(ew.Push()), ew.Schedule(ew.Pull()), ew.Schedule()]
    yield "float sums", *PROGRAMS["float sums"], [*buffered, *gathered, ew.Schedule()]
    yield "edge fields", *PROGRAMS["edge fields"], [*buffered, *gathered, *pushed]
    yield "reads", Reads, given, [*buffered, *gathered, ew.Schedule()]
    yield (
        "sssp",
        *PROGRAMS["sssp"],
        [buffered[0], ew.Schedule(ew.Buffered(), balance=ew.EdgeBased()), *pushed],
    )
    yield "widest", Widest, {"source": 1, "weight": given["length"]}, [buffered[0], *pushed]
    for name, program in kept_messages.PROGRAMS.items():
        yield name, program, {}, [ew.Schedule(layout=layout) for layout in layouts]


def least(run):
    """The fewest bytes with which a run begins."""
    with pytest.raises(MemoryLimitError) as refused:
        run(0)
    (number,) = re.findall(r"needs ([\d,]+) bytes on the GPU for what vertices have", str(refused.value))
    return int(number.replace(",", ""))


def assert_equal(result, expected):
    """Everything equal, bit for bit, and no array of which a part lies on the host."""
    for name, values in {**expected.fields, **expected.edge_fields}.items():
        assert result.host_array(name).tobytes() == values.tobytes(), name
        assert placed.on_gpu(result.on_device(name)) == values.nbytes
    assert result.supersteps == expected.supersteps or "thresholds" in result.explain()
    assert result.aggregates == expected.aggregates


def held(engine):
    """The bytes on the GPU that all runs share."""
    layout = engine._layout.arrays if engine._layout else []
    arrays = [*engine._arcs, *engine._constants.copies.values(), *layout]
    return sum({id(each): placed.on_gpu(each) for each in arrays}.values()) + engine._plan.shared_nbytes()


def compare(program, values, schedule):
    """One program, with memory from the least to all."""
    # What an asynchronous program has reached before its end depends on the order of its work.
    told = values if program.asynchronous else {**values, "max_supersteps": 6}
    expected = Prepared(program, graph_of(), "cuda", schedule, in_edges=True)(**told)
    assert "read from the host" not in expected.explain()
    before = Placed.bytes_on_gpu()
    prepared = Prepared(program, graph_of(), "cuda", schedule, in_edges=True)
    lowest, shares = least(lambda limit: prepared(**told, memory_limit=limit)), set()
    with pytest.raises(MemoryLimitError):
        prepared(**told, memory_limit=lowest - 1)
    limit, outside = lowest, True
    while outside:
        graph, Placed.most = prepared.graph, 0
        gc.collect()
        result = prepared(**told, memory_limit=limit)
        outside = graph.placement is not None
        assert_equal(result, expected)
        assert ("read from the host" in result.explain()) == outside
        (engine,) = prepared._engines.values()
        assert engine.held_bytes == held(engine)
        assert engine.held_bytes + engine.running(1, values).most <= limit
        assert Placed.most - before + engine._of_vertices(values) <= limit
        shares.add(round(graph.placement.arcs, 1) if outside else 1)
        limit = max(limit + PAGE, limit * 6 // 5)
    assert min(shares) == 0 and len(shares) > 2, shares


def main():
    """Print the name of each program that agreed; the exit code is 1 where one does not."""
    pretend()
    from edgewise.layout import units

    units.HEAVY, units.HEAVIEST = 3, 8
    resident.LARGE_PAGE, resident.RESERVE = PAGE, 0
    gc.freeze()  # modules stay: to look at them each time took most of the time
    for name, program, values, schedules in cases():
        for schedule in schedules:
            compare(program, values, schedule)
        print(name, flush=True)


if __name__ == "__main__":
    main()
