"""`build`: the door. Edges of any source become a file of a graph, in bounded memory."""

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.building.builder import Builder, Wanted
from edgewise.building.file_part import FilePart
from edgewise.building.files import READING_BYTES, Files
from edgewise.building.pieces import Columns, Edges
from edgewise.building.ranks import ByRanks
from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Room
from edgewise.building.tables import Tables, tables_in
from edgewise.engine.distributed.group import Group, connect, ranks_here, telling_errors
from edgewise.errors import DistributedError, GraphError, OutputError, ParameterError, ParseError
from edgewise.graph import Graph
from edgewise.graph.checks import as_count, check_choice, check_flags
from edgewise.graph.file import load
from edgewise.graph.graph import ParallelEdges, SelfLoops
from edgewise.io.door import graph_format
from edgewise.io.options import ReadOptions
from edgewise.io.source import as_path
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
    distributed: bool = False,
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
        distributed: build the file on all ranks that torchrun has started, together: each reads its piece of one text
            file, which is not compressed, and writes the rows of some vertices. All ranks make the same call, and see
            the text and the folder of the output; the file is that of one process. `memory_limit` is that of each rank;
            `progress` and `announce` are those of the first one. See `docs/distributed.md`.
        reading: other options of `edgewise.read`, for files.

    Returns:
        The graph, opened from the file.

    Raises:
        GraphError: edges that make no graph; integer ids beyond 64 bits.
        ParseError: a file that cannot be read.
        MemoryLimitError: the limit is too small; it says the least that works, as far as edges were read.
        OutputError: a place that cannot be written, or a disk that is full. Nothing is left behind.
            Or one of the files that the edges are in.
        DistributedError: ranks that make other calls or see another file, that have ended, or were not started.
        FileChangedError: ranks have read a file that was written to meanwhile.
    """
    check_flags(ParameterError, "build: ", distributed=distributed)
    asked = {
        "directed": directed,
        "num_vertices": num_vertices,
        "parallel_edges": parallel_edges,
        "self_loops": self_loops,
        "progress": progress,
    }
    how = memory_limit, in_edges, announce, asked, reading
    if not distributed:
        return _build(path, edges, *how, None)
    with telling_errors():
        group = connect()
        return _build(path, edges, *how, None if group.size == 1 else group)


def _build(
    path: Any,
    edges: Any,
    memory_limit: Any,
    in_edges: bool,
    announce: Callable[[str], None] | None,
    asked: dict[str, Any],
    reading: dict[str, Any],
    group: Group | None,
) -> Graph:
    """Build a file, by one process or by a group of ranks; see `build`.

    Args:
        path, edges, memory_limit, in_edges, announce: see there.
        asked: the other options that it names.
        reading: further options of `edgewise.read`.
        group: the ranks, or None.
    """
    check_choice("parallel_edges", asked["parallel_edges"], ParallelEdges)
    check_choice("self_loops", asked["self_loops"], SelfLoops)
    directed = asked["directed"]
    check_flags(GraphError, in_edges=in_edges, directed=True if directed is None else directed)
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"path is {shown(path)}; expected the name of a file")
    target, files = Path(os.fsdecode(path)), _as_files(edges)
    room = _room_for(target, memory_limit)
    if group is not None:
        of_call = {name: value for name, value in asked.items() if name != "progress"} | reading
        _agree((target.absolute(), files, memory_limit, in_edges, sorted(of_call.items())), room, group)
    check_place(target, *(files or ()))
    source: Edges
    if files is None:
        if reading:
            raise GraphError(f"options for files were given, {listed(reading)}, and the edges are in no file")
        source = Columns(edges, room)
        both, arcs, count, base = directed is False, directed is not False, as_count(asked["num_vertices"]), 0
    else:
        source = found = _open(files, asked, reading, room, group)
        both, arcs, count, base = (
            found.both_directions, found.directed, found.num_vertices, found.base,
        )  # fmt: skip
    rule = None if asked["parallel_edges"] == "keep" else asked["parallel_edges"]
    wanted = Wanted(target, arcs, both, count, base, in_edges, rule, asked["self_loops"] == "drop")
    with explaining_memory_errors(f"building {target}", _ADVICE), Scratch(_folder_of(target)) as scratch:
        if group is None:
            Builder(wanted, scratch, room, announce).build(source)
        else:
            announce = announce if group.rank == 0 else None
            Builder(wanted, scratch, room, announce, sharing=ByRanks(group, scratch, room)).build(source)
    return load(target)


def _open(
    files: list[Any], asked: dict[str, Any], reading: dict[str, Any], room: Room, group: Group | None
) -> Files | Tables:
    """The edges in files, or of ranks those in this rank's piece of one."""
    room.reading = READING_BYTES
    room.left()
    reading = dict(reading)
    form = reading.pop("format", None)
    if unknown := set(reading) - _OF_FILES:
        raise ParameterError(f"build: there are no options {listed(unknown)}")
    options = ReadOptions(**asked, **reading)
    if group is None:
        return tables_in(files, form, options, room) or Files(files, form, options, room)
    known = graph_format(as_path(files[0]), form)
    if known is not None:
        raise ParseError(
            f"{files[0]} is read as {known.name}, which ranks do not read by pieces; expected text, or leave "
            "distributed out"
        )
    return FilePart(files[0], form, options, room, group)


def _agree(call: tuple[Any, ...], room: Room, group: Group) -> None:
    """Refuse calls that differ between ranks, or that several ranks cannot make; the least room is that of all."""
    rank = group.differing(repr(call).encode(errors="surrogateescape"))
    if rank is not None:
        raise DistributedError(
            f"build: rank {group.rank} has another path, file or option than rank {rank}; expected the same call on "
            "all ranks"
        )
    files = call[1]
    if files is None or len(files) != 1:
        what = "pieces" if files is None else f"{len(files)} files"
        raise GraphError(
            f"build: the edges are in {what}, and distributed is True; expected one text file, of which each rank "
            "reads its piece. Join texts to one, or leave distributed out"
        )
    if not room.given:
        room.limit //= ranks_here()
    room.limit = min(group.everywhere(np.empty(0, np.uint8), room.limit)[1])


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
