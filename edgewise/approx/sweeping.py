"""Plots over a knob: what a call gains on approximate graphs, and how far off it is, for one value after the other.

Reference. Singh and Nasre (2020), Figures 7 to 9.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.clusters import form_clusters
from edgewise.approx.coalesce import coalesce
from edgewise.approx.degree import normalize_degrees
from edgewise.approx.measure import evaluate
from edgewise.approx.transformed import Approximate
from edgewise.errors import MissingDependencyError, OutputError, ParameterError
from edgewise.graph import Graph, check_graph
from edgewise.io.columns import check_writable, write_columns
from edgewise.result import Result
from edgewise.text import listed, shown
from edgewise.whole import check_place

#: What makes an approximate graph of a graph and knobs.
Technique = Callable[..., Approximate]


class Ladder(NamedTuple):
    """The knob of a technique that is tried, and its values, the first of which adds no edges."""

    knob: str
    values: tuple[Any, ...]


#: All techniques, with what is tried of each.
LADDERS: dict[Technique, Ladder] = {
    normalize_degrees: Ladder("threshold", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    form_clusters: Ladder("threshold", (1.01, 0.9, 0.8, 0.7, 0.6, 0.5)),
    coalesce: Ladder("threshold", (1.01, 0.8, 0.6, 0.4)),
}


class Step(NamedTuple):
    """A call with one value of a knob: see `edgewise.approx.Evaluation`.

    Attributes:
        value: of the knob.
        speedup, speedup_by_order: how many times as fast the call is, and is by the new order alone.
        inaccuracy: the mean absolute difference, divided by the mean exact value.
        reachability: for which fraction of the vertices only one of both values is finite.
        added: how many edges were added.
        extra_space: their bytes, as a fraction of the graph's.
        exact_seconds, seconds: how long the exact call took, and the approximate one.
    """

    value: Any
    speedup: float
    speedup_by_order: float
    inaccuracy: float
    reachability: float
    added: int
    extra_space: float
    exact_seconds: float
    seconds: float


@dataclass(frozen=True)
class Sweep:
    """A call on approximate graphs by one value of a knob after the other.

    Attributes:
        technique: the name of the one that made them.
        knob: its name.
        steps: a `Step` for each value, in the order in which they were given.
    """

    technique: str
    knob: str
    steps: tuple[Step, ...]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a line for each step, under the names of its fields; the value is under that of the knob.

        Args:
            path: ends in .csv, .tsv, .csv.gz or .tsv.gz.

        Raises:
            OutputError: the file cannot be written.
        """
        place = _file(path, "sweep.csv")
        check_writable(place)
        columns = dict(
            zip((self.knob, *Step._fields[1:]), map(np.array, zip(*self.steps, strict=True)), strict=True)
        )
        write_columns(place, columns)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the speed-up and the inaccuracy over the knob, as Figures 7 to 9 of the paper do.

        Args:
            path: of the picture; its suffix says what it is, such as .svg, .pdf or .png.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            OutputError: the file cannot be written.
            ParameterError: matplotlib makes no such pictures.
        """
        place = _file(path, "sweep.svg")
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingDependencyError(
                "plot() needs matplotlib and did not find it; run: pip install 'edgewise[plot]'"
            ) from None
        check_place(place)
        figure = Figure(figsize=(5, 3.2), layout="constrained")
        plot, values = figure.subplots(), [step.value for step in self.steps]
        plot.plot(values, [step.speedup for step in self.steps], "o-", color="tab:blue", label="speed-up")
        by_order = [step.speedup_by_order for step in self.steps]
        plot.plot(values, by_order, "o:", color="tab:blue", label="speed-up by the order alone")
        plot.axhline(1, color="grey", linewidth=0.6)
        plot.set_xlabel(f"{self.knob} of {self.technique}")
        plot.set_ylabel("speed-up")
        other = plot.twinx()
        inaccuracy = [100 * step.inaccuracy for step in self.steps]
        other.plot(values, inaccuracy, "s--", color="tab:red", label="inaccuracy")
        other.set_ylabel("inaccuracy, %")
        figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
        try:
            figure.savefig(place)
        except ValueError as error:
            raise ParameterError(f"plot: {error}; expected a name such as sweep.svg") from None
        except OSError as error:
            raise OutputError(f"cannot write {place}: {error.strerror or error}") from None


def _file(path: Any, example: str) -> Path:
    """The file of a name. Raises OutputError."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise OutputError(f"path is {shown(path)}; expected the name of a file, such as {example}")
    return Path(os.fsdecode(path))


def sweep(
    graph: Graph,
    technique: Technique,
    call: Callable[..., Result],
    *arguments: Any,
    values: Iterable[Any] | None = None,
    knob: str | None = None,
    knobs: Mapping[str, Any] | None = None,
    field: str | None = None,
    repeat: int = 5,
    **options: Any,
) -> Sweep:
    """Evaluate a call on approximate graphs, for one value of a knob after the other.

    ::

        found = ew.approx.sweep(graph, ew.approx.normalize_degrees, ew.pagerank, device="cuda")
        found.to_csv("degrees.csv")
        found.plot("degrees.svg")

    Args:
        graph: what is made approximate.
        technique: such as ``ew.approx.normalize_degrees``.
        call, arguments, options: as for `edgewise.approx.evaluate`.
        values: of the knob; None for those of the threshold that `suggest` tries.
        knob: its name; None for the technique's threshold.
        knobs: others of the technique, which stay.
        field, repeat: as for `edgewise.approx.evaluate`. All calls are timed for each value anew.

    Returns:
        A `Sweep`.

    Raises:
        ParameterError: no technique, no values, a knob that the technique does not have, a value out of its range, or
            as `edgewise.approx.evaluate`.
    """
    check_graph("sweep", graph)
    if not any(technique is each for each in LADDERS):
        names = listed(f"ew.approx.{each.__name__}" for each in LADDERS)
        raise ParameterError(f"sweep: technique is {shown(technique)}; expected one of {names}")
    if not (knobs is None or isinstance(knobs, Mapping)):
        raise ParameterError(f"sweep: knobs is {shown(knobs)}; expected a dict, such as {{'budget': 0.05}}")
    if values is not None and (isinstance(values, str) or not isinstance(values, Iterable)):
        raise ParameterError(f"sweep: values is {shown(values)}; expected several, such as (0.2, 0.4)")
    ladder, others = LADDERS[technique], dict(knobs or {})
    name = ladder.knob if knob is None else knob
    known = knobs_of(technique)
    for each in (name, *others):
        if each not in known:
            raise ParameterError(
                f"sweep: {technique.__name__} has no knob {shown(each)}; it has {listed(known)}"
            )
    if values is None and name != ladder.knob:
        raise ParameterError(
            f"sweep: values is None, and those that are known are of {ladder.knob}; give some of {shown(name)}"
        )
    tried = ladder.values if values is None else tuple(values)
    if not tried:
        raise ParameterError("sweep: values is empty; expected at least one value of the knob")
    if name in others:
        raise ParameterError(f"sweep: {name} is swept and among the knobs that stay; leave it out of one")
    steps = list[Step]()
    for value in tried:
        made = technique(graph, **{name: value}, **others)
        told = evaluate(made, call, *arguments, field=field, repeat=repeat, **options)
        steps.append(
            Step(
                made.knobs[name],
                told.speedup,
                told.speedup_by_order,
                told.difference.inaccuracy,
                told.difference.reachability,
                told.added,
                told.extra_space,
                told.exact_seconds,
                told.seconds,
            )
        )
    return Sweep(technique.__name__, name, tuple(steps))


def knobs_of(technique: Technique) -> tuple[str, ...]:
    """The names of a technique's knobs: where a graph is made is none."""
    parameters = inspect.signature(technique).parameters.values()
    return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "device")
