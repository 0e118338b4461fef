"""Where approximate graphs are made, and what happens where a GPU has no room."""

import dataclasses

import numpy as np
import pytest
from test_approx import GRAPHS, KNOBS

import edgewise as ew
from edgewise.approx.sweeping import knobs_of
from edgewise.errors import DeviceWarning, MemoryLimitError, ScheduleError
from edgewise.execution import Chosen


@pytest.mark.parametrize(
    "call",
    [
        ew.approx.normalize_degrees,
        ew.approx.form_clusters,
        ew.approx.coalesce,
        ew.approx.clustering_coefficients,
    ],
)
def test_where_graphs_are_made(call, monkeypatch):
    """An unknown device is refused, and a GPU that has no room for the whole graph only where it was asked for."""
    graph = GRAPHS["skewed"]()
    with pytest.raises(ScheduleError, match="device is 'gpu'; expected 'auto', 'cpu' or 'cuda'"):
        call(graph, device="gpu")
    exact = call(graph, device="cpu")
    graph.placement = "a part of it on the host"
    for is_free in (True, False):
        chosen = Chosen(ew.Schedule(), True, False, is_free=is_free)
        monkeypatch.setattr("edgewise.approx.where.choose", lambda *_, chosen=chosen, **__: chosen)
        if not is_free:
            with pytest.raises(MemoryLimitError, match="needs the whole graph on the GPU"):
                call(graph)
            continue
        with pytest.warns(DeviceWarning, match="on the CPU, for the GPU has no room"):
            found = call(graph)
        if call is ew.approx.clustering_coefficients:
            np.testing.assert_array_equal(found, exact)
        else:
            np.testing.assert_array_equal(found.order, exact.order)
            assert not found.on_gpu


def test_rows_are_made_on_the_host_where_the_gpu_has_no_room():
    pytest.importorskip("edgewise.kernels.cuda.device", reason="no numba-cuda", exc_type=ImportError)
    graph = GRAPHS["skewed"]()
    made = ew.approx.normalize_degrees(graph, **KNOBS, device="cpu")
    graph.placement = "a part of it on the host"
    there = dataclasses.replace(made, on_gpu=True)
    with pytest.warns(DeviceWarning, match="rows are made on the host"):
        np.testing.assert_array_equal(there.graph.targets, made.graph.targets)


def test_where_a_graph_is_made_is_no_knob():
    for technique in (ew.approx.normalize_degrees, ew.approx.form_clusters, ew.approx.coalesce):
        assert "device" not in knobs_of(technique) and "budget" in knobs_of(technique)
