"""The command line: files of graphs, and conversion."""

import json
import re
from pathlib import Path

import numpy as np
from cli_cases import invoke, refuse, succeed
from fixtures import TOWNS

import edgewise as ew
from edgewise import generate


def test_convert_within_a_limit(towns: Path, tmp_path: Path) -> None:
    """The file is the one that is made in memory."""
    built, made = tmp_path / "built.edgewise", tmp_path / "made.edgewise"
    for options in ([], ["--undirected", "--read", "parallel_edges=first"], ["--in-edges", "--unweighted"]):
        succeed("convert", towns, made, *options)
        result = invoke("convert", towns, built, "--memory-limit", "40MB", *options)
        assert result.exit_code == 0 and "5 vertices" in result.stdout
        assert result.stderr.count("\n") == 1 and "bytes of disk" in result.stderr
        assert built.read_bytes() == made.read_bytes()
    assert "needs at least" in refuse("convert", towns, built, "--memory-limit", "1MB")
    assert "5 vertices" in succeed("convert", built, tmp_path / "again.csv", "--memory-limit", "40MB")


def test_formats_of_whole_graphs_are_converted(towns: Path, tmp_path: Path) -> None:
    """One after the other; all but the first lose the names."""
    before, limit = towns, ("--memory-limit", "40MB")
    for name in ("a.graphml", "a.parquet", "a.npz", "a.edgewise", "b.parquet", "b.edgewise"):
        assert "5 vertices, 5 edges, directed" in succeed("convert", before, tmp_path / name)
        before = tmp_path / name
    for name in ("a.graphml", "a.parquet", "a.npz"):
        assert "5 vertices" in invoke("convert", tmp_path / name, tmp_path / "c.edgewise", *limit).stdout


def test_a_graph_is_converted_and_used_from_its_file(towns: Path, tmp_path: Path) -> None:
    file = tmp_path / "towns.edgewise"
    assert (
        succeed("convert", towns, file, "--in-edges")
        == f"{file}: 5 vertices, 5 edges, directed, int64 weights\n"
    )
    facts = json.loads(succeed("info", file, "--json"))
    expected = json.loads(succeed("info", towns, "--json"))
    different = {"read_seconds", "megabytes", "free_megabytes", "format", "file_bytes", "ids", "arrays"}
    assert {name: facts[name] for name in expected if name not in different} == {
        name: value for name, value in expected.items() if name not in different
    }
    assert facts["format"] == "edgewise 1" and facts["file_bytes"] == file.stat().st_size
    assert facts["ids"] == "strings" and "in_sources int32" in facts["arrays"]
    brief = json.loads(succeed("info", file, "--json", "--brief"))
    assert "self_loops" not in brief and {name: facts[name] for name in brief if name != "read_seconds"} == {
        name: value for name, value in brief.items() if name != "read_seconds"
    }
    for options in (("sssp", "--source", "Lyon"), ("pagerank",), ("scc",)):
        name, *rest = options
        mine, theirs = (
            json.loads(succeed("run", name, each, *rest, "--json", "--verify")) for each in (file, towns)
        )
        assert mine["top"] == theirs["top"] and mine["verified"]
    succeed("run", "bfs", file, "--source", "Lyon", "--output", tmp_path / "levels.csv")
    assert "passes the verifier" in succeed(
        "verify", "bfs", file, tmp_path / "levels.csv", "--source", "Lyon"
    )
    succeed("convert", file, tmp_path / "back.tsv")
    assert sorted((tmp_path / "back.tsv").read_text().splitlines()[3:]) == sorted(
        "\t".join(line.split()) for line in TOWNS.splitlines()[1:]
    )


def test_what_cannot_be_converted_is_refused(towns: Path, tmp_path: Path) -> None:
    file = tmp_path / "towns.edgewise"
    suffixes = refuse("convert", towns, "a.xyz")
    assert "expected .txt, .tsv, .csv, .mtx, " in suffixes
    assert "each also with .gz, .bz2, .xz, .zst, or .sg, .wsg, .npz, .parquet, .pq or .edgewise" in suffixes
    assert "has no place for what in_edges asks for" in refuse(
        "convert", towns, tmp_path / "a.tsv", "--in-edges"
    )
    assert not (tmp_path / "a.tsv").exists()
    succeed("convert", towns, file)
    assert "which has no option --undirected or --directed" in refuse("run", "scc", file, "--undirected")
    file.write_bytes(file.read_bytes()[:-1])
    assert "is cut off" in refuse("info", file)
    file.write_text(TOWNS)
    assert "it looks like text; read it with edgewise.read" in refuse("info", file)


def test_a_limit_holds_for_a_graph_in_a_file(tmp_path: Path) -> None:
    """What looks at all edges, and what writes them, says what it needs."""
    file, limit = tmp_path / "g.edgewise", ("--memory-limit", "2MB")
    succeed("generate", "rmat", file, "--set", "scale=16")
    assert "info without --brief needs" in refuse("info", file, *limit)
    assert json.loads(succeed("info", file, *limit, "--brief", "--json"))["vertices"] == 2**16
    assert succeed("info", file, "--memory-limit", "200MB") != ""
    assert "writing g.tsv needs" in refuse("convert", file, tmp_path / "g.tsv", *limit)
    assert not (tmp_path / "g.tsv").exists()
    succeed("convert", file, tmp_path / "g.tsv", "--memory-limit", "200MB")


def test_a_generated_graph_opens_at_once(tmp_path: Path) -> None:
    file = tmp_path / "g.edgewise"
    succeed("generate", "rmat", file, "--set", "scale=6", "--set", "seed=3")
    assert ew.load(file).num_vertices == 64
    assert np.array_equal(ew.load(file).targets, generate.rmat(6, seed=3).targets)


def test_a_limit_that_is_named_is_enough_with_ids(tmp_path: Path) -> None:
    """Of a file with ids that are no indices: that of an explanation, and that of a refusal."""
    file, names = tmp_path / "names.edgewise", [f"place{number}" for number in range(3000)]
    ends = np.random.default_rng(1).integers(0, 3000, (2, 400_000))
    ew.Graph.from_edges(*(np.array(names, dtype=object)[each] for each in ends)).save(file)
    for task in (("components",), ("pagerank",), ("bfs", "--source", "place7")):
        explained = succeed("run", *task, file, "--device", "cpu", "--explain")
        (limit,) = re.findall(r"--memory-limit (\d+) is enough", explained)
        succeed("run", *task, file, "--device", "cpu", "--memory-limit", limit)
    limit = "0"
    for _ in range(2):
        refusal = refuse("run", "components", file, "--device", "cpu", "--memory-limit", limit)
        limit = re.findall(r"needs ([\d,]+) bytes", refusal)[0]
    assert f"{limit} bytes" in refusal and "for the ids of vertices" in refusal
    succeed("run", "components", file, "--device", "cpu", "--memory-limit", limit, "--top", "0")
