"""Comparing approximate graphs that were made on a GPU with those that the host has made."""

import numpy as np


def same_graph(found, expected):
    """Assert that graphs are the same."""
    for name in ("offsets", "targets", "weights", "vertices", "in_offsets", "in_sources", "in_weights"):
        got, want = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(got, want, err_msg=name)
        assert want is None or got.dtype == want.dtype, name
    for name in ("num_vertices", "num_arcs", "num_edges", "directed"):
        assert getattr(found, name) == getattr(expected, name), name


def same_made(found, expected):
    """Assert that approximate graphs are the same, of which the first was made on a GPU if it has edges."""
    assert found.on_gpu == (found.original.num_arcs > 0) and not expected.on_gpu
    assert found.knobs == expected.knobs
    for got, want in zip((found.order, *found.added), (expected.order, *expected.added), strict=True):
        assert (got is None) == (want is None)
        if want is not None:
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
    for name in ("clusters", "copies"):
        np.testing.assert_equal(getattr(found, name), getattr(expected, name))
    same_graph(found.graph, expected.graph)
    same_graph(found.renumbered, expected.renumbered)
    assert found.graph.built_on_gpu == found.on_gpu
    if expected.copies is not None:
        np.testing.assert_array_equal(found.balance.first, expected.balance.first)
        np.testing.assert_array_equal(found.balance.end, expected.balance.end)
