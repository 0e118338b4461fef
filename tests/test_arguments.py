"""Arguments of any kind: what cannot be used is refused by an error of edgewise that says what was expected."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import EdgewiseError, GraphError

RING = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])
MASKED = np.ma.array([10**9, 1, 0], mask=[True, False, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ew.bfs(RING, MASKED),
        lambda: ew.bfs(RING, np.ma.array(1, mask=True)),
        lambda: ew.bfs(RING, np.ma.masked),
        lambda: ew.betweenness(RING, sources=MASKED),
        lambda: ew.edge_betweenness(RING, sources=MASKED),
        lambda: RING.index_of(MASKED),
        lambda: RING.ids_of(MASKED),
        lambda: ew.pagerank(RING, start=MASKED),
        lambda: ew.pagerank(RING, personalization=MASKED),
    ],
)
def test_masked_arrays_are_no_arguments(call):
    with pytest.raises(EdgewiseError, match="has masked entries; expected a value in each place"):
        call()


def test_masked_arrays_without_a_masked_entry_are_arrays():
    whole = np.ma.array([1, 2])
    assert ew.bfs(RING, whole).level.tolist() == [1, 0, 0]
    assert type(RING.index_of(whole)) is np.ndarray
    assert ew.betweenness(RING, sources=whole).num_sources == 2


@pytest.mark.parametrize("sources", [np.array([[0]]), np.array([["0"]], object), np.zeros((2, 2), np.int64)])
def test_sources_in_two_dimensions_are_refused(sources):
    for call in (
        lambda: ew.bfs(RING, sources),
        lambda: ew.betweenness(RING, sources=sources),
        lambda: ew.edge_betweenness(RING, sources=sources),
        lambda: ew.sssp(RING, sources),
    ):
        with pytest.raises(GraphError, match="has shape .*; expected one dimension, an id for each vertex"):
            call()


@pytest.mark.parametrize("sources", [[[0], [1, 2]], [[0]], [np.array([0, 1])], np.array([0.0]), [None]])
def test_sources_that_are_no_ids_are_refused(sources):
    for call in (lambda: ew.bfs(RING, sources), lambda: ew.betweenness(RING, sources=sources)):
        with pytest.raises(GraphError, match="the graph has no vertex"):
            call()
