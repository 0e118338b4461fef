"""Drawn command lines: whatever they say, they end with an answer or with a message, and never with a traceback."""

import inspect
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import edgewise as ew
from edgewise import generate
from edgewise.cli.app import app

#: How many command lines one test draws; a few seconds of work.
LINES = 300
#: CI runs the first, `make test-all` all of them.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 41))]

ESCAPE = "\x1b[31m"
ODD = (
    "", " ", "0", "1", "-1", "2", "3.5", "1e6", "1e999", "nan", "-inf", "5e-324", "-0.0", "1_0", "1j",
    str(2**63), str(2**70), "9" * 5000, "0x" + "f" * 5000, "True", "false", "no", "None", "...", "'a'", "b'a'", "a",
    "[", "(" * 500, "-" * 500 + "1", "{[]: 1}", "{}", "[]", "()", "(0,0)", "(0,1)", "(1,2,3)", "[[]]", "{'a': 1}",
    "{'a': None}", "{1: 1e999}", "['a', 'a']", "[None]", "{1, 2}", "x" * 3000, "\x00", "\ud800", ESCAPE, "\n", "é",
    "=1+1", "/dev/null", "/proc/self/mem", "csv", "first", "max", "0.5", "(0.0, 1.0)", "[0.25, 0.25, 0.25, 0.25]",
)  # fmt: skip
#: Values that would take long, or much memory, where they say how much is done.
LARGE = {"1e6", "2", str(2**63), str(2**70), "0x" + "f" * 5000}
AMOUNTS = {
    "max_iterations",
    "max_supersteps",
    "threads",
    "memory-limit",
    "scale",
    "edge_factor",
    "num_edges",
    "num_vertices",
}

GRAPHS = {
    "plain.txt": b"0 1 3\n1 2 4\n2 0 5\n",
    "names.tsv": b"a\tb\nb\tc\nc\ta\n",
    "escapes.csv": b"source,target\n\x1b[31ma,b\nb,=1+1\n",
    "floats.txt": b"1 2 0.5\n2 3 -1.5\n",
    "short-header.csv": b"a,b\n1,2,3\n",
    "huge-ids.txt": b"9" * 5000 + b" 1\n",
    "matrix.mtx": b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 1\n",
    "promise.mtx": b"%%MatrixMarket matrix coordinate pattern general\n2147483647 2147483647 1\n1 2\n",
    "road.gr": b"p sp 3 1\na 1 2 3\n",
    "empty.txt": b"",
    "binary.txt": bytes(range(256)),
    "cut.txt.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    f"{ESCAPE}.txt": b"a b\n",
    "result.csv": b"vertex,rank,level,distance,parent,component,core,triangles,clustering\n"
    b"0,1,0,0,-1,0,2,1,1\n1,1,1,3,0,0,2,1,1\n2,1,2,7,1,0,2,1,1\n",
    "program.py": b"import edgewise as ew\nclass P(ew.Program):\n    x = ew.vertex(ew.nothing)\n",
}
USUAL = ("plain.txt", "plain.txt", "names.tsv", "floats.txt", "matrix.mtx", "escapes.csv")


def parameters(function: object) -> list[str]:
    """What a function takes."""
    return sorted(set(inspect.signature(function).parameters) - {"graph"})


ALGORITHMS = {
    name: parameters(getattr(ew, "connected_components" if name == "components" else name))
    for name in (
        *("bfs", "sssp", "pagerank", "components", "scc", "mst", "betweenness", "edge_betweenness"),
        *(
            "closeness",
            "harmonic",
            "eccentricity",
            "eigenvector",
            "katz",
            "hits",
            "core_numbers",
            "triangles",
            "topological_order",
        ),
    )
}
GENERATORS = {
    name: parameters(getattr(generate, name))
    for name in ("rmat", "uniform", "lattice", "skewed", "star", "path", "cycle")
}
#: What makes each generator work, so that one odd value more is looked at.
ENOUGH = {
    "rmat": ["scale=3"],
    "uniform": ["num_vertices=5", "num_edges=9"],
    "lattice": ["rows=2", "columns=3"],
}
OF_READ = parameters(ew.read)
VERIFIABLE = (
    "bfs",
    "sssp",
    "pagerank",
    "components",
    "scc",
    "core_numbers",
    "triangles",
    "topological_order",
)


class Drawing:
    """Draws the words of command lines. Most are right, so that the odd ones among them get far.

    Attributes:
        folder: where the graphs are.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random, self.folder = random.Random(seed), folder

    def seldom(self) -> bool:
        """True now and then."""
        return self._random.random() < 0.06

    def value(self, name: str = "") -> str:
        """An odd value, none that would keep the machine busy."""
        return self._random.choice([each for each in ODD if name not in AMOUNTS or each not in LARGE])

    def one_of(self, words: Iterable[str]) -> str:
        """A word, or now and then an odd one."""
        return self.value() if self.seldom() else self._random.choice(list(words))

    def settings(self, option: str, names: list[str], most: int) -> list[str]:
        """Odd values of parameters."""
        words = []
        for _ in range(self._random.randrange(most + 1)):
            name = self.one_of(names or ["nothing"])
            words += [option, self.value() if self.seldom() else f"{name}={self.value(name)}"]
        return words

    def file(self, *likely: str) -> str:
        """A graph, mostly one that can be read."""
        name = self._random.choice(list(GRAPHS) if self._random.random() < 0.3 else likely or USUAL)
        return self.value() if self.seldom() else str(self.folder / name)

    def reading(self) -> list[str]:
        """Options of how a graph is read."""
        words = self.settings("--read", OF_READ, most=1)
        for option in ("--undirected", "--directed", "--unweighted", "--weighted"):
            words += [option] * self.seldom()
        for option in ("--delimiter", "--format", "--memory-limit"):
            words += [option, self.value(option.strip("-"))] * self.seldom()
        return words

    def line(self) -> list[str]:
        """A command line."""
        command = self._random.choice(["run"] * 4 + ["info", "generate", "convert", "verify"])
        if self.seldom():
            return [self.value(), self.value()]
        return [command, *getattr(self, f"_{command}")()]

    def _info(self) -> list[str]:
        return [self.file(), *self.reading(), *["--json"] * self.seldom(), *["--device"] * self.seldom()]

    def _convert(self) -> list[str]:
        output = self.one_of(
            ["out.edgewise", "out.edgewise", "out.tsv", "out.edgewise.gz", f"{ESCAPE}.edgewise"]
        )
        in_edges = ["--in-edges"] * (self._random.random() < 0.3)
        options = [
            *in_edges,
            *["--json"] * self.seldom(),
            *["--quote-formulas"] * self.seldom(),
            *self.reading(),
        ]
        return [self.file("out.edgewise", *USUAL), str(self.folder / output), *options]

    def _generate(self) -> list[str]:
        kind = self.one_of(GENERATORS)
        given = ENOUGH.get(kind, ["num_vertices=5"])
        output = self.one_of(["out.tsv", "out.mtx", "out", f"{ESCAPE}.csv", "a\x00.txt", "no/where.txt"])
        settings = self.settings("--set", GENERATORS.get(kind, ["seed"]), most=2)
        return [
            kind,
            str(self.folder / output),
            *(word for each in given for word in ("--set", each)),
            *settings,
        ]

    def _of_algorithm(self, names: Iterable[str]) -> tuple[str, list[str]]:
        """An algorithm, and options that say what it does."""
        name = self.one_of(names)
        needed = name in ("bfs", "sssp") or self.seldom()
        source = ["--source", self.one_of(["1", "1", "a"])] if needed else []
        return name, [*source, *self.settings("--set", ALGORITHMS.get(name, ["seed"]), most=2)]

    def _run(self) -> list[str]:
        name, options = self._of_algorithm([*ALGORITHMS, str(self.folder / "program.py")])
        for option in ("--top", "--device", "--threads"):
            options += [option, self.value(option.strip("-"))] * self.seldom()
        for option in ("--verify", "--json", "--quote-formulas"):
            options += [option] * (self._random.random() < 0.3)
        if self._random.random() < 0.3:
            output = self.one_of(
                [
                    "out.csv",
                    "out.tsv.gz",
                    "out.json",
                    "out.jsonl.xz",
                    "out.parquet",
                    "out.xyz",
                    "a\x00.csv",
                    "\ud800.json",
                ]
            )
            options += ["--output", str(self.folder / output)]
        return [name, self.file(), *options, *self.reading()]

    def _verify(self) -> list[str]:
        name, options = self._of_algorithm(VERIFIABLE)
        return [name, self.file(), self.file("result.csv"), *options, *self.reading()]


@pytest.mark.more
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_odd_command_lines_end_in_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: 10**8)
    for name, content in GRAPHS.items():
        (tmp_path / name).write_bytes(content)
    drawing = Drawing(seed, tmp_path)
    for _ in range(LINES):
        line = drawing.line()
        result = CliRunner().invoke(app, line)
        ended = result.exception is None or isinstance(result.exception, SystemExit)
        assert ended, (line, result.exception)
        assert result.exit_code in (0, 2), line
        assert "\x1b" not in result.output, line
