"""The command line: answers and files."""

import json
import os
import re
from pathlib import Path

import pytest
from cli_cases import ROOT, invoke, posix, succeed

import edgewise as ew
from edgewise import generate
from edgewise.io.columns import read_columns

EXAMPLES = ROOT / "examples"


def test_bfs_in_json(towns: Path) -> None:
    facts = json.loads(succeed("run", "bfs", towns, "--source", "Lyon", "--json", "--verify", "--top", 3))
    assert facts["algorithm"] == "bfs" and facts["graph"] == str(towns)
    assert (facts["vertices"], facts["edges"], facts["directed"], facts["weights"]) == (5, 5, True, "int64")
    assert facts["reached"] == 4 and facts["depth"] == 2 and facts["verified"] is True
    assert [(each["vertex"], each["level"]) for each in facts["top"]] == [
        ("Lyon", 0),
        ("Paris", 1),
        ("Nice", 1),
    ]
    assert facts["seconds"] >= 0 and facts["supersteps"] >= 2


def test_sssp_to_a_file(towns: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.tsv.gz"
    succeed("run", "sssp", towns, "--source", "Lyon", "--output", output, "--verify")
    columns = read_columns(output)
    assert columns["vertex"] == ["Lyon", "Paris", "Lille", "Nice", "Metz"]
    assert columns["distance"] == ["0", "460", "680", "470", str(2**63 - 1)]
    assert columns["parent"] == ["", "Lyon", "Paris", "Lyon", ""]
    assert sorted(os.listdir(tmp_path)) == ["out.tsv.gz", "towns.txt"]


def test_undirected_and_unweighted(towns: Path) -> None:
    facts = json.loads(
        succeed(
            "run", "sssp", towns, "--source", "Lille", "--undirected", "--unweighted", "--json", "--top", 9
        )
    )
    assert facts["directed"] is False and facts["weights"] is None
    assert [(each["vertex"], each["distance"]) for each in facts["top"]] == [
        ("Lille", 0),
        ("Paris", 1),
        ("Lyon", 2),
        ("Nice", 3),
    ]


def test_components_are_listed_by_size(towns: Path) -> None:
    facts = json.loads(succeed("run", "components", towns, "--json"))
    assert facts["components"] == 2
    assert facts["top"] == [{"component": "Lyon", "size": 4}, {"component": "Metz", "size": 1}]


def test_betweenness_of_edges_by_weights(towns: Path, tmp_path: Path) -> None:
    output, checkpoint = tmp_path / "out.csv", tmp_path / "sums.npz"
    settings = ("weighted=True", "normalized=False", "sources=['Lyon', 'Nice']", f"checkpoint={checkpoint}")
    options = [word for setting in settings for word in ("--set", setting)]
    facts = json.loads(
        succeed("run", "edge_betweenness", towns, *options, "--output", output, "--verify", "--json")
    )
    assert facts["sources"] == 2 and facts["verified"] is True
    # Two of five sources stand for all: from Lyon along three arcs, from Nice over Lyon.
    assert facts["top"][0] == {"source": "Lyon", "target": "Paris", "centrality": 4 * 5 / 2}
    columns = read_columns(output)
    assert list(columns) == ["source", "target", "centrality"]
    assert columns["source"] == ["Lyon", "Lyon", "Paris", "Nice", "Metz"]
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "towns.txt"]


def test_pagerank_of_debian() -> None:
    graph = ROOT / "data" / "debian-bookworm-depends.tsv.gz"
    facts = json.loads(
        succeed("run", "pagerank", graph, "--set", "tol=1e-12", "--set", "max_iterations=500", "--json")
    )
    assert (facts["vertices"], facts["edges"]) == (69864, 340686)
    assert facts["converged"] is True and facts["iterations"] > 50
    assert facts["top"][0]["vertex"] == "libc6" and len(facts["top"]) == 10
    ranks = [each["rank"] for each in facts["top"]]
    assert ranks == sorted(ranks, reverse=True)


def test_text_for_people(towns: Path) -> None:
    text = succeed("run", "pagerank", towns, "--top", 2, "--threads", 1, "--device", "cpu")
    lines = text.splitlines()
    assert lines[0] == f"pagerank on {towns}: 5 vertices, 5 edges, directed, int64 weights"
    assert lines[1].startswith("iterations: ") and "converged: yes" in lines[1]
    assert lines[2].startswith("ran in ") and "edges/s" in lines[2]
    assert lines[4].split() == ["vertex", "rank"]
    assert len(lines) == 7


def test_no_rows_are_shown_if_none_are_wanted(towns: Path) -> None:
    assert "vertex  " not in succeed("run", "pagerank", towns, "--top", 0)
    assert json.loads(succeed("run", "pagerank", towns, "--top", 0, "--json"))["top"] == []


def test_a_program_in_a_file(towns: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    program = f"{EXAMPLES / 'sssp.py'}:SSSP"
    text = succeed("run", program, towns, "--source", "Lyon", "--output", output, "--verify")
    assert text.startswith("SSSP on ") and "passed its verifier" in text
    columns = read_columns(output)
    assert dict(zip(columns["vertex"], columns["distance"], strict=True))["Lille"] == "680"


def test_info(towns: Path) -> None:
    facts = json.loads(succeed("info", towns, "--json"))
    assert facts["vertices"] == 5 and facts["self_loops"] == 1 and facts["isolated_vertices"] == 0
    assert facts["max_out_degree"] == 2 and facts["max_out_degree_vertex"] == "Lyon"
    assert (facts["min_weight"], facts["max_weight"]) == (1, 470)
    assert (facts["parallel_edges"], facts["reciprocal_edges"]) == (0, 2)
    text = succeed("info", towns, "--undirected")
    assert "max out degree" in text and re.search(r"parallel edges +2\n", text) and "reciprocal" not in text


def test_edges_in_both_directions_are_told_of_in_one_line(towns: Path) -> None:
    result = invoke("info", towns, "--undirected", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parallel_edges"] == 2
    assert result.stderr.startswith(f"edgewise: warning: {towns} lists 1 edges in both directions")
    assert result.stderr.count("\n") == 1 and "give --read parallel_edges=first, or" in result.stderr
    again = invoke("run", "components", towns, "--undirected")
    assert again.stderr == result.stderr, "once for each command"
    for options in ((), ("--undirected", "--read", "parallel_edges=first")):
        assert invoke("info", towns, *options).stderr == ""


def test_info_on_the_installation() -> None:
    facts = json.loads(succeed("info", "--json"))
    assert facts["edgewise"] == ew.__version__ and facts["threads"] >= 1
    assert "pagerank" in facts["algorithms"]


@posix
def test_info_says_if_compiled_code_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode, text in ((0o700, "{}"), (0o777, "not kept: the folder {} can be written by others (mode 777)")):
        tmp_path.chmod(mode)
        for folder in (tmp_path, tmp_path / "new"):
            monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(folder))
            expected = text if folder == tmp_path else "{}"
            assert json.loads(succeed("info", "--json"))["compiled_code"] == expected.format(folder)
    assert os.listdir(tmp_path) == []
    tmp_path.joinpath("file").touch(0o600)
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path / "file"))
    assert json.loads(succeed("info", "--json"))["compiled_code"].startswith("not kept: ")


@pytest.mark.parametrize("name", ["g.tsv.gz", "g.csv", "g.txt", "g.mtx"])
def test_generated_graphs_come_back(tmp_path: Path, name: str) -> None:
    text = succeed(
        "generate", "rmat", tmp_path / name, "--set", "scale=6", "--set", "weights=(1, 9)", "--set", "seed=3"
    )
    expected = generate.rmat(6, weights=(1, 9), seed=3)
    assert f"64 vertices, {expected.num_edges:,} edges" in text
    graph = ew.read(tmp_path / name)
    assert graph.num_edges == expected.num_edges
    assert sorted(graph.weights.tolist()) == sorted(expected.weights.tolist())


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("uniform", ("num_vertices=9", "num_edges=20")),
        ("lattice", ("rows=4", "columns=5")),
        ("skewed", ("num_vertices=9",)),
        ("star", ("num_vertices=9",)),
        ("path", ("num_vertices=9",)),
        ("cycle", ("num_vertices=9",)),
    ],
)
def test_every_generator(tmp_path: Path, kind: str, settings: tuple[str, ...]) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    succeed("generate", kind, tmp_path / "g.mtx", *options)
    expected = getattr(generate, kind)(
        **{name: int(value) for name, value in (s.split("=") for s in settings)}
    )
    assert ew.read(tmp_path / "g.mtx").num_vertices == expected.num_vertices
