"""Reports of the command line on a result and on an installation: facts, the top vertices, a JSON object."""

import importlib.metadata
import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.cli.facts import Facts, graph_facts, graph_line
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cpu.team import available_threads
from edgewise.kernels.door import cuda_door, cuda_problem
from edgewise.kernels.store import cache_directory, problem
from edgewise.result import ID_COLUMN, Result
from edgewise.text import on_one_line, shortened

#: The most characters of an id on a terminal.
_LONGEST_TEXT = 200


@dataclass(frozen=True)
class Table:
    """Rows under names, as the terminal and JSON show them."""

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray], missing: Mapping[str, np.ndarray]) -> "Table":
        """The table of these columns, with None where a column has no value; floats stay inf or NaN."""
        values = [
            column.tolist()
            if column.dtype.kind == "f" or name not in missing
            else np.where(missing[name], np.array(None), column).tolist()
            for name, column in columns.items()
        ]
        return cls(tuple(columns), list(zip(*values, strict=True)))

    def as_text(self) -> str:
        """Columns side by side; numbers to the right, the rest to the left, and a dash for no value."""
        cells = [self.names, *(tuple(map(as_cell, row)) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.names))]
        right = [
            all(isinstance(row[column], int | float | None) for row in self.rows)
            for column in range(len(self.names))
        ]
        lines = []
        for row in cells:
            aligned = zip(row, widths, right, strict=True)
            lines.append(
                "  ".join(f"{cell:>{w}}" if r else f"{cell:<{w}}" for cell, w, r in aligned).rstrip()
            )
        return "\n".join(lines)

    def as_objects(self) -> list[Facts]:
        """One object for each row."""
        return [dict(zip(self.names, map(as_json, row), strict=True)) for row in self.rows]


def as_text(value: Any) -> str:
    """A value for the terminal: floats to six digits, lists with commas."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    return f"{value:.6g}" if isinstance(value, float) else on_one_line(str(value))


def as_cell(value: Any) -> str:
    """A value for a table: a long text is cut, and a dash stands for no value."""
    if isinstance(value, str):
        value = shortened(value, _LONGEST_TEXT)
    return "-" if value is None else as_text(value)


def as_json(value: Any) -> Any:
    """A value that JSON can hold: no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class RunReport:
    """One run as the command line reports it.

    Attributes:
        name, graph_name: what ran on what.
        result: its answer.
        read_seconds: the time to read the graph, without compiling, which is counted for the whole process.
        verified: whether the answer has passed its verifier.
    """

    name: str
    graph_name: str
    result: Result
    read_seconds: float
    verified: bool

    def as_json(self, top: int) -> Facts:
        """Everything as one object."""
        facts: Facts = {
            "algorithm": self.name,
            "graph": self.graph_name,
            **graph_facts(self.result.graph),
            **self._summary(),
            "supersteps": self.result.supersteps,
            "seconds": self.result.seconds,
            "compile_seconds": compile_seconds(),
            "read_seconds": self.read_seconds,
            "edges_per_second": self.result.edges_per_second,
            "verified": self.verified,
        }
        facts = {name: as_json(value) for name, value in facts.items()}
        return facts | {"top": self._top(top).as_objects()}

    def as_text(self, top: int) -> str:
        """A few lines and a table."""
        result, rate = self.result, self.result.edges_per_second
        speed = "" if rate is None else f", {in_units(rate)}edges/s"
        verified = ["The answer passed its verifier."] if self.verified else []
        head = [
            f"{self.name} on {on_one_line(self.graph_name)}: {graph_line(result.graph)}",
            ", ".join(
                f"{name.replace('_', ' ')}: {as_text(value)}" for name, value in self._summary().items()
            ),
            f"ran in {result.seconds:.3g} s{speed}; reading took {self.read_seconds:.2g} s, "
            f"compiling {compile_seconds():.2g} s",
            *verified,
        ]
        table = self._top(top)
        return "\n".join([*head, "", table.as_text()] if table.rows else head)

    def _top(self, count: int) -> Table:
        """The top rows; nothing is made for none."""
        rows = self.result.top_rows(count) if count else {}
        return Table.of(rows, self.result.missing_of(rows[ID_COLUMN]) if ID_COLUMN in rows else {})

    def _summary(self) -> Facts:
        """The result's summary, in Python's numbers."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.result.summary().items()
        }


def in_units(rate: float) -> str:
    """A rate to three digits, with its unit of size: 1.4 G, 230 M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g} {unit} "
    return f"{rate:.3g} "


def lines(facts: Facts) -> str:
    """Facts one below the other. The ids of vertices are cut, if they are long."""
    width = max(map(len, facts), default=0)
    texts = {
        name: as_cell(value) if name.endswith("_vertex") else as_text(value) for name, value in facts.items()
    }
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {text}" for name, text in texts.items())


def installation_facts(algorithms: Iterable[str]) -> Facts:
    """Versions, threads, the algorithms, and the folder of compiled code."""
    packages = ("numba", "numpy", "scipy")
    return {
        "edgewise": importlib.metadata.version("edgewise"),
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
        "algorithms": list(algorithms),
        "threads": available_threads(),
        "compiled_code": _place_of_code(),
    }


def _place_of_code() -> str:
    """The folder of compiled code, or why there is none."""
    directory = cache_directory()
    if directory is None:
        return "not kept: there is no home folder"
    reason = problem(directory)
    return f"not kept: the folder {directory} {reason}" if reason else str(directory)


def device_facts() -> Facts:
    """The GPU that runs use, or why none can be used and what mends that."""
    problem = cuda_problem()
    if problem:
        return {"gpu": None, "problem": problem, "device_auto": "cpu"}
    return {**cuda_door().facts(), "device_auto": "cuda"}
