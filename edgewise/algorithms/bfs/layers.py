"""Graphs in layers for algorithms: kept with the graph, read from a file, or made by a search from the roots."""

import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cpu import search_memory
from edgewise.errors import NotKeptWarning, OutputError, ParseError, ScheduleError, warn
from edgewise.execution import Execution, as_schedule, check_limit
from edgewise.explain import is_asked
from edgewise.graph import Graph
from edgewise.graph.layers import (
    GraphInLayers,
    file_beside,
    give_up_when_short,
    keep_in_layers,
    kept_in_layers,
    load_in_layers,
    making,
    may_have_layers,
    open_layers,
    put_in_layers,
    reading,
    save_in_layers,
)
from edgewise.schedule import Layered, Schedule

#: What `Layered.file` is for a file beside that of the graph.
BESIDE = "beside"


class Found(NamedTuple):
    """A graph in layers, and how it was come by.

    Attributes:
        made: the graph in layers.
        how: for `Result.explain`.
        seconds: the time that it took.
    """

    made: GraphInLayers
    how: str
    seconds: float

    def tell(self, run: Execution) -> None:
        """Explain it as part of a run, whose time it is not. What such a run has left on a GPU is given up when its
        memory is short."""
        run.layout_seconds += self.seconds
        run.notes.insert(0, self.how)
        if run.on_gpu:
            give_up_when_short()


def layers_asked(name: str, schedule: Schedule | None) -> tuple[Layered | None, Schedule]:
    """The layers that a schedule asks for, if any, and the schedule without them.

    Raises:
        ScheduleError: the schedule has a balance, too, which runs over layers do not have.
    """
    asked = as_schedule(name, schedule)
    if not isinstance(asked.layout, Layered):
        return None, asked
    if not (isinstance(asked.balance, str) and asked.balance == "auto"):
        raise ScheduleError(
            f"{name}: runs in layers have no balance, and the schedule says {asked.balance}; leave one of them at "
            "'auto'"
        )
    return asked.layout, dataclasses.replace(asked, layout="auto")


def find_layers(
    name: str,
    graph: Graph,
    asked: Layered,
    roots: np.ndarray,
    levels_from: Callable[[np.ndarray], Any],
    limit: int | None,
) -> Found:
    """A graph in layers, made if it is neither kept nor in a file.

    Args:
        name: what runs, for messages.
        graph: the graph.
        asked: what the schedule says.
        roots: int64, ascending, at least one.
        levels_from: gives the levels from the roots, where the graph lies.
        limit: the bytes of the host's memory that making them may take, or None.

    Raises:
        ParseError: a file that is named is damaged, or that of another graph or of other roots.
        OutputError: it cannot be written.
        MemoryLimitError: more memory is needed than allowed.
        ScheduleError: a file beside that of a graph that has none.
    """
    kept = kept_in_layers(graph, roots)
    path = _path_of(name, graph, asked.file, roots)
    if kept is not None and path is None:
        return Found(kept, f"in {_layers(kept)}, which the graph keeps", 0.0)
    started = time.perf_counter()
    if path is not None and _exists(path):
        try:
            if kept is not None:
                open_layers(path, graph, roots)
                return Found(kept, f"in {_layers(kept)}, which the graph keeps", 0.0)
            check_limit(f"{name}: reading layers", limit, reading(graph))
            made = load_in_layers(path, graph, roots)
        except ParseError:  # of another graph, or damaged
            if asked.file != BESIDE:
                raise
        else:
            keep_in_layers(graph, made)
            return Found(made, f"in {_layers(made)}, read from {path}", time.perf_counter() - started)
    made = kept or _made(name, graph, roots, levels_from, limit)
    made_in = "" if kept is not None else f"made in {time.perf_counter() - started:.3g} s; "
    how = f"in {_layers(made)}, {made_in}which the graph keeps"
    if path is not None:
        try:
            save_in_layers(path, graph, made)
            how += f", and {path}, written by {time.perf_counter() - started:.3g} s"
        except OutputError as refused:
            if asked.file != BESIDE:
                raise
            warn(f"{name}: layers are not kept in a file: {refused}", NotKeptWarning)
    return Found(made, how, time.perf_counter() - started)


def layers_at_hand(graph: Graph, sources: np.ndarray) -> Found | None:
    """The graph in layers from these vertices, if it is kept, or in a file beside that of the graph; None if not, or if
    the file is none that can be used."""
    if not may_have_layers(graph):
        return None
    sources = np.unique(sources)
    kept = kept_in_layers(graph, sources)
    if kept is not None:
        return Found(kept, f"in {_layers(kept)}, which the graph keeps", 0.0)
    path = file_beside(graph, sources)
    started = time.perf_counter()
    try:
        if path is None or not _exists(path):
            return None
        made = load_in_layers(path, graph, sources)
    except (OutputError, ParseError):
        return None
    keep_in_layers(graph, made)
    return Found(made, f"in {_layers(made)}, read from {path}", time.perf_counter() - started)


def _made(
    name: str,
    graph: Graph,
    roots: np.ndarray,
    levels_from: Callable[[np.ndarray], Any],
    limit: int | None,
) -> GraphInLayers:
    """Make a graph in layers, which the graph keeps."""
    if is_asked():
        raise ScheduleError(
            f"{name}: a run that makes layers is not explained before; make them by a run, or leave layout at 'auto'"
        )
    if limit is not None and not graph.built_on_gpu:
        searching = search_memory(graph, Schedule())
        check_limit(f"{name}: making layers", limit, max(making(graph).most, searching.most))
    made = put_in_layers(graph, levels_from(roots), roots)
    keep_in_layers(graph, made)
    return made


def _path_of(name: str, graph: Graph, file: str | os.PathLike[str] | None, roots: np.ndarray) -> Path | None:
    if file is None:
        return None
    if file != BESIDE:
        return Path(os.fsdecode(file))
    path = file_beside(graph, roots)
    if path is None:
        raise ScheduleError(
            f"{name}: Layered(file='beside') is for a graph that edgewise.load has opened; save this one and load it, "
            "or name a file"
        )
    return path


def _exists(path: Path) -> bool:
    """Whether there is a file. Raises OutputError for a name that no file can have."""
    try:
        return path.exists()
    except OSError as error:
        raise OutputError(f"cannot use {path}: {error.strerror}") from None


def _layers(made: GraphInLayers) -> str:
    count = made.order.num_layers
    return "1 layer" if count == 1 else f"{count:,} layers"
