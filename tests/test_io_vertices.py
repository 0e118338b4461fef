"""`read(path, vertices=ids)`: all vertices of a graph, in the order that the caller lists them."""

import random

import numpy as np
import pyarrow.parquet
import pytest

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ParseError

SUFFIXES = (".txt", ".csv", ".tsv", ".adjlist", ".graphml", ".parquet", ".mtx", ".npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_graphs_are_those_of_from_edges(tmp_path, suffix):
    draw = random.Random(suffix)
    for number in range(8):
        directed, weighted = number % 2 == 0, number % 4 < 2
        ids = list(range(1, 9)) if suffix == ".mtx" else list(range(8))
        if suffix not in (".mtx", ".npz") and number % 3 == 0:
            ids = [f"v{each}" for each in ids]
        edges = [(draw.choice(ids), draw.choice(ids)) for _ in range(draw.randrange(1, 20))]
        if suffix in (".adjlist", ".npz"):  # which join parallel edges, or have both directions of an edge
            edges = list({tuple(sorted(edge)): edge for edge in edges}.values())
        weights = [draw.randrange(1, 9) for _ in edges] if weighted and suffix != ".adjlist" else None
        vertices = ids if suffix in (".mtx", ".npz") else None
        graph = ew.Graph.from_edges(*zip(*edges, strict=True), weights, directed, vertices=vertices)
        path = tmp_path / f"g{number}{suffix}"
        ew.write(graph, path)
        listed = ids + ["w"] * isinstance(ids[0], str) + [99] * isinstance(ids[0], int)
        draw.shuffle(listed)
        found = ew.read(path, directed=directed, vertices=listed)
        expected = ew.Graph.from_edges(*zip(*edges, strict=True), weights, directed, vertices=listed)
        assert found.vertices.tolist() == listed and found.directed == directed
        assert (found.num_edges, found.num_arcs) == (expected.num_edges, expected.num_arcs)
        assert np.array_equal(found.offsets, expected.offsets)
        assert arcs(found) == arcs(expected), path
        assert ew.pagerank(found).verify(expected)


def arcs(graph):
    weights = np.zeros(graph.num_arcs) if graph.weights is None else graph.weights
    return sorted(zip(graph.sources.tolist(), graph.targets.tolist(), weights.tolist(), strict=True))


def test_the_order_of_edges_of_a_vertex_stays(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("source,target,weight\n5,7,1\n7,5,2\n5,5,3\n5,7,4\n")
    graph = ew.read(path, vertices=[9, 7, 5])
    assert graph.neighbors(5).tolist() == [7, 5, 7] and graph.weights.tolist() == [2, 1, 3, 4]
    assert graph.degree(9) == 0


def test_a_file_without_edges(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("source,target\n")
    assert ew.read(path, vertices=["a", "b"], header=True).vertices.tolist() == ["a", "b"]
    assert ew.read(path, vertices=[], header=True).num_vertices == 0
    empty = pyarrow.table({"source": pyarrow.array([], "string"), "target": pyarrow.array([], "string")})
    pyarrow.parquet.write_table(empty, tmp_path / "g.parquet")
    assert ew.read(tmp_path / "g.parquet", vertices=["a", "b"]).vertices.tolist() == ["a", "b"]


def test_what_is_refused(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("1 2\n2 3\n")
    with pytest.raises(GraphError, match=r"g\.txt: there are edges of 3, which is not in vertices"):
        ew.read(path, vertices=[1, 2])
    with pytest.raises(GraphError, match=r"g\.txt: there are edges of 1, which is not in vertices"):
        ew.read(path, vertices=["1", "2", "3"])
    with pytest.raises(GraphError, match="the same id twice"):
        ew.read(path, vertices=[1, 2, 3, 1])
    with pytest.raises(GraphError, match="both vertices and num_vertices"):
        ew.read(path, vertices=[1, 2, 3], num_vertices=4)
    with pytest.raises(MemoryLimitError):
        ew.read(path, vertices=[1, 2, 3], memory_limit=50)
    ew.read(path).save(tmp_path / "g.edgewise")
    with pytest.raises(ParseError, match="has no option vertices: it holds a whole graph"):
        ew.read(tmp_path / "g.edgewise", vertices=[1, 2, 3])
