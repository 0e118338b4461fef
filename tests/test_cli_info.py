"""`edgewise info`: its facts are those that NetworkX finds."""

import json
import statistics
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from cli_cases import invoke, refuse, succeed

import edgewise as ew
from edgewise.cli import facts


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges with self-loops, parallel and reciprocal ones, and weights of both signs."""
    numbers = np.random.default_rng(seed)
    source, target = numbers.integers(0, 12, (2, 20))
    return source, target, numbers.integers(-2, 5, 20)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", [np.int64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_facts_are_those_of_networkx(seed: int, kind: type, directed: bool) -> None:
    source, target, weight = drawn(seed)
    graph = ew.Graph.from_edges(source, target, weight.astype(kind), directed=directed, num_vertices=14)
    found = facts.facts_of_edges(graph, None)
    same = nx.MultiDiGraph() if directed else nx.MultiGraph()
    same.add_nodes_from(range(14))
    same.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    loops = nx.number_of_selfloops(same)
    # In an undirected graph, edgewise counts a self-loop once among the edges of its vertex, NetworkX twice.
    loops_of = [0 if directed else same.number_of_edges(v, v) for v in range(14)]
    for name, degrees in (
        (("out", same.out_degree), ("in", same.in_degree)) if directed else (("out", same.degree),)
    ):
        degree = [number - loops_of[v] for v, number in degrees]
        assert found[f"min_{name}_degree"] == min(degree) and found[f"max_{name}_degree"] == max(degree)
        assert degree[found[f"max_{name}_degree_vertex"]] == max(degree)
        assert found[f"median_{name}_degree"] == statistics.median(degree)
        assert found[f"mean_{name}_degree"] == pytest.approx(statistics.mean(degree))
    parts = list(nx.weakly_connected_components(same) if directed else nx.connected_components(same))
    largest = max(map(len, parts))
    assert (found["components"], found["largest_component"]) == (len(parts), largest)
    assert found["largest_component_share"] == largest / 14
    assert found["isolated_vertices"] == len(list(nx.isolates(same)))
    assert found["self_loops"] == loops
    assert (found["zero_weights"], found["negative_weights"]) == ((weight == 0).sum(), (weight < 0).sum())
    assert (found["min_weight"], found["max_weight"]) == (weight.min(), weight.max())


def test_the_memory_that_a_copy_on_a_gpu_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target, weight = drawn(0)
    graph = ew.Graph.from_edges(source, target, weight.astype(np.float32), num_vertices=14)
    copied = 4 * 15 + 4 * 20 + 4 * 20
    monkeypatch.setattr(facts, "cuda_problem", lambda: "there is none")
    found = facts.memory_facts(graph)
    assert found["gpu_megabytes"] == copied / 1e6 and found["gpu_megabytes_with_in_edges"] == 2 * copied / 1e6
    assert found["gpu"] is None and "fits_on_gpu" not in found
    assert found["megabytes"] >= copied / 1e6
    for size, fits in ((2 * copied, True), (2 * copied - 1, False)):
        played = type(
            "Door", (), {"facts": staticmethod(lambda size=size: {"gpu": "G", "memory_bytes": size})}
        )
        monkeypatch.setattr(facts, "cuda_problem", lambda: None)
        monkeypatch.setattr(facts, "cuda_door", lambda played=played: played)
        assert facts.memory_facts(graph)["fits_on_gpu"] is fits
    undirected = graph.to_undirected()
    rows = facts.memory_facts(undirected)
    assert rows["gpu_megabytes"] == rows["gpu_megabytes_with_in_edges"]


def test_a_graph_without_vertices_or_edges(tmp_path: Path) -> None:
    for size, vertices in (("0 0 0", 0), ("3 3 0", 3)):
        (tmp_path / "g.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{size}\n")
        found = json.loads(succeed("info", tmp_path / "g.mtx", "--json"))
        assert (found["vertices"], found["components"]) == (vertices, vertices)
        assert found["self_loops"] == found["parallel_edges"] == found["reciprocal_edges"] == 0
        assert "min_weight" not in found and found.get("max_out_degree", 0) == 0


def test_a_file_with_both_directions_says_how_to_read_it_right(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("source,target,weight\n0,1,1\n1,0,1\n1,2,1\n2,1,1\n")
    doubled = invoke("info", tmp_path / "g.csv", "--undirected", "--json")
    assert (
        "give --read parallel_edges=first, or" in doubled.stderr and "With --directed each" in doubled.stderr
    )
    assert json.loads(doubled.stdout)["parallel_edges"] == 4
    right = invoke("info", tmp_path / "g.csv", "--undirected", "--read", "parallel_edges=first", "--json")
    found = json.loads(right.stdout)
    assert right.stderr == "" and (found["edges"], found["parallel_edges"], found["max_out_degree"]) == (
        2,
        0,
        2,
    )
    assert json.loads(succeed("info", tmp_path / "g.csv", "--directed", "--json"))["reciprocal_edges"] == 4


def test_components_count_within_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "g.edgewise"
    succeed("generate", "rmat", file, "--set", "scale=16")
    assert "info without --brief needs" in refuse("info", file, "--memory-limit", "2MB")
    assert "components" not in succeed("info", file, "--memory-limit", "2MB", "--brief")
    assert "is read as edgewise, which has no option" in refuse("info", file, "--directed")
