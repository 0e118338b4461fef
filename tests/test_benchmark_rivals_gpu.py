"""What cuGraph answers is put in the order of vertices and checked, here with a library that answers as it does."""

import sys
import types

import numpy as np
import pytest

import edgewise as ew
from benchmarks import rivals_gpu

GRAPH = ew.generate.uniform(40, 90, seed=3, weights=(1, 9))
#: Vertices come back in an order of the library.
ORDER = np.random.default_rng(1).permutation(GRAPH.num_vertices)


def library(wrong=""):
    """Functions of pylibcugraph, one of which may be wrong in one place."""

    def answer(name, values):
        if name == wrong:
            values = values.copy()
            values[7] += 1
        return values[ORDER]

    def graph(resource_handle, graph_properties, src_or_offset_array, dst_or_index_array, **how):
        assert len(how["vertices_array"]) == GRAPH.num_vertices and how["renumber"]
        assert len(src_or_offset_array) == GRAPH.num_arcs * (1 + graph_properties["is_symmetric"])
        return how

    def bfs(handle, graph, sources, *how):
        assert not graph["store_transposed"] and how == (False, -1, True, False)
        level = ew.bfs(GRAPH, sources, device="cpu").level
        return answer("bfs", np.where(level < 0, 2**31 - 1, level)), None, ORDER

    def sssp(handle, graph, source, *how):
        assert graph["weight_array"].dtype == np.float32
        distance = ew.sssp(GRAPH, source, device="cpu").distance
        far = np.finfo(np.float32).max
        return ORDER, answer("sssp", np.where(distance == 2**31 - 1, far, distance).astype(np.float32)), None

    def pagerank(handle, graph, *how, fail_on_nonconvergence):
        assert graph["store_transposed"] and how[-3:] == (1e-30, 50, False) and not fail_on_nonconvergence
        rank = ew.pagerank(GRAPH, tol=0, max_iterations=50, dtype=np.float32, device="cpu").rank
        return ORDER, answer("pagerank", rank), False

    def components(handle, graph, *how):
        component = ew.connected_components(GRAPH, device="cpu").component
        return ORDER, answer("components", np.asarray(component) + 5)

    return types.SimpleNamespace(
        __version__="1.2",
        ResourceHandle=object,
        GraphProperties=dict,
        SGGraph=graph,
        bfs=bfs,
        sssp=sssp,
        pagerank=pagerank,
        weakly_connected_components=components,
    )


@pytest.fixture
def on_the_cpu(monkeypatch):
    """NumPy where CuPy would be, and the CPU where the GPU would."""

    def without_device(algorithm):
        def call(*arguments, device, **options):
            result = algorithm(*arguments, device="cpu", **options)
            return types.SimpleNamespace(on_device=lambda name: np.asarray(getattr(result, name)))

        return call

    names = ("bfs", "sssp", "pagerank", "connected_components")
    algorithms = types.SimpleNamespace(**{name: without_device(getattr(ew, name)) for name in names})
    monkeypatch.setattr(rivals_gpu, "cuda_door", lambda: types.SimpleNamespace(cupy=lambda: np))
    monkeypatch.setattr(rivals_gpu, "ew", algorithms)
    return monkeypatch


@pytest.mark.parametrize("wrong", ["", "bfs", "sssp", "pagerank", "components"])
def test_answers_of_the_rival_are_checked(on_the_cpu, wrong):
    on_the_cpu.setitem(sys.modules, "pylibcugraph", library(wrong))
    rival = rivals_gpu.CuGraph(GRAPH, 3)
    assert rival.version == "1.2" and set(rival.calls) == {"bfs", "sssp", "pagerank", "components"}
    for name, call in rival.calls.items():
        assert rival.is_right(name, call()) == (name != wrong), name
