"""Edges in both directions, parallel and reciprocal ones: their counts against plain Python, and who is told."""

import bz2
import gzip
import lzma
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgewise.cli.facts import pair_facts
from edgewise.errors import GraphError, GraphWarning
from edgewise.graph import Graph, csr, pairs
from edgewise.io import read
from edgewise.kernels.cpu import launch

MATRIX = "%%MatrixMarket matrix coordinate"
TWICE = "a b\nb a\nb c\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """A file of these bytes."""

    def make(text: str | bytes, name: str = "graph.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


@pytest.fixture
def no_warning() -> Iterator[None]:
    """A warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", GraphWarning)
        yield


def mirrored_in(edges: list[tuple[int, int]]) -> int:
    listed = set(edges)
    return sum((v, u) in listed for u, v in listed if u < v)


def reciprocal_in(edges: list[tuple[int, int]]) -> int:
    listed = set(edges)
    return sum(u != v and (v, u) in listed for u, v in edges)


def parallel_in(edges: list[tuple[int, int]], directed: bool) -> int:
    ends = edges if directed else [(min(edge), max(edge)) for edge in edges]
    return sum(count for count in Counter(ends).values() if count > 1)


# The same vertices again and again, so that most edges are loops, duplicates or mirrored.
EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40)


@settings(max_examples=200, deadline=None)
@given(EDGES, st.sampled_from([1, 2, 3]), st.booleans())
@example([(0, 1), (1, 0), (0, 1), (1, 0), (2, 2), (2, 2), (3, 4), (3, 4)], 1, True)
def test_counts_against_python(edges: list[tuple[int, int]], threads: int, short: bool) -> None:
    source, target = np.array(edges, np.int32).reshape(-1, 2).T
    with (
        mock.patch.dict("os.environ", EDGEWISE_NUM_THREADS=str(threads)),
        mock.patch.object(launch, "best_threads", lambda work, most, rounds=1: most),
        mock.patch.object(pairs, "best_threads", lambda work, most, rounds=1: most),
        mock.patch.object(pairs, "_MAX_SHORT", 2**30 - 1 if short else 0),
    ):
        marked, _ = csr.build_rows(source, target, None, 6, both_directions=True, mark_reversed=True)
        assert pairs.count_mirrored(marked) == mirrored_in(edges)
        for directed in (True, False):
            graph = Graph.from_edges(source, target, directed=directed, num_vertices=6)
            facts = pair_facts(graph)
            assert facts["parallel_edges"] == parallel_in(edges, directed)
            assert facts.get("reciprocal_edges") == (reciprocal_in(edges) if directed else None)
    assert np.array_equal(marked.targets, graph.targets)


def test_counts_on_many_rows_and_threads() -> None:
    """Rows of several pieces, and stamps that are older than the row."""
    source, target = np.random.default_rng(3).integers(0, 5000, (2, 60_000), np.int32)
    target = np.where(source % 7 == 0, source + 1, target)
    target = np.where(source % 7 == 1, source - 1, target).astype(np.int32)
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    directed = Graph.from_edges(source, target, num_vertices=5001)
    undirected = Graph.from_edges(source, target, directed=False, num_vertices=5001)
    assert pair_facts(directed)["reciprocal_edges"] == reciprocal_in(edges) > 1000
    assert pair_facts(directed)["parallel_edges"] == parallel_in(edges, True) > 1000
    assert pair_facts(undirected)["parallel_edges"] == parallel_in(edges, False) > 1000
    marked, _ = csr.build_rows(source, target, None, 5001, both_directions=True, mark_reversed=True)
    assert pairs.count_mirrored(marked) == mirrored_in(edges) > 700


# ---------------------------------------------------------------- reading


def test_edges_in_both_directions_are_told_of(file: Any) -> None:
    path = file("0 1\n1 0\n1 2\n2 1\n2 3\n3 3\n3 3\n")
    with pytest.warns(GraphWarning) as caught:
        graph = read(path, directed=False)
    (warning,) = caught
    assert str(warning.message) == (
        f'{path} lists 2 edges in both directions, as "u v" and as "v u". Each line became an edge of its own, so '
        'degrees count such edges twice. To have each once, give parallel_edges="first", or "min" or "sum" to '
        "combine the weights of its lines. With directed=True each line is an arc of its own"
    )
    assert warning.filename == __file__, "the line that reads is shown"
    assert graph.out_degree.tolist() == [2, 4, 3, 3]
    assert graph.targets.tolist() == [1, 1, 0, 0, 2, 2, 1, 1, 3, 2, 3, 3]


@pytest.mark.usefixtures("no_warning")
@pytest.mark.parametrize("rule", ["first", "min", "sum"])
def test_merged_edges_need_no_warning(file: Any, rule: str) -> None:
    assert read(file(TWICE), directed=False, parallel_edges=rule).num_edges == 2


@pytest.mark.usefixtures("no_warning")
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TWICE, {}),
        (TWICE, {"directed": True}),
        ("0 1\n0 1\n2 1\n", {"directed": False}),
        ("0 0\n0 0\n0 1\n", {"directed": False}),
        ("# nothing\n", {"directed": False, "num_vertices": 2}),
        (f"{MATRIX} pattern symmetric\n3 3 3\n2 1\n3 1\n3 3\n", {}),
        (f"{MATRIX} pattern general\n2 2 2\n1 2\n2 1\n", {}),
    ],
)
def test_what_needs_no_warning(file: Any, text: str, options: dict) -> None:
    read(file(text, "a.mtx" if MATRIX in text else "a.txt"), **options)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.txt", TWICE),
        ("names.csv", "source,target\na,b\nb,a\n"),
        ("weights.tsv", "7\t8\t0.5\n8\t7\t1\n"),
        ("long.txt", f"{10**20} 1\n1 {10**20}\n"),
        ("sparse.txt", f"{10**15} -1\n-1 {10**15}\n1 1\n"),
        ("general.mtx", f"{MATRIX} pattern general\n2 2 2\n1 2\n2 1\n"),
    ],
)
@pytest.mark.parametrize("module", [None, gzip, bz2, lzma])
def test_every_kind_of_file_and_id(file: Any, name: str, text: str, module: Any) -> None:
    path = file(text.encode() if module is None else module.compress(text.encode()), name)
    with pytest.warns(GraphWarning, match=r"lists 1 edges in both directions.*With directed=True"):
        read(path, directed=False)


@pytest.mark.parametrize("options", [{"num_vertices": 4}, {"num_vertices": 4, "index_base": 1}])
def test_with_a_number_of_vertices(file: Any, options: dict) -> None:
    with pytest.warns(GraphWarning, match="lists 1 edges"):
        graph = read(file("1 2\n2 1\n3 2\n"), directed=False, self_loops="drop", **options)
    assert (graph.num_vertices, graph.num_edges) == (4, 3)


@pytest.mark.parametrize("directed", [None, True])
def test_a_symmetric_matrix_that_lists_both(file: Any, directed: bool | None) -> None:
    """It should not; reading it as directed gives each line both directions, too, so that is no advice."""
    path = file(f"{MATRIX} integer symmetric\n2 2 2\n1 2 5\n2 1 5\n", "a.mtx")
    with pytest.warns(
        GraphWarning, match='lists 1 edges .* "min" or "sum" to combine the weights of its lines$'
    ):
        assert read(path, directed=directed).out_degree.tolist() == [2, 2]
    assert read(path, parallel_edges="first").num_edges == 1


@pytest.mark.parametrize("text", ["0 1\n", "a b\n"])
def test_options_that_are_refused_for_all_ids(file: Any, text: str) -> None:
    with pytest.raises(GraphError, match="parallel_edges is 'max'"):
        read(file(text), parallel_edges="max")
    with pytest.raises(GraphError, match="self_loops is 'none'"):
        read(file(text), self_loops="none")
