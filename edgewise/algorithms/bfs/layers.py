"""Graphs in layers for algorithms: kept with the graph, read from a file, or made by a search from the roots."""

import dataclasses
import os
import time
import weakref
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
    check_weights,
    file_beside,
    forget_layers,
    give_up_when_short,
    keep_in_layers,
    kept_in_layers,
    load_in_layers,
    may_have_layers,
    num_layers_in,
    open_layers,
    put_in_layers,
    reading,
    save_in_layers,
)
from edgewise.graph.layers import making as making_layers
from edgewise.memory import in_turn
from edgewise.schedule import Layered, Schedule

#: What `Layered.file` is for a file beside that of the graph.
BESIDE = "beside"
#: From so many layers on, shortest paths over them beyond a GPU's memory were faster than those without, 1.1 to 4 times
#: on ten graphs of 16 to 32,768 layers. On four graphs of 7 to 11 layers they took 1.4 to 4 times as long.
DEEP = 16
#: About the seconds for each byte in which a file of layers is read and checked.
_READING = 0.75e-9
#: For how many seconds graphs were searched, by vertices for which there is a file of layers.
_spent: "weakref.WeakKeyDictionary[Graph, dict[bytes, float]]" = weakref.WeakKeyDictionary()


class Found(NamedTuple):
    """A graph in layers, and how it was come by.

    Attributes:
        made: the graph in layers.
        how: for `Result.explain`.
        seconds: the time that it took.
        taken: the bytes of the host's memory that it took, if it was made just now within a limit.
    """

    made: GraphInLayers
    how: str
    seconds: float
    taken: int = 0

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


class Making(NamedTuple):
    """How layers are made if they are not at hand.

    Attributes:
        levels_from: gives the levels from roots, where the graph lies.
        limit: the bytes of the host's memory that making them may take, or None.
        after: the bytes that the run takes which follows.
    """

    levels_from: Callable[[np.ndarray], Any]
    limit: int | None
    after: int


def find_layers(
    name: str, graph: Graph, asked: Layered, roots: np.ndarray, weights: bool, making: Making
) -> Found:
    """A graph in layers, made if it is neither kept nor in a file.

    Args:
        name: what runs, for messages.
        graph: the graph.
        asked: what the schedule says.
        roots: int64, ascending, at least one.
        weights: whether the run reads weights: those in a file are compared with the graph's.
        making: how they are made.

    Raises:
        ParseError: a file that is named is damaged, or that of another graph or of other roots.
        OutputError: it cannot be written.
        MemoryLimitError: more memory is needed than allowed.
        ScheduleError: a file beside that of a graph that has none.
    """
    kept = _kept(graph, roots, weights)
    path = _path_of(name, graph, asked.file, roots)
    if kept is not None and path is None:
        return _as_kept(kept)
    started = time.perf_counter()
    if path is not None and _exists(path):
        try:
            if kept is not None:
                open_layers(path, graph, roots)
                return _as_kept(kept)
            check_limit(f"{name}: reading layers", making.limit, reading(graph))
            return _read(path, graph, roots, weights)
        except ParseError:  # of another graph, or damaged
            if asked.file != BESIDE:
                raise
    found = Found(kept, f"in {_layers(kept)}", 0.0) if kept else _made(name, graph, roots, making)
    how = f"{found.how}, which the graph keeps"
    if path is not None:
        try:
            save_in_layers(path, graph, found.made)
            how += f", and {path}, written by {time.perf_counter() - started:.3g} s"
        except OutputError as refused:
            if asked.file != BESIDE:
                raise
            warn(f"{name}: layers are not kept in a file: {refused}", NotKeptWarning)
    return found._replace(how=how, seconds=time.perf_counter() - started)


def layers_at_hand(graph: Graph, sources: np.ndarray, least: int = 0, weights: bool = False) -> Found | None:
    """The graph in layers from these vertices, if it is kept, or in a file beside that of the graph that is worth
    reading: searches from them have taken as long as that. None if not, or if the file is none that can be used.

    Args:
        graph: the graph.
        sources: int64.
        least: how many layers there have to be.
        weights: as for `find_layers`.
    """
    if not may_have_layers(graph):
        return None
    sources = np.unique(sources)
    kept = _kept(graph, sources, weights)
    if kept is not None:
        return _as_kept(kept) if kept.order.num_layers >= least else None
    path = file_beside(graph, sources)
    if path is None:
        return None
    try:
        size = path.stat().st_size
        spent = _spent.setdefault(graph.itself, {})
        if spent.setdefault(sources.tobytes(), 0.0) < _READING * size:
            return None
        if num_layers_in(open_layers(path, graph, sources)) < least:
            return None
        return _read(path, graph, sources, weights)
    except (OSError, ParseError):
        return None


def note_search(graph: Graph, sources: np.ndarray, seconds: float) -> None:
    """Note the time of a search from vertices for which there is a file that was not worth reading yet."""
    spent = _spent.get(graph.itself)
    key = np.unique(sources).tobytes() if spent else b""
    if spent and key in spent:
        spent[key] += seconds


def _kept(graph: Graph, roots: np.ndarray, weights: bool) -> GraphInLayers | None:
    """The graph in layers that is kept with the graph. One with other weights, from a file, is given up."""
    kept = kept_in_layers(graph, roots)
    if kept is not None and weights:
        try:
            check_weights(graph, kept)
        except ParseError:
            forget_layers(graph, roots)
            return None
    return kept


def _as_kept(kept: GraphInLayers) -> Found:
    return Found(kept, f"in {_layers(kept)}, which the graph keeps", 0.0)


def _read(path: Path, graph: Graph, roots: np.ndarray, weights: bool) -> Found:
    """Read a graph in layers from a file, and keep it with the graph. Raises ParseError."""
    started = time.perf_counter()
    made = load_in_layers(path, graph, roots)
    if weights:
        check_weights(graph, made)
    keep_in_layers(graph, made)
    return Found(made, f"in {_layers(made)}, read from {path}", time.perf_counter() - started)


def _made(name: str, graph: Graph, roots: np.ndarray, making: Making) -> Found:
    """Make a graph in layers, which the graph keeps."""
    if is_asked():
        raise ScheduleError(
            f"{name}: a run that makes layers is not explained before; make them by a run, or leave layout at 'auto'"
        )
    started, taken = time.perf_counter(), 0
    if making.limit is not None and not graph.built_on_gpu:
        taken, most = making_layers(graph)
        search = in_turn(graph.looking_up(graph.ids_of(roots)), search_memory(graph, Schedule()))
        needed = max(most, search.most, taken + making.after)
        check_limit(f"{name}: making layers", making.limit, needed)
    made = put_in_layers(graph, making.levels_from(roots), roots)
    keep_in_layers(graph, made)
    return Found(made, f"in {_layers(made)}, made in {time.perf_counter() - started:.3g} s", 0.0, taken)


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
