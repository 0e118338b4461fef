"""Options of benchmarks that take names: what is not known, there twice or nothing is refused, with what is known."""

import argparse
import sys
from importlib import import_module

import pytest

from benchmarks.distributed_tasks import PROGRAMS, programs
from benchmarks.options import add_names, names_of, numbers
from edgewise import generate

KNOWN = ("b", "a, by c", "d")


def test_names_are_taken_in_their_order():
    assert names_of("d,b", KNOWN) == ["d", "b"]
    assert names_of("d;a, by c", KNOWN, ";") == ["d", "a, by c"]
    assert names_of("", KNOWN, may_be_none=True) == []


@pytest.mark.parametrize("text", ["", "x", "b,x", "b,", ",b", "b,b", " b", "b,,d"])
def test_other_names_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected some of b,a, by c,d"):
        names_of(text, KNOWN)


def test_all_names_are_the_default():
    parser = argparse.ArgumentParser()
    add_names(parser, "--graphs", KNOWN, ";")
    assert parser.parse_args([]).graphs == list(KNOWN)
    assert parser.parse_args(["--graphs", "d"]).graphs == ["d"]
    assert "names, by semicolons (default: b;a, by c;d)" in " ".join(parser.format_help().split())


def test_numbers_by_commas():
    assert numbers("20,22") == [20, 22]
    for text in ("", "20,", "a", "1.5"):
        with pytest.raises(argparse.ArgumentTypeError, match="such as 20,22"):
            numbers(text)


def test_the_programs_of_ranks_have_these_names():
    assert tuple(programs(generate.rmat(4, 4, weights=(1, 9)))) == PROGRAMS


#: The options of each program that take names or numbers.
OPTIONS = {
    "__main__": ["--graphs", "--algorithms", "--rivals"],
    "approx": ["--graphs"],
    "approx_building": ["--techniques", "--scales"],
    "automatic": ["--graphs", "--programs"],
    "beyond": ["--ways", "--algorithms"],
    "centralities": ["--graphs", "--rivals"],
    "clusters": ["--graphs"],
    "cores": ["--graphs"],
    "dense_parts": ["--graphs"],
    "distributed": ["--only", "--scale"],
    "first_run": ["--programs"],
    "gpu": ["--graphs", "--algorithms"],
    "layers": ["--graphs"],
    "partitions": ["--graphs", "--ranks"],
    "peeling": ["--graphs"],
    "threads": ["--graphs", "--only"],
    "papers.edge_vertex": ["--graphs", "--parts"],
    "papers.graffix": ["--parts", "--graphs", "--which"],
    "papers.load_balancing": ["--graphs", "--strategies"],
    "papers.wolfpath": ["--graphs", "--parts"],
}
NEEDS = {"papers.graffix": ["--device", "cpu"]}
#: Options that may be empty: of rivals, and of graphs beside files.
MAY_BE_EMPTY = {("__main__", "--rivals"), ("centralities", "--rivals"), ("cores", "--graphs")}


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [
        (name, option, text)
        for name, options in OPTIONS.items()
        for option in options
        for text in ("nonsense", "")
        if text or (name, option) not in MAY_BE_EMPTY
    ],
)
def test_programs_refuse_unknown_names_before_they_measure(name, option, text, tmp_path, monkeypatch, capsys):
    program = (
        import_module("benchmarks.__main__")
        if name == "__main__"
        else pytest.importorskip(f"benchmarks.{name}")
    )
    output = tmp_path / "rows.csv"
    argv = ["program", option, text, *NEEDS.get(name, []), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and not output.exists()
    assert f"argument {option}: " in said and repr(text) in said


def test_no_row_is_no_file(tmp_path, monkeypatch):
    program, output = import_module("benchmarks.__main__"), tmp_path / "rows.csv"
    monkeypatch.setattr(
        sys, "argv", ["program", "--graphs", "rmat18", "--rivals", "", "--output", str(output)]
    )
    monkeypatch.setitem(program.GRAPHS, "rmat18", lambda: None)
    with pytest.raises(SystemExit, match="nothing was measured"):
        program.main()
    assert not output.exists()
