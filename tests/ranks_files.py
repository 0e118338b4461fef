"""A script for several ranks whose graph is in a file: answers, what of the file each rank reads, and damaged files.

``ranks_files.py FOLDER few`` takes a part of the programs.
"""

import gc
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from graph_files import Changed
from kept_messages import PROGRAMS as KEPT
from pagerank import PageRank
from sssp import SSSP

import edgewise as ew
from edgewise.engine.distributed.group import Group, connect
from edgewise.errors import EdgewiseError, ParseError

#: Vertices and arcs of the graph of which what is read is measured.
N, M = 1 << 18, 1 << 22
#: Bytes that a rank may have of a file beside its rows: blocks that it shares with others, and pages that the system
#: maps around those that are read.
BESIDE = 6 << 20


class InDegrees(ew.Program):
    """The sum of the degrees of those from whom edges come, and of one's own."""

    total = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return np.int64(state.in_degree[edge.source] + 1000 * state.out_degree[edge.source])

    @staticmethod
    def vertex_compute(v, message, state):
        state.total[v] = message + 1000000 * state.in_degree[v]
        return ew.ACTIVE


def drawn(n: int, m: int, directed: bool = True, weights: bool = True) -> ew.Graph:
    draw = np.random.default_rng(n)
    source, target = draw.integers(0, n, (2, m))
    values = draw.integers(1, 50, m).astype(np.int32) if weights else None
    return ew.Graph.from_edges(source, target, values, directed, n)


def resident(path: Path) -> int:
    """Bytes of a file that are mapped into this process and in memory."""
    found = re.findall(
        rf"{re.escape(str(path))}\n(?:[A-Za-z_]+:.*\n)*?Rss:\s+(\d+) kB", Path("/proc/self/smaps").read_text()
    )
    return 1024 * sum(map(int, found))


def same_as_alone(program: Any, path: Path, group: Group) -> ew.Graph:
    """The graph of a file that only ranks have used; the answer on it is compared with that of one process."""
    graph = ew.load(path)
    whole = ew.run(program, graph, distributed=True).gather()
    if group.rank == 0:
        delivery = ew.Buffered() if program.combine is ew.MESSAGES else ew.Pull()
        expected = ew.run(program, ew.load(path), device="cpu", schedule=ew.Schedule(delivery))
        for name, values in expected.fields.items():
            np.testing.assert_array_equal(whole.fields[name], values, err_msg=f"{program} {path.name}")
        assert whole.aggregates == expected.aggregates
    return graph


def check_answers(folder: Path, group: Group, few: bool) -> None:
    """Programs that push and pull, on files with in-edges and without, of directed graphs and undirected ones."""
    if group.rank == 0:
        drawn(3000, 20000).save(folder / "plain.edgewise")
        drawn(3000, 20000).save(folder / "both.edgewise", in_edges=True)
        drawn(3000, 20000).reorder("hash").save(folder / "hashed.edgewise", in_edges=True)
        drawn(3000, 20000, directed=False).save(folder / "undirected.edgewise")
    group.total(0)
    programs = [SSSP(source=5), PageRank()]
    if not few:
        programs += [InDegrees(), *(each() for each in KEPT.values())]
    for program in programs:
        for name in ("plain", "both", "hashed", "undirected"):
            if not (few and name == "undirected"):
                graph = same_as_alone(program, folder / f"{name}.edgewise", group)
                offsets = vars(graph._rows).get("_offsets")
                reads_part = isinstance(program, SSSP) or name != "plain"
                assert (offsets is None) or not reads_part or not few, (program, name)


def check_what_is_read(folder: Path, group: Group) -> None:
    """A rank has no more of a file in memory than its rows, be they those of out-edges or of in-edges."""
    if group.rank == 0:
        drawn(N, M).save(folder / "large.edgewise", in_edges=True)
    group.total(0)
    path = folder / "large.edgewise"
    runs = {
        "pushed": (lambda graph: ew.run(SSSP(source=3), graph, distributed=True), 8),
        "pulled": (lambda graph: ew.run(PageRank(), graph, distributed=True), 4),
        "components": (lambda graph: ew.connected_components(graph, distributed=True), 4),
    }
    for name, (run, of_arc) in runs.items():
        graph, own = ew.load(path), of_arc * M // group.size
        run(graph)
        assert own // 2 < resident(path) < own + BESIDE, (name, resident(path), own)
        del graph
        gc.collect()


def refused(path: Path, group: Group) -> str:
    """The error of this rank, which is that of all."""
    try:
        ew.run(PageRank(), ew.load(path), distributed=True)
    except ParseError as error:
        text = str(error)
    else:
        raise AssertionError(f"rank {group.rank} takes {path}")
    assert group.total(1) == group.size
    return text


def check_damaged(folder: Path, group: Group) -> None:
    """What is wrong with the rows of one rank is refused by all, with its words; then the next run goes on."""
    last, path = group.size - 1, folder / "both.edgewise"
    changes = {
        "in_sources": (-1, 1 << 20, r"block 0 of in_sources has values that no such graph has"),
        "in_offsets": (-9, 0, r"block 0 of in_offsets has values out of order"),
    }
    if group.rank == 0:
        for name, (place, value, _) in changes.items():
            changed = Changed(path)
            changed.array(name)[place] = value
            changed.seal().write(folder / f"{name}.edgewise")
        changed = Changed(path)
        changed.array("in_sources")[-1] ^= 1
        changed.write(folder / "sum.edgewise")
        changed.seal().write(folder / "other.edgewise")
        half = Changed(folder / "undirected.edgewise")
        half.array("targets")[np.flatnonzero(half.array("targets") == 7)[-1]] = 8
        half.seal().write(folder / "half.edgewise")
    group.total(0)
    for name, (_, _, problem) in changes.items():
        text = refused(folder / f"{name}.edgewise", group)
        assert re.search(problem, text), text
    assert "block 0 of in_sources does not have its checksum" in refused(folder / "sum.edgewise", group)
    assert "not every edge has both directions" in refused(folder / "half.edgewise", group)
    graph = ew.load(folder / "other.edgewise")  # its in-edges are others; that shows when both are used
    ew.run(PageRank(), graph, distributed=True)
    try:
        ew.run(SSSP(source=5), graph, distributed=True)
    except EdgewiseError as error:
        assert "in_sources are not those of the same edges" in str(error), error
    else:
        raise AssertionError("in-edges are not compared with out-edges")
    same_as_alone(SSSP(source=last), path, group)


def main() -> None:
    folder, few, group = Path(sys.argv[1]), "few" in sys.argv, connect()
    check_answers(folder, group, few)
    check_what_is_read(folder, group)
    check_damaged(folder, group)
    print(f"rank {group.rank} of {group.size} agrees", flush=True)


if __name__ == "__main__":
    main()
