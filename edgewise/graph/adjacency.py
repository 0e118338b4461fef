"""The arrays of a graph, where they lie, and what is kept with them."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import csr
from edgewise.graph.attributes import ArcAttribute, in_order
from edgewise.graph.checks import check_flags
from edgewise.graph.file_attributes import FileAttributes
from edgewise.graph.file_part import FilePart
from edgewise.graph.file_rows import FileRows
from edgewise.graph.gpu_rows import GpuRows
from edgewise.graph.ids import Ids, as_array
from edgewise.graph.making import (
    AnyRows,
    Made,
    bytes_held,
    making_array,
    needed_on_host,
    stored,
    transposed,
    weight_dtype,
)
from edgewise.graph.resident import Placement, Resident
from edgewise.kernels.cpu.launch import Sealed, all_sealed, sealed
from edgewise.layout.slots import arrange, degrees_of
from edgewise.memory import Step, give_back, held, in_turn
from edgewise.text import listed, shown


class Adjacency(Sealed):
    """The rows and the ids of a graph, by which algorithms and programs see it; `edgewise.graph.graph.Graph` describes
    its attributes."""

    def __init__(
        self, rows: AnyRows, ids: Ids, directed: bool, num_loops: int, num_arcs: int | None = None
    ) -> None:
        check_flags(GraphError, directed=directed)
        self._ids, self._rows = ids, rows.sealed() if isinstance(rows, csr.Rows) else rows
        self.num_vertices = ids.num_vertices
        self.num_arcs = len(rows.targets) if num_arcs is None else num_arcs
        self.num_edges = self.num_arcs if directed else (self.num_arcs + num_loops) // 2
        self.directed = bool(directed)
        self._edge_numbers: np.ndarray | None = None
        self._attributes: Mapping[str, np.ndarray] = {}
        if isinstance(rows, FileRows):
            self._attributes = FileAttributes(rows.file)
        #: Edge attributes as values of arcs, by name and dtype: see `edgewise.graph.attributes`.
        self.arc_attributes: dict[tuple[str, np.dtype], np.ndarray] = {}
        #: Digests of its arrays, see `edgewise.graph.likeness`.
        self.digests: dict[Any, bytes] = {}
        #: Programs laid out for this graph, see `edgewise.run`.
        self.programs: OrderedDict[Any, Any] = OrderedDict()
        #: Parts of rows in a file that were checked by themselves, see `part`.
        self._parts: dict[tuple[bool, int, int], FilePart] = {}
        #: What lies on the GPU for this graph, and which parts if not all do: see `edgewise.graph.resident`.
        self.residents: dict[Any, Any] = {}
        self.placement: Placement | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: all but what is laid out for this graph."""
        return {
            **vars(self),
            "programs": OrderedDict(),
            "residents": {},
            "placement": None,
            "arc_attributes": {},
            "digests": {},
            "_parts": {},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As `Sealed`; attributes are arrays by name."""
        super().__setstate__(state)
        if isinstance(self._attributes, dict):
            self._attributes = all_sealed(self._attributes)

    @property
    def itself(self) -> Self:
        """This graph itself, also if it is reached through a weak proxy."""
        return self

    @property
    def offsets(self) -> np.ndarray:
        """Where the arcs of each vertex begin."""
        return self._rows.offsets

    @property
    def targets(self) -> np.ndarray:
        """Where each arc goes."""
        return self._rows.targets

    @property
    def weights(self) -> np.ndarray | None:
        """The weight of each arc, or None."""
        return self._rows.weights

    @property
    def offset_dtype(self) -> np.dtype:
        """The dtype of `offsets`; nothing is copied or read for it."""
        if isinstance(self._rows, FileRows):
            return self._rows.offset_dtype
        return np.dtype(self.stored.offsets.dtype)

    def part(self, own: slice, *, inward: bool = False) -> FilePart | None:
        """The rows of some vertices, or their in-edges, of which nothing else is read or checked. None for a graph that
        is in no file, or whose file has no in-edges."""
        inward = inward and self.directed
        rows = self._rows.in_edges if inward and isinstance(self._rows, FileRows) else self._rows
        if not isinstance(rows, FileRows):
            return None
        rows.file.check_unchanged()
        key = inward, own.start, own.stop
        if key not in self._parts:
            self._parts[key] = FilePart(rows, own)
        return self._parts[key]

    def unchecked_offsets(self, *, inward: bool = False) -> np.ndarray:
        """The offsets, or those of in-edges, to look a few of them up: nothing else is read, and nothing checked, of a
        graph in a file that has them."""
        inward = inward and self.directed
        rows = self._rows.in_edges if inward and isinstance(self._rows, FileRows) else self._rows
        if isinstance(rows, FileRows):
            return rows.file.values(rows.names[0])
        return self.in_offsets if inward else self.offsets

    @property
    def edge_numbers(self) -> np.ndarray | None:
        """The edge of each arc, or None."""
        return self._rows.edge_numbers if isinstance(self._rows, FileRows) else self._edge_numbers

    @property
    def edge_attributes(self) -> Mapping[str, np.ndarray]:
        """The attributes of edges by name, each with a value for each edge of the input; nothing if there are none."""
        attributes = self._attributes
        return MappingProxyType(attributes) if isinstance(attributes, dict) else attributes

    def arc_attribute(self, name: str) -> np.ndarray:
        """An edge attribute as values of arcs, shape (num_arcs,), in the order of `targets`; both arcs of an undirected
        edge have its value. The first call makes it, O(num_arcs).

        Raises:
            GraphError: the graph has no such attribute.
        """
        self._check_attributes(name)
        return ArcAttribute(self, name, self.edge_attributes[name].dtype).values()

    def _check_attributes(self, *names: str) -> None:
        """Refuse a name that no edge attribute has. Raises GraphError."""
        for name in names:
            if name not in self.edge_attributes:
                known = listed(map(shown, self.edge_attributes)) or "none"
                raise GraphError(f"the graph has no edge attribute {shown(name)}; it has {known}")

    def _handing_on(self, graph: Self, arcs: Callable[[], np.ndarray]) -> Self:
        """Another graph of edges of this one, with the edge numbers and attributes of these.

        Args:
            graph: the other graph, in memory.
            arcs: gives the index of each of its arcs here.
        """
        numbers = self.edge_numbers
        if numbers is None and not self.edge_attributes:
            return graph
        graph._edge_numbers = sealed(arcs() if numbers is None else in_order(numbers, arcs()))
        graph._attributes = self._attributes
        if isinstance(self._rows, FileRows):  # what is in the file belongs to this graph
            graph._attributes = {
                name: sealed(np.array(values)) for name, values in self.edge_attributes.items()
            }
        return graph

    @property
    def gpu(self) -> Resident:
        """This graph's arrays on the GPU; they are copied there once."""
        return Resident(self)

    @property
    def needed_on_host(self) -> int:
        """Bytes that a graph built on a GPU, or in a file, will take on the host, for arrays not copied yet."""
        return needed_on_host(self._rows)

    def check_unchanged(self) -> None:
        """Refuse a graph from `edgewise.load` whose file was cut short or written to. Raises FileChangedError."""
        if isinstance(self._rows, FileRows):
            self._rows.file.check_unchanged()

    @property
    def weight_dtype(self) -> np.dtype | None:
        """The dtype of `weights`, or None; nothing is copied or read for it."""
        return weight_dtype(self._rows)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.weight_dtype is not None

    @property
    def stored(self) -> Any:
        """The rows where they lie, as `csr.Rows`: CuPy arrays if the graph was built on a GPU, else NumPy arrays."""
        return stored(self._rows)

    @property
    def stored_in_edges(self) -> Any:
        """The in-edges where they lie, as `csr.Rows`; made if they are not there yet."""
        return stored(self._in_edges)

    @property
    def built_on_gpu(self) -> bool:
        """Whether the graph was built on a GPU."""
        return isinstance(self._rows, GpuRows)

    @property
    def vertices(self) -> np.ndarray:
        """The user's ids in index order: int64, uint64, or Python objects: strings, integers of any size, or keys of
        dictionaries of any kinds."""
        self.check_unchanged()
        return self._ids.array

    @property
    def has_names(self) -> bool:
        """Whether the ids are strings; nothing is read for it."""
        return self._ids.are_names

    @property
    def has_plain_ids(self) -> bool:
        """Whether the ids are integers, or strings, as those in files are; nothing is read for it."""
        return self._ids.are_plain

    @property
    def has_object_ids(self) -> bool:
        """Whether the ids are Python objects: strings, integers beyond 64 bits, or others; nothing is read for it."""
        return self._ids.are_objects

    def index_of(self, vertex: Any) -> Any:
        """The index of a vertex: an int for one id, an int64 array for a sequence of ids.

        Ids that are neither all integers nor all strings are looked up as in a dictionary, where 1, 1.0 and True are
        one. Among them a tuple that is the id of a vertex is that vertex; any other is a sequence of ids. A list is
        always a sequence.

        Raises:
            GraphError: an id that is not in the graph.
        """
        self.check_unchanged()
        if self._ids.is_one(vertex):
            return self._ids.index_of(vertex)
        return self._ids.indices_of(vertex)

    def is_one(self, vertex: Any) -> bool:
        """Whether `index_of` takes this for the id of one vertex, not for a sequence of ids."""
        return self._ids.is_one(vertex)

    def looking_up(self, vertex: Any) -> Step:
        """The memory that `index_of` takes for a vertex or a sequence of them."""
        return self._ids.looking_up(vertex)

    def reading_ids(self) -> Step:
        """The memory that reading `vertices` takes if they are in a file and were not read yet."""
        return self._ids.reading()

    def ids_of(self, indices: Any) -> np.ndarray:
        """The user's ids of an array of indices. Raises GraphError for an index that is not in 0..n-1."""
        self.check_unchanged()
        found, n = as_array(indices, "the array of indices"), self.num_vertices
        if found.size == 0:
            return self._ids.of(np.empty(found.shape, np.int64))
        if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
            raise GraphError(f"ids_of got {shown(indices)}; expected indices from 0 to {n - 1}")
        return self._ids.of(found)

    @cached_property
    def sources(self) -> np.ndarray:
        """The source of each arc, int32, shape (num_arcs,), in the order of `targets`."""
        return sealed(csr.row_of_arcs(self.offsets))

    @cached_property
    def out_degree(self) -> np.ndarray:
        """The number of arcs out of each vertex, int32, shape (num_vertices,)."""
        return csr.row_lengths(self.offsets)

    @cached_property
    def in_degree(self) -> np.ndarray:
        """The number of arcs into each vertex, int32, shape (num_vertices,)."""
        if not self.directed:
            return self.out_degree
        if self.has_in_edges or self.built_on_gpu:
            return csr.row_lengths(self.in_offsets)
        return sealed(degrees_of(self.targets, self.num_vertices).view(np.int32))

    @cached_property
    def _in_edges(self) -> AnyRows:
        """The in-edges; those of an undirected graph are its rows."""
        return transposed(self._rows) if self.directed else self._rows

    @property
    def has_in_edges(self) -> bool:
        """Whether `in_sources` and the like are there already, so that reading them costs nothing."""
        in_file = isinstance(self._rows, FileRows) and self._rows.in_edges is not None
        return not self.directed or in_file or Made.IN_EDGES.value in vars(self)

    def make_in_edges(self) -> None:
        """Make the in-edges now, unless they are there already; the graph keeps them."""
        _ = self._in_edges

    def making(self, *arrays: Made) -> Step:
        """The host's memory that it takes to make these arrays one after the other, and to copy the graph from a GPU.

        Arrays that exist take nothing.
        """
        there = {*vars(self), *([Made.IN_EDGES.value] if self.has_in_edges else [])}
        missing = [array for array in arrays if array.value not in there]
        return in_turn(held(self.needed_on_host), *map(self._making, missing))

    def _making(self, array: Made) -> Step:
        """The host's memory that it takes to make an array."""
        if array is Made.IN_DEGREE and not self.directed:
            return self.making(Made.OUT_DEGREE)
        return making_array(array, self._rows, self.num_vertices, self.num_arcs, self.directed)

    @property
    def in_offsets(self) -> np.ndarray:
        """The offsets of the in-edges of each vertex (compressed sparse columns); made once, on demand."""
        return self._in_edges.offsets

    @property
    def in_sources(self) -> np.ndarray:
        """The sources of the arcs into each vertex, int32, shape (num_arcs,).

        The sources of one vertex ascend; parallel arcs are in the order of `targets`. An undirected graph gives its
        `targets`, in the order of the input.
        """
        return self._in_edges.targets

    @property
    def in_weights(self) -> np.ndarray | None:
        """The weights in the order of `in_sources`."""
        return self._in_edges.weights

    @cached_property
    def in_arcs(self) -> np.ndarray:
        """For each arc in the order of `in_sources`, its place in `targets`; shape (num_arcs,)."""
        if self.directed:
            return sealed(csr.arcs_by_target(self.offsets, self.targets))
        arcs = csr.twin_arcs(self.offsets, self.targets)
        give_back(16 * self.num_arcs)
        return sealed(arcs)

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """The slots of a message buffer: the first slot of each vertex, shape (num_vertices + 1,), and the slot of each
        arc of `targets`, shape (num_arcs,), unsigned.

        Slots are sorted by target, then by source. The in-edges themselves are not made.
        """
        n, dtype = self.num_vertices, self.offsets.dtype
        units, slots, _ = arrange(
            self.targets, n, f"u{dtype.itemsize}", arcs=False, sort=None, group_size=1, split=False
        )
        return units.begin.astype(dtype), slots

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays held now, those made on demand included; strings count as their references.

        Of a graph from `edgewise.load`, those in the file count, and those copied into memory.
        """
        attributes = self._attributes.values() if isinstance(self._attributes, dict) else ()
        made = *vars(self).values(), *vars(self).get(Made.SLOTS.value, ())
        return bytes_held([self._ids, *attributes, *self.arc_attributes.values(), *made])
