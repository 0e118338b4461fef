"""Message buffers and layouts on a GPU that tests/simulator.py pretends, compared with the reference."""

import kept_messages
import numpy as np
from simulate import GRAPHS
from simulator import pretend
from test_engines import PROGRAMS, assert_same

import edgewise as ew
from edgewise.run import Prepared

#: Rows in the order of vertices, which are computed as soon as they are gathered.
IN_ORDER = ew.Layout(None, group_size=1, split=False)


def compare_buffers():
    """Messages through slots, and gathered over a layout; programs that are given all messages."""
    from edgewise.layout import units

    units.HEAVY, units.HEAVIEST = 3, 8
    layouts = (ew.Layout(), ew.Layout("linear", num_buckets=3, group_size=3, made_on="cpu"))
    for name in ("float sums", "edge fields", "logic and aggregates"):
        program, values = PROGRAMS[name]
        for graph in (GRAPHS["random"], GRAPHS["many to one"])[: 1 + (name == "float sums")]:
            expected = Prepared(program, graph, "cpu").reference(values, program.max_supersteps)
            for schedule in (
                ew.Schedule(ew.Buffered()),
                ew.Schedule(ew.Buffered(), balance=ew.EdgeBased(), layout=layouts[1]),
                ew.Schedule(ew.Pull(), layout=layouts[1]),
                ew.Schedule(ew.Buffered(send="edges"), layout=layouts[1]),
                *(ew.Schedule(way, layout=IN_ORDER) for way in (ew.Buffered(), ew.Buffered(send="edges"))),
            ):
                prepared = Prepared(program, graph, "cuda", schedule)
                for _ in range(2):  # the second run works in what the first one left
                    assert_same(prepared(**values), expected, False)
    for program in kept_messages.PROGRAMS.values():
        expected = Prepared(program, GRAPHS["random"], "cpu").reference({}, program.max_supersteps)
        for schedule in (
            *(ew.Schedule(layout=layout) for layout in (*layouts, IN_ORDER)),
            ew.Schedule(ew.Buffered(send="edges"), layout=IN_ORDER),
        ):
            prepared = Prepared(program, GRAPHS["random"], "cuda", schedule)
            for _ in range(2):
                assert_same(prepared(), expected, False)


def compare_slots():
    """The kernel that numbers arcs, with what the CPU makes of the same graph."""
    from edgewise.layout.slots import arrange
    from edgewise.layout.slots_cuda import write_slots

    graph = ew.generate.uniform(9, 40, seed=2)
    n, targets = graph.num_vertices, graph.targets
    units, slots, arcs = arrange(targets, n, np.uint32, group_size=3)
    order = np.argsort(targets, kind="stable")
    begins = np.searchsorted(targets[order], np.arange(n + 1))
    slot_of, arc_of = np.empty_like(slots), np.full_like(arcs, len(targets))
    write_slots(order, targets[order], begins, units, slot_of, arc_of)
    np.testing.assert_array_equal(slot_of, slots)
    np.testing.assert_array_equal(arc_of, arcs)


def compare_units():
    """The kernel that measures rows, with what the CPU makes of the same degrees."""
    from edgewise.layout import units
    from edgewise.layout.slots_cuda import measured

    degrees = np.array([50, 9, 41, 40, 8, 0, 8, 7, 0, 3, 1, 1], np.uint32)
    rows = np.random.default_rng(1).permutation(len(degrees)).astype(np.uint32)
    for some, bounds in (
        (degrees, (40, 8)),
        (degrees[[0, 2, 1, 3, *range(4, 12)]], (40, 8)),
        (degrees, (99, 99)),
    ):
        for group_size in (1, 5, 32):
            expected = units._measured(some, rows, group_size, *bounds)
            found = measured(some, rows, group_size, *bounds)
            assert (found is None) == (expected is None) == (some is degrees and bounds[0] == 40)
            for one, other in zip(found or (), expected or (), strict=True):
                np.testing.assert_array_equal(one, other)


def compare_hubs():
    """The hub of a sample is counted over all arcs, also where every row has it at the same place."""
    from edgewise.layout.hub_cuda import hub_degree

    for num_arcs, taken in ((1, 1), (500, 500), (2584, 300), (3000, 400)):
        targets = np.random.default_rng(5).integers(0, 5000, num_arcs, dtype=np.uint32)
        assert 1 <= hub_degree(targets, 5000, taken) <= np.bincount(targets).max()
        if taken == num_arcs:
            assert hub_degree(targets, 5000, taken) == np.bincount(targets).max()
        for period in (2, 3, 16):
            for first in {0, 1, period - 1}:
                of_hub = targets.copy()
                of_hub[first::period] = 77
                assert hub_degree(of_hub, 5000, taken) == max(1, np.count_nonzero(of_hub == 77))


def main():
    """Print what agreed; the exit code is 1 where something does not."""
    pretend()
    compare_slots()
    compare_units()
    compare_hubs()
    print("slots", flush=True)
    compare_buffers()
    print("buffers", flush=True)


if __name__ == "__main__":
    main()
