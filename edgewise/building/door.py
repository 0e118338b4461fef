"""`build`: the door. Edges of any source become a file of a graph, in bounded memory."""

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from edgewise.building.builder import Builder, Wanted
from edgewise.building.files import READING_BYTES, Files
from edgewise.building.pieces import Columns, Edges
from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Room
from edgewise.building.tables import tables_in
from edgewise.errors import GraphError, OutputError, ParameterError
from edgewise.graph import Graph
from edgewise.graph.checks import as_count, check_choice, check_flags
from edgewise.graph.file import load
from edgewise.graph.graph import ParallelEdges, SelfLoops
from edgewise.io.options import ReadOptions
from edgewise.memory import as_bytes, explaining_memory_errors, free_memory
from edgewise.progress import Progress
from edgewise.text import listed, shown
from edgewise.whole import check_place

#: Where the system does not tell what is free.
_USUAL_LIMIT = 2**30
_ADVICE = "Give a smaller memory_limit, so that less is held at a time"
#: The options of `edgewise.read` that only files have.
_OF_FILES = {"format"} | {option.name for option in fields(ReadOptions)} - {
    "directed", "num_vertices", "vertices", "memory_limit", "parallel_edges", "self_loops", "progress",
}  # fmt: skip


def build(
    path: str | os.PathLike[str],
    edges: Any,
    *,
    directed: bool | None = None,
    num_vertices: int | None = None,
    memory_limit: float | str | None = None,
    in_edges: bool = False,
    parallel_edges: ParallelEdges = "keep",
    self_loops: SelfLoops = "keep",
    progress: Progress = None,
    announce: Callable[[str], None] | None = None,
    **reading: Any,
) -> Graph:
    """Build a file of a graph from edges that need not fit in memory, and open it.

    The file is the one that ``Graph.from_edges(...)`` of all edges, or `edgewise.read`, and `Graph.save` would write,
    byte for byte. Each edge is written to temporary files and read again two or three times; see `docs/building.md`.

    Args:
        path: of the file; it appears when it is complete. Temporary files lie in the same folder, have no names, and
            are gone when the process ends, however it ends.
        edges: a file of text or of Parquet, or a list of them, as `edgewise.read` reads them; or an iterable of pieces:
            ``(source, target)`` or ``(source, target, weight)``, columns as `Graph.from_edges` takes them, or data
            frames of two or three columns.
        directed: False to give each edge both directions. Default: True, or what the file says. Unlike `edgewise.read`,
            this does not warn of edges that are listed in both directions.
        num_vertices: with it, the ids are 0..num_vertices-1, and edges need not be written once more to find the ids.
            Without it, the distinct ids are held in memory: 8 bytes each, strings more.
        memory_limit: bytes that building may take, as a number or as text such as "500MB" or "2GiB". Default: what is
            free. A piece that the caller makes comes on top.
        in_edges: write the in-edges of a directed graph as well.
        parallel_edges, self_loops: as in `Graph.from_edges`.
        progress: True for a bar on a terminal while a file is read, or a function of the number of bytes of its text
            that have been read.
        announce: called once with a sentence that says how much disk building takes: of files after their first lines,
            of pieces after the last one, before the next step.
        reading: other options of `edgewise.read`, for files.

    Returns:
        The graph, opened from the file.

    Raises:
        GraphError: edges that make no graph; integer ids beyond 64 bits.
        ParseError: a file that cannot be read.
        MemoryLimitError: the limit is too small; it says the least that works, as far as edges were read.
        OutputError: a place that cannot be written, or a disk that is full. Nothing is left behind.
            Or one of the files that the edges are in.
    """
    check_choice("parallel_edges", parallel_edges, ParallelEdges)
    check_choice("self_loops", self_loops, SelfLoops)
    check_flags(GraphError, in_edges=in_edges, directed=True if directed is None else directed)
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"path is {shown(path)}; expected the name of a file")
    target = Path(os.fsdecode(path))
    files = _as_files(edges)
    check_place(target, *(files or ()))
    room = _room_for(target, memory_limit)
    source: Edges
    if files is None:
        if reading:
            raise GraphError(f"options for files were given, {listed(reading)}, and the edges are in no file")
        source = Columns(edges, room)
        both, arcs, count, base = directed is False, directed is not False, as_count(num_vertices), 0
    else:
        room.reading = READING_BYTES
        room.left()
        form = reading.pop("format", None)
        if unknown := set(reading) - _OF_FILES:
            raise ParameterError(f"build: there are no options {listed(unknown)}")
        options = ReadOptions(
            directed=directed,
            num_vertices=num_vertices,
            parallel_edges=parallel_edges,
            self_loops=self_loops,
            progress=progress,
            **reading,
        )
        source = found = tables_in(files, form, options, room) or Files(files, form, options, room)
        both, arcs, count, base = (
            found.both_directions, found.directed, found.num_vertices, found.base,
        )  # fmt: skip
    rule = None if parallel_edges == "keep" else parallel_edges
    wanted = Wanted(target, arcs, both, count, base, in_edges, rule, self_loops == "drop")
    with explaining_memory_errors(f"building {target}", _ADVICE), Scratch(_folder_of(target)) as scratch:
        Builder(wanted, scratch, room, announce).build(source)
    return load(target)


def _room_for(path: Path, memory_limit: Any) -> Room:
    limit = as_bytes("memory_limit", memory_limit)
    if limit is not None:
        return Room(str(path), limit, True)
    free = free_memory()
    return Room(str(path), _USUAL_LIMIT if free is None else free, False)


def _folder_of(path: Path) -> Path:
    """The folder of the file that a path stands for; symbolic links stay."""
    return Path(os.path.realpath(path)).parent


def _as_files(edges: Any) -> list[Any] | None:
    """The files that edges are in, or None if they are pieces."""
    if isinstance(edges, str | os.PathLike):
        return [edges]
    if (
        isinstance(edges, list | tuple)
        and edges
        and all(isinstance(each, str | os.PathLike) for each in edges)
    ):
        return list(edges)
    if not isinstance(edges, Iterable):
        raise GraphError(
            f"edges is {shown(edges)}; expected a file, several, or an iterable of pieces of edges"
        )
    return None
