"""What `edgewise.explain` says of runs on a GPU, and where "auto" goes when that has no room. These tests need an
NVIDIA GPU: `pytest -m gpu`."""

import re
import warnings

import numpy as np
import pytest
from test_engines import SSSP
from test_gpu_beyond import graph_of, least

import edgewise as ew
from edgewise.errors import DeviceWarning, MemoryLimitError
from edgewise.kernels import costs
from edgewise.kernels.cuda import memory, placed

pytestmark = pytest.mark.gpu

CALLS = {
    "bfs": lambda call, graph, **how: call(ew.bfs, graph, 1, **how),
    "sssp": lambda call, graph, **how: call(ew.sssp, graph, 1, **how),
    "pagerank": lambda call, graph, **how: call(ew.pagerank, graph, **how),
    "components": lambda call, graph, **how: call(ew.connected_components, graph, **how),
    "program": lambda call, graph, **how: call(ew.run, SSSP(source=1), graph, **how),
}


def plainly(call, *args, **how):
    return call(*args, **how)


def is_apart(text):
    return "the others are read from the host's memory" in text


@pytest.mark.parametrize("name", ["bfs", "sssp", "components"])
def test_the_bytes_that_are_named_are_the_fewest_with_which_all_lies_on_the_gpu(name):
    call = CALLS[name]
    text = call(ew.explain, graph_of(), device="cuda")
    (number,) = re.findall(r"on the GPU; at most ([\d,]+) bytes of its memory beside what lies there", text)
    named = int(number.replace(",", ""))
    for limit in (named, named - 1):
        apart = is_apart(call(ew.explain, graph_of(), device="cuda", memory_limit=limit))
        assert is_apart(call(plainly, graph_of(), device="cuda", memory_limit=limit).explain()) == apart
        assert apart == (limit < named)


@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "program"])
def test_what_lies_where_is_told_before_the_run(name):
    graph, call = graph_of(), CALLS[name]
    limit = least(lambda graph, **how: call(plainly, graph, **how), graph)
    text = call(ew.explain, graph, device="cuda", memory_limit=limit)
    told = str(graph.placement)
    assert told in text
    rate = float(re.findall(rf"reads all {graph.placement.elsewhere:,} bytes .* at ([\d.]+) GB/s", text)[0])
    assert 1 < rate < 1000
    after = call(plainly, graph, device="cuda", memory_limit=limit).explain()
    assert told in after
    (share,) = re.findall(
        r"at most [\d,]+ bytes came over the link, (\d+)% of what lies in the host's", after
    )
    assert int(share) > 0


@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "scc", "mst", "betweenness"])
def test_an_algorithm_as_a_program_is_explained_with_its_bytes(name):
    calls = CALLS | {
        "scc": lambda call, graph, **how: call(ew.scc, graph, **how),
        "mst": lambda call, graph, **how: call(ew.mst, graph, **how),
        "betweenness": lambda call, graph, **how: call(ew.betweenness, graph, sources=[1, 2], **how),
    }
    call, directed = calls[name], name != "mst"
    how = {"device": "cuda", "schedule": ew.Schedule(balance=ew.WorkloadDecomposition())}
    graph = graph_of(directed)
    (number,) = re.findall(r"on the GPU; at most ([\d,]+) bytes of its", call(ew.explain, graph, **how))
    assert int(number.replace(",", "")) > 8 * graph.num_vertices
    assert re.search("(a program|programs) on the GPU", call(plainly, graph, **how).explain())
    with pytest.raises(MemoryLimitError) as refused:
        call(plainly, graph_of(directed), memory_limit=0, **how)
    limit = int(refused.value.needed)
    assert f"needs {limit:,} bytes on the GPU" in str(refused.value)
    with pytest.raises(MemoryLimitError):
        call(ew.explain, graph_of(directed), memory_limit=limit - 1, **how)
    for carried_out in (ew.explain, plainly):
        call(carried_out, graph_of(directed), memory_limit=limit, **how)


@pytest.mark.parametrize("name", ["bfs", "components", "program"])
def test_auto_goes_on_the_cpu_where_the_gpu_has_no_room(name, monkeypatch):
    monkeypatch.setattr(costs, "gpu_time", lambda *_: 0.0)
    monkeypatch.setattr(costs, "copy_time", lambda _: 0.0)
    graph, call = graph_of(), CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviceWarning)
        expected = call(plainly, graph)
    assert "on the GPU" in expected.explain()
    monkeypatch.setattr(memory, "free", lambda: 1000)
    monkeypatch.setattr(memory, "fits", lambda needed: False)
    with pytest.warns(DeviceWarning, match="runs on the CPU, for the GPU has no room"):
        got = call(plainly, graph_of())
    assert "on the CPU, for the GPU has no room" in got.explain()
    field = {"bfs": "level", "components": "component", "program": "distance"}[name]
    np.testing.assert_array_equal(getattr(got, field), getattr(expected, field))
    with pytest.raises(MemoryLimitError):
        call(plainly, graph_of(), device="cuda")


def test_a_graph_that_a_run_made_counts():
    graph = graph_of()
    ew.connected_components(graph, device="cuda", schedule=ew.Schedule(balance=ew.WorkloadDecomposition()))
    (both_ways,) = (each for each in graph.residents.values() if isinstance(each, ew.Graph))
    kept = graph.gpu._kept_there()
    assert kept >= placed.on_gpu(graph.gpu.targets) + placed.on_gpu(both_ways.stored.targets)
    assert is_apart(ew.bfs(graph, 1, device="cuda", memory_limit=kept // 4).explain())
