"""A graph whose vertices are renumbered and that has more edges, beside the graph that it was made of."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.numbers import as_float
from edgewise.approx.copies import Copies, Slots, in_slots
from edgewise.approx.saved import save_arrays
from edgewise.errors import (
    DeviceWarning,
    GraphError,
    GraphWarning,
    MemoryLimitError,
    ParameterError,
    warn,
)
from edgewise.graph import Graph
from edgewise.graph.csr import Rows
from edgewise.kernels.cache import device_function
from edgewise.layout.layers import Order, move_rows
from edgewise.numeric import is_integer
from edgewise.schedule import Replicated, Schedule
from edgewise.text import shown


class Added(NamedTuple):
    """Edges that were not there, each once, by the indices of the graph.

    Attributes:
        sources, targets: int32, shape (k,). In an undirected graph an edge stands for both of its arcs.
        weights: of the dtype of the graph's, shape (k,), or None.
    """

    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False, repr=False)
class Approximate:
    """A graph for approximate answers, and what distinguishes it from the one that it was made of.

    Attributes:
        original: the graph that was given.
        order: the vertices of `graph`, as indices of `original`, int32, shape (n,).
        added: the edges that `original` does not have, by its indices.
        technique: which one made it.
        knobs: the values with which it was made, by their names.
        seconds: how long making it took.
        clusters: the first vertex of `graph` of each cluster, and the end of the last one, int64; or None.
        copies: the slots of threads, with replicas of vertices, see `balance`; or None.
        on_gpu: whether it was made on a GPU; `graph` is built there then.
    """

    original: Graph
    order: np.ndarray
    added: Added
    technique: str
    knobs: dict[str, Any]
    seconds: float
    clusters: np.ndarray | None = None
    copies: Copies | None = None
    on_gpu: bool = False

    @property
    def graph(self) -> Graph:
        """The graph to run on. It has the user's ids, in another order."""
        return self._graph_and_slots[0]

    @cached_property
    def renumbered(self) -> Graph:
        """The graph in the order of `graph`, without added edges: runs on it are exact."""
        none = self.added._replace(**{name: each[:0] for name, each in _arrays(self.added).items()})
        return self._made(none, None)[0]

    @cached_property
    def balance(self) -> Replicated:
        """A balance for runs on `graph`, on a GPU: a thread for each slot, so replicas send for their vertices.

        Raises:
            ParameterError: the technique makes no slots.
        """
        graph, slots = self._graph_and_slots
        if self.copies is None or slots is None:
            raise ParameterError(
                f"{self.technique} makes no slots of threads; leave balance at 'auto', or use approx.coalesce"
            )
        return Replicated(graph, self.copies.vertex, slots.first, slots.end)

    @property
    def schedule(self) -> Schedule:
        """A schedule for runs on `graph` with `balance`.

        Raises:
            ParameterError: as for `balance`.
        """
        return Schedule(balance=self.balance)

    @cached_property
    def _graph_and_slots(self) -> tuple[Graph, Slots | None]:
        """The graph to run on, and the arcs of its slots, if it has some."""
        return self._made(self.added, self.copies)

    def _made(self, added: Added, copies: Copies | None) -> tuple[Graph, Slots | None]:
        """A graph in the new order with some edges more, and the arcs of slots: on the GPU, if it has room. It has no
        attributes of edges."""
        if self.original.edge_attributes:
            warn(
                f"{self.technique}: the approximate graph is without the edge attributes of the original, for added "
                "edges have none; programs that read them run on the original",
                GraphWarning,
            )
        if self.on_gpu:
            from edgewise.approx.rows_cuda import made_on_gpu

            try:
                return made_on_gpu(self.technique, self.original, self.order, added, copies)
            except MemoryLimitError as refused:
                told = f"{self.technique}: rows are made on the host, for the GPU has no room: {refused}"
                warn(told, DeviceWarning)
        rows = _rows(self.original, self.order, added)
        slots = None if copies is None else in_slots(rows, copies)
        rows, ids = rows if slots is None else slots.rows, self.original.vertices[self.order]
        graph = Graph.from_csr(rows.offsets, rows.targets, rows.weights, self.original.directed, ids)
        return graph, slots

    @property
    def num_added(self) -> int:
        """How many edges were added."""
        return len(self.added.sources)

    @property
    def extra_space(self) -> float:
        """The bytes of added edges and of the table of slots, as a fraction of those of the original's rows.

        All slots count that a run with `balance` has beside the graph: the vertices' own, too, and those not used.
        """
        graph = self.original
        of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
        arcs = self.num_added * (1 if graph.directed else 2)
        slots = 0 if self.copies is None else len(self.copies.vertex)
        of_slots = slots * (4 + 2 * graph.offsets.itemsize)
        return (arcs * of_arc + of_slots) / (graph.offsets.nbytes + of_arc * graph.num_arcs)

    def in_order(self, values: Any) -> np.ndarray:
        """An array with a value for each vertex of `graph` in the order of the vertices of `original`.

        Args:
            values: shape (n,), such as ``result.distance``.

        Raises:
            GraphError: an array of another length, or a masked one.
        """
        if np.ma.isMaskedArray(values):
            raise GraphError("in_order got a masked array; fill it first, with .filled(value)")
        given = np.asarray(values)
        if given.shape[:1] != self.order.shape:
            raise GraphError(
                f"in_order got {shown(values)}; expected a value for each of the {len(self.order):,} vertices"
            )
        found = np.empty_like(given)
        found[self.order] = given
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph that was given, and what was added, to a folder, for `load`. Nothing is pickled.

        Each of its two files appears when it is complete and on the disk.

        Args:
            path: of the folder, which is made if it is not there.

        Raises:
            OutputError: the place cannot be written, or the disk is full.
        """
        told = {"technique": self.technique, "knobs": self.knobs, "seconds": self.seconds, "chunk": None}
        arrays = {"order": self.order, **_arrays(self.added)}
        if self.clusters is not None:
            arrays["clusters"] = self.clusters
        if self.copies is not None:
            told["chunk"] = self.copies.chunk
            arrays |= {"vertex": self.copies.vertex, "to": self.copies.to}
        save_arrays(path, self.original, told, arrays)

    def __repr__(self) -> str:
        knobs = ", ".join(f"{name}={value}" for name, value in self.knobs.items())
        return f"<{self.technique}({knobs}): {self.num_added:,} edges added to {self.original!r}>"


def _arrays(added: Added) -> dict[str, np.ndarray]:
    return {name: each for name, each in added._asdict().items() if each is not None}


def _rows(graph: Graph, order: np.ndarray, added: Added) -> Rows:
    """The rows of a graph in another order, with more edges: a row has its own arcs first, in their order."""
    n, place = graph.num_vertices, np.empty(len(order), np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    moved = move_rows(Order(order, place, np.array([0, n])), graph.offsets, graph.targets, graph.weights)
    ends = place[added.sources], place[added.targets]
    sources, targets, weights = *ends, added.weights
    if not graph.directed:
        sources, targets = np.concatenate(ends), np.concatenate(ends[::-1])
        weights = None if weights is None else np.concatenate([weights, weights])
    by_source = np.argsort(sources, kind="stable")
    more = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=more[1:])
    offsets = moved[0].astype(np.int64) + more
    of_rows = np.arange(graph.num_arcs) + np.repeat(more[:-1], np.diff(moved[0]))
    of_added = np.arange(len(sources)) + moved[0][sources[by_source] + 1].astype(np.int64)

    def merged(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        found = np.empty(len(rows) + len(others), rows.dtype)
        found[of_rows], found[of_added] = rows, others[by_source]
        return found

    both = None if moved[2] is None or weights is None else merged(moved[2], weights)
    return Rows(offsets, merged(moved[1], targets), both)


def cut(added: Added, directed: bool, most: int) -> Added:
    """The first edges; of those of an undirected graph that were found from both ends, the first."""
    first = np.arange(len(added.sources))
    if not directed:
        pairs = np.sort(np.stack([added.sources, added.targets]), axis=0).astype(np.int64)
        first = np.sort(np.unique(pairs[0] << 32 | pairs[1], return_index=True)[1])
    first = first[:most]
    weights = None if added.weights is None else added.weights[first]
    return Added(added.sources[first], added.targets[first], weights)


def as_fraction(what: str, value: Any) -> float:
    """A number from 0 to 1. Raises ParameterError."""
    return as_float(what, value, "a number from 0 to 1", most=1)


def as_knob(what: str, value: Any, most: float, auto: bool = False) -> Any:
    """A number from 0 to `most`, which may be infinite, or "auto" if that is allowed. Raises ParameterError."""
    if auto and isinstance(value, str) and value == "auto":
        return value
    expected = "a number of at least 0" if most == np.inf else f"a number from 0 to {most:g}"
    return as_float(what, value, f"{expected}, or 'auto'" if auto else expected, most=most)


def as_count(what: str, value: Any, least: int) -> int:
    """An integer of at least `least` that int32 holds. Raises ParameterError."""
    if not (is_integer(value) and least <= value < 2**31):
        raise ParameterError(
            f"{what} is {shown(value)}; expected an integer of at least {least}, below 2**31"
        )
    return int(value)


def part_of(fraction: float, whole: Any) -> Any:
    """A fraction of integers, rounded down, but not because a product of floats fell a little short."""
    return np.floor(fraction * np.asarray(whole) + 1e-9).astype(np.int64)


def weight_bounds(weights: np.ndarray | None) -> np.ndarray:
    """The least and the largest weight of a dtype, for `sum_fits`; no numbers for floats."""
    if weights is None or weights.dtype.kind == "f":
        return np.zeros(0, np.int64)
    limits = np.iinfo(weights.dtype)
    return np.array([limits.min, limits.max], np.int64)


@device_function
def sum_fits(a: Any, b: Any, bounds: Any) -> Any:
    """Whether the sum of two weights is one of their dtype, and finite."""
    if len(bounds) == 0:
        return np.isfinite(a + b)
    a, b = np.int64(a), np.int64(b)
    return bounds[0] - b <= a if b < 0 else a <= bounds[1] - b
