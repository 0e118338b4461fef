"""Where a graph's arrays lie for runs on a GPU: on the GPU, or, if they do not fit, in part in the host's memory.

Each array is copied or made there once, and stays as long as the graph. Kernels take the same addresses in both cases
(`edgewise.kernels.cuda.placed`). Offsets always lie on the GPU: every row is found by them.
"""

import gc
from collections.abc import Callable, Iterator
from enum import Flag, auto
from typing import Any, NamedTuple, TypeVar, final
from weakref import WeakSet

import numpy as np

from edgewise.errors import MemoryLimitError
from edgewise.graph import csr, gpu_rows
from edgewise.graph.making import Made
from edgewise.kernels.door import cuda_door
from edgewise.memory import LARGE_PAGE, Step, free_memory, held, in_turn

_Kept = TypeVar("_Kept")
#: Graphs whose arcs are read where they lie, see `Resident.read_in_place`.
_read_in_place: "WeakSet[Any]" = WeakSet()


class Arrays(Flag):
    """Sets of a graph's arrays that runs on a GPU read."""

    OFFSETS = auto()
    TARGETS = auto()
    WEIGHTS = auto()
    IN_OFFSETS = auto()
    IN_SOURCES = auto()
    IN_WEIGHTS = auto()
    IN_ARCS = auto()
    ROWS = OFFSETS | TARGETS
    IN_EDGES = IN_OFFSETS | IN_SOURCES
    BOTH_WAYS = ROWS | IN_EDGES

    @classmethod
    def rows(cls, weighted: bool) -> "Arrays":
        """Out-edges, with weights if asked for."""
        return cls.ROWS | cls.WEIGHTS if weighted else cls.ROWS

    @classmethod
    def both_ways(cls, weighted: bool) -> "Arrays":
        """Out-edges and in-edges, with weights if asked for."""
        return cls.BOTH_WAYS | cls.WEIGHTS | cls.IN_WEIGHTS if weighted else cls.BOTH_WAYS


#: Arrays with one value for each vertex; and which array of out-edges each one of in-edges is like.
_OF_VERTICES = Arrays.OFFSETS | Arrays.IN_OFFSETS
_OUTWARD = {
    Arrays.IN_OFFSETS: Arrays.OFFSETS,
    Arrays.IN_SOURCES: Arrays.TARGETS,
    Arrays.IN_WEIGHTS: Arrays.WEIGHTS,
}
#: How many neighbours are the heads of a vertex, and the bytes that they take.
HEADS, HEAD_BYTES = 2, 8
#: Of the room that is left for them, lists get this share; and what is left for what the driver and CuPy round up.
LISTS, RESERVE = 0.25, 16 * LARGE_PAGE
#: The share of what is free that is left to the driver if no limit is given: for code, and the stacks of threads.
_UNUSED = 1 / 64
#: A graph is placed anew, which takes long, only if more than this times its bytes on the GPU now could lie there.
_BETTER = 1.1
#: The first part of the key under which a graph notes that some arrays are all there; and the memory that this takes.
_ALL_THERE, _NOTHING = "all there", Step(0, 0)
_NAMES = {Arrays.OFFSETS: "offsets", Arrays.TARGETS: "targets", Arrays.WEIGHTS: "weights"}


class Placement(NamedTuple):
    """How a graph lies that does not fit in the GPU's memory: offsets lie there, and of other arrays the first parts.

    Attributes:
        arcs: the share of each array of arcs that lies on the GPU, those that a run makes for itself included.
        lists: the share of each list that a run makes (`edgewise.algorithms.common.device_graph.lists`).
        heads: whether the first neighbours of vertices lie on the GPU, too (`edgewise.algorithms.common.heads`).
        there: the bytes of the graph, of such arrays and of lists on the GPU.
        elsewhere: their bytes in the host's memory.
    """

    arcs: float
    lists: float
    heads: bool
    there: int
    elsewhere: int

    def __str__(self) -> str:
        whole = self.there + self.elsewhere
        what = f"{self.there:,} of {whole:,} bytes of the graph and lists on the GPU"
        return f"{what}; the others are read from the host's memory"


def _no_arrays(exactly: bool) -> list[int]:
    return []


class Needs(NamedTuple):
    """What a run needs of the GPU's memory.

    Attributes:
        arrays: the graph's arrays that it reads, wherever they lie.
        beside: the bytes that it always takes beside them.
        lists: bytes of lists that it takes, too, and that may lie in the host's memory.
        heads: whether the first neighbours of vertices help it if there is no room for the graph.
        of_arcs: ``of_arcs(exactly)``: the bytes of each array with a value for an arc that it makes for itself, and
            that lies as the graph's do (`Resident.part`). To know them exactly may take long; else about as many do.
        if_all_fits: bytes that it takes only if all of that lies on the GPU; if not, they are on the host.
    """

    arrays: Arrays
    beside: int
    lists: int = 0
    heads: bool = False
    of_arcs: Callable[[bool], list[int]] = _no_arrays
    if_all_fits: int = 0


def part(size: int, share: float) -> int:
    """How many of the bytes of an array lie on the GPU: whole pages, or all."""
    return size if share >= 1 else int(size * share) // LARGE_PAGE * LARGE_PAGE


@final
class Resident:
    """A graph's arrays as CuPy arrays, under the names that they have in the graph; `in_arcs` are made on the host.

    It holds the graph, which has the cache: so it is made anew each time, and no cycle keeps the graph in memory.
    Reading an array raises MemoryLimitError if there is no room for it.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    offsets = property(lambda self: self._there(Arrays.OFFSETS, self._graph.stored.offsets))
    targets = property(lambda self: self._there(Arrays.TARGETS, self._graph.stored.targets))
    weights = property(lambda self: self._there(Arrays.WEIGHTS, self._graph.stored.weights))
    in_offsets = property(lambda self: self._there(Arrays.IN_OFFSETS, self._graph.stored_in_edges.offsets))
    in_sources = property(lambda self: self._there(Arrays.IN_SOURCES, self._graph.stored_in_edges.targets))
    in_weights = property(lambda self: self._there(Arrays.IN_WEIGHTS, self._graph.stored_in_edges.weights))
    in_arcs = property(lambda self: self._copied(Arrays.IN_ARCS, self._graph.in_arcs))

    @property
    def out_degree(self) -> Any:
        """The number of arcs out of each vertex."""
        return self.of_offsets(False, "degrees", 4 * self._graph.num_vertices, _row_lengths)

    @property
    def in_degree(self) -> Any:
        """The number of arcs into each vertex."""
        graph = self._graph
        if not graph.directed:
            return self.out_degree
        if graph.built_on_gpu or graph.has_in_edges:
            return self.of_offsets(True, "degrees", 4 * graph.num_vertices, _row_lengths)
        return self._copied(None, graph.in_degree)

    def know_in_degrees(self, degrees: Any) -> None:
        """Keep the in-degrees, int32, on the GPU, which need not be counted then."""
        self._graph.residents[_row_lengths, True] = degrees

    def making(self, arrays: Arrays) -> Step:
        """The GPU's memory that it takes to copy or make those arrays that are not there yet."""
        graph = self._graph
        if (_ALL_THERE, arrays) in graph.residents:
            return _NOTHING
        unmade = Arrays(0) if graph.has_in_edges else arrays & (Arrays.IN_EDGES | Arrays.IN_WEIGHTS)
        missing = {
            each: self._on_gpu(each, size)
            for each, size in self._sizes(arrays).items()
            if each in unmade or not (graph.built_on_gpu or id(self._values(each)) in graph.residents)
        }
        if not missing:
            # Asked at each call, so it is noted: what is there stays, or all is given up together.
            graph.residents[_ALL_THERE, arrays] = True
            return _NOTHING
        kept, sorted_there = sum(missing.values()), bool(unmade) and graph.built_on_gpu
        return Step(kept, kept + sorted_there * gpu_rows.ARC_BYTES * graph.num_arcs)

    def place(self, name: str, needs: Needs, limit: int | None) -> Step:
        """Decide how much of the graph lies on the GPU for a run: all that it reads, or as much as there is room for.

        What is there, but lies otherwise, is given up, and so are programs laid out for the graph.

        Args:
            name: what runs, for messages.
            needs: what it needs.
            limit: the most bytes that it may take, the graph included; None for what is free.

        Returns:
            What has to be made on the GPU then, beside what the run always takes.

        Raises:
            MemoryLimitError: there is no room for the offsets and for what the run always takes.
        """
        graph, arrays, lists, is_free = self._graph, needs.arrays, needs.lists, limit is None
        if limit is None:
            making = in_turn(self.making(arrays), held(lists))
            more = needs.beside + sum(needs.of_arcs(False)) + needs.if_all_fits
            if graph.built_on_gpu or (graph.placement is None and cuda_door().fits(making.most + more)):
                return making
            limit = int((cuda_door().free() + self._kept_there()) * (1 - _UNUSED))
        whole, offsets = self.sizes(arrays)
        of_run = needs.of_arcs(not graph.built_on_gpu)
        least, beside = needs.beside + offsets, needs.beside + sum(of_run) + needs.if_all_fits
        if graph.built_on_gpu:
            making = in_turn(self.making(arrays), held(lists))
            least = whole - making.kept + lists + in_turn(making, held(beside)).most
        if least > limit:
            what = "with the graph, which was built there" if graph.built_on_gpu else "for what vertices have"
            refused = MemoryLimitError(
                f"{name} needs {least:,} bytes on the GPU {what}; the limit is {limit:,}. Raise "
                "memory_limit, free some memory, or run on the CPU with device='cpu'"
            )
            refused.needed = least
            raise refused
        if whole + lists + beside <= limit:
            self._placed(None)
            if is_free and not cuda_door().fits(making.most + more):
                self._give_up()  # what other runs made
            return in_turn(self.making(arrays), held(lists))
        arcs = [*of_run, *(size for each, size in self._sizes(arrays).items() if each not in _OF_VERTICES)]
        of_heads = HEAD_BYTES * graph.num_vertices

        def placement(of_arcs: float, of_lists: float, heads: bool) -> Placement:
            there = offsets + sum(part(size, of_arcs) for size in arcs) + part(lists, of_lists)
            return Placement(of_arcs, of_lists, heads, there, offsets + sum(arcs) + lists - there)

        # Where no limit is given, there is room for the result of the run before, too.
        room = max(0, limit - (1 + is_free) * needs.beside - offsets - RESERVE)
        chosen, now = placement(*self._shares(needs, arcs, room)), graph.placement
        if now is not None and is_free and now == placement(now.arcs, now.lists, now.heads):
            # It was chosen for the same needs, where a little more or less was free.
            fits = now.there + of_heads * now.heads + needs.beside <= limit
            in_place = graph.itself in _read_in_place and now.arcs > 0
            if fits and chosen.there <= _BETTER * now.there and chosen.heads == now.heads and not in_place:
                chosen = now
        self._placed(chosen)
        # What a run makes for itself, it counts itself.
        of_graph = chosen.there - sum(part(size, chosen.arcs) for size in of_run)
        return held(max(0, of_graph + of_heads * chosen.heads - self._kept_there()))

    def _shares(self, needs: Needs, arcs: list[int], room: int) -> tuple[float, float, bool]:
        """The shares of arcs and lists for which there is room on the GPU, and whether there is for heads."""
        of_heads, lists, all_arcs = HEAD_BYTES * self._graph.num_vertices, needs.lists, sum(arcs)
        heads = needs.heads and of_heads <= room
        room -= of_heads * heads
        of_lists = min(1.0, (LISTS if all_arcs else 1) * room / max(lists, 1))
        of_arcs = min(1.0, (room - of_lists * lists) / max(all_arcs, 1))
        on_host = sum(size - part(size, of_arcs) for size in arcs) + lists - part(lists, of_lists)
        if of_arcs > 0 and (self._graph.itself in _read_in_place or not self._host_has_room(on_host)):
            # Arcs are read in place, and lists get their room.
            return 0.0, min(1.0, room / max(lists, 1)), heads
        return of_arcs, of_lists, heads

    def read_in_place(self) -> bool:
        """Have no parts of arrays of arcs on the GPU at further runs, for the system does not give the memory for their
        other parts; False if there were none."""
        graph = self._graph
        parts = graph.placement is not None and graph.placement.arcs > 0
        if parts:
            _read_in_place.add(graph.itself)
        return parts

    def sizes(self, arrays: Arrays) -> tuple[int, int]:
        """The bytes of these arrays, and those that always lie on the GPU."""
        sizes = self._sizes(arrays)
        whole, offsets = sum(sizes.values()), sum(sizes[each] for each in sizes if each in _OF_VERTICES)
        return whole, whole if self._graph.built_on_gpu else offsets

    def part(self, size: int) -> int:
        """How many of the bytes of an array of arcs lie on the GPU."""
        placement = self._graph.placement
        return size if placement is None else part(size, placement.arcs)

    def placed(self, values: Any) -> Any:
        """An array of arcs that a run made, as kernels read it: it lies as the graph's do, or on the GPU if it is there
        already.

        Raises:
            MemoryLimitError: as `edgewise.kernels.cuda.placed.place`.
        """
        from edgewise.kernels.cuda.placed import place

        return place(values, self.part(values.nbytes)) if isinstance(values, np.ndarray) else values

    def there(self, arrays: Arrays) -> int:
        """How many bytes of these arrays lie on the GPU, or will when they are read."""
        return sum(self._on_gpu(each, size) for each, size in self._sizes(arrays).items())

    def drop(self, make: Callable[..., Any], *arguments: Any) -> None:
        """Give up a result that is `kept`."""
        self._graph.residents.pop((make, *arguments), None)

    def kept(self, make: Callable[..., _Kept], *arguments: Any) -> _Kept:
        """The result of ``make(graph, *arguments)``, which lies on the GPU: made once, and kept as long as the graph is
        and its arrays lie where they do."""
        made: _Kept = self._held((make, *arguments), lambda: make(self._graph, *arguments))
        return made

    def has(self, make: Callable[..., Any], *arguments: Any) -> bool:
        """Whether that result is `kept` already."""
        return (make, *arguments) in self._graph.residents

    def of_offsets(
        self, inward: bool, what: str, needed: int, make: Callable[..., Any], *arguments: Any
    ) -> Any:
        """The result of ``make(offsets, *arguments)``, made once and kept like others.

        Args:
            inward: whether for the offsets of in-edges.
            what: names the result in messages.
            needed: the bytes that making it takes.
            make: makes it.
            arguments: further ones.

        Raises:
            MemoryLimitError: the GPU has no room for it.
        """

        def made() -> Any:
            offsets = self.in_offsets if inward else self.offsets
            with cuda_door().room(what, needed):
                return make(offsets, *arguments)

        return self._held((make, inward, *arguments), made)

    def _held(self, key: Any, make: Callable[[], Any]) -> Any:
        held = self._graph.residents
        return held[key] if key in held else held.setdefault(key, make())

    def _there(self, array: Arrays, values: Any) -> Any:
        """An array of rows, copied unless the graph was built on the GPU."""
        return values if values is None or self._graph.built_on_gpu else self._copied(array, values)

    def _copied(self, array: Arrays | None, values: np.ndarray) -> Any:
        """The copy of an array of the host, which is kept with it: its `id` is the key."""

        def copy() -> _Copy:
            from edgewise.kernels.cuda.placed import place

            size = values.nbytes if array is None else self._on_gpu(self._own(array), values.nbytes)
            with cuda_door().room("the graph's copy", size):
                return _Copy(values, place(values, size), size)

        found: _Copy = self._held(id(values), copy)
        return found.seen

    def _copies(self) -> list["_Copy"]:
        """The copies of arrays that there are."""
        return [each for each in self._graph.residents.values() if isinstance(each, _Copy)]

    def _made(self) -> list[Any]:
        """The arrays that were made for runs and are kept: lists, heads and others, but no copies."""
        made = {each.data.ptr: each for each in _arrays_in(list(self._graph.residents.values()))}
        for copy in self._copies():
            made.pop(copy.seen.data.ptr if hasattr(copy.seen.data, "ptr") else None, None)
        return list(made.values())

    def _kept_there(self) -> int:
        """The bytes on the GPU of all that is kept with the graph, but for programs."""
        from edgewise.kernels.cuda.placed import on_gpu

        return sum(each.on_gpu for each in self._copies()) + sum(map(on_gpu, self._made()))

    def _host_has_room(self, size: int) -> bool:
        """Whether the host has room for parts of arrays of this size beside the arrays, leaving a quarter of what is
        free. Parts that are there are counted as free."""
        from edgewise.kernels.cuda.placed import on_gpu

        free = free_memory() if size > 0 else None
        there = sum(each.values.nbytes - each.on_gpu for each in self._copies() if each.on_gpu > 0)
        there += sum(each.nbytes - on_gpu(each) for each in self._made())
        return free is None or size <= (free + there) * 3 // 4

    def _placed(self, placement: Placement | None) -> None:
        """Set where arrays lie, and give up what lies otherwise."""
        graph = self._graph
        if placement == graph.placement:
            return
        graph.itself.placement = placement
        self._give_up()

    def _give_up(self) -> None:
        """Give up all that is kept with the graph."""
        self._graph.residents.clear()
        self._graph.programs.clear()
        gc.collect()  # an error that was caught may hold arrays
        cuda_door().give_back()

    def _own(self, array: Arrays) -> Arrays:
        """The array that stands for this one: an undirected graph's rows are its in-edges, too."""
        return array if self._graph.directed else _OUTWARD.get(array, array)

    def _sizes(self, arrays: Arrays) -> dict[Arrays, int]:
        """The bytes of each of these arrays, wherever they lie, made or not."""
        graph, m = self._graph, self._graph.num_arcs
        of_offset = csr.offset_dtype(m)().itemsize
        sizes = {
            Arrays.OFFSETS: (graph.num_vertices + 1) * of_offset,
            Arrays.TARGETS: 4 * m,
            Arrays.WEIGHTS: m * graph.weight_dtype.itemsize if graph.weighted else 0,
            Arrays.IN_ARCS: m * of_offset,
        }
        return {self._own(each): sizes[_OUTWARD.get(each, each)] for each in Arrays if each in arrays}

    def _values(self, array: Arrays) -> Any:
        """An array of the graph, made if it is not there; arcs of in-edges only if they are."""
        graph = self._graph
        if array is Arrays.IN_ARCS:
            return vars(graph.itself).get(Made.IN_ARCS.value)
        rows = graph.stored_in_edges if array in _OUTWARD else graph.stored
        return getattr(rows, _NAMES[_OUTWARD.get(array, array)])

    def _on_gpu(self, array: Arrays, size: int) -> int:
        """How many of the bytes of an array lie on the GPU."""
        return size if array in _OF_VERTICES else self.part(size)


class _Copy(NamedTuple):
    """An array of the host, what kernels read in its place, and how many bytes of that lie on the GPU."""

    values: np.ndarray
    seen: Any
    on_gpu: int


def _arrays_in(values: Any) -> Iterator[Any]:
    """The arrays of CuPy in lists, tuples and dictionaries, and those of a graph that was made, but for copies."""
    if hasattr(values, "stored"):
        values = [*vars(values.stored).values(), *values.residents.values()]
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)) and not isinstance(values, _Copy):
        for each in values:
            yield from _arrays_in(each)
    elif hasattr(values, "nbytes") and not isinstance(values, (np.ndarray, np.generic)):
        yield values


def _row_lengths(offsets: Any) -> Any:
    return (offsets[1:] - offsets[:-1]).astype(np.int32)
