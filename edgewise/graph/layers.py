"""A graph in layers: its rows in the order of breadth-first layers from some roots, kept with it, or in a file.

See `edgewise.layout.layers` for the order. The rows are those of a graph whose vertices are places, on which algorithms
run as on any other: in memory, on a GPU, or read from a file where they are mapped.

A file is one of `edgewise.graph.file_format`, with the vertex at each place, where layers begin, the roots, and a key
of the graph: a digest of the checksums of its offsets, targets and weights, so that of a graph in a file is known at
once. When it is read, it is not trusted more than others: checksums, ranges, that every vertex has one place and the
degree that it has in the graph, that layers are in the order of vertices, and that no arc leads beyond the next layer.
"""

import contextlib
import gc
import hashlib
import os
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import FileChangedError, ParseError
from edgewise.graph import csr
from edgewise.graph.file_map import GraphFile
from edgewise.graph.file_rows import FileRows, checked_array
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.graph.likeness import checksum_of
from edgewise.graph.moved import MovedGraph, moved_graph
from edgewise.kernels.cpu.launch import sealed
from edgewise.kernels.door import cuda_door
from edgewise.layout.layers import Kind, Kinds, Order, count_kinds, move_rows, order_of
from edgewise.memory import Step, in_turn

#: How many graphs in layers a graph keeps, of different roots.
MOST_KEPT = 4
#: Graphs in layers by the graph and the roots. They refer to the graph weakly, so they go with it.
_kept: "weakref.WeakKeyDictionary[Graph, OrderedDict[bytes, GraphInLayers]]" = weakref.WeakKeyDictionary()


class GraphInLayers(NamedTuple):
    """A graph in layers.

    Attributes:
        graph: the moved graph.
        roots: int64, ascending: the vertices of the first layer.
        kinds: what is known of its arcs.
    """

    graph: MovedGraph
    roots: np.ndarray
    kinds: Kinds

    @property
    def order(self) -> Order:
        """The order of its vertices."""
        return self.graph.order

    @property
    def is_ordered(self) -> bool:
        """Whether all arcs lead to the next layer: then one sweep over the layers is enough for any lengths."""
        return not self.kinds.counts[[Kind.SAME, Kind.BACK]].any()

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return int(
            self.graph.nbytes
            + self.order.vertices.nbytes
            + self.order.place.nbytes
            + self.kinds.repeated.nbytes
        )


def put_in_layers(graph: Graph, level: Any, roots: np.ndarray) -> GraphInLayers:
    """Make a graph in layers from the levels of a search; on the GPU if the graph was built there. O(n + m).

    Args:
        graph: the graph.
        level: int32, shape (n,), where the graph is.
        roots: int64, ascending.

    Raises:
        MemoryLimitError: the GPU has no room.
    """
    rows = graph.stored
    if graph.built_on_gpu:
        from edgewise.layout.layers_cuda import order_on_gpu, rows_and_kinds_on_gpu

        with cuda_door().room("making layers", making_on_gpu(graph)):
            order = order_on_gpu(cuda_door().cupy().asarray(level))
            moved, kinds = rows_and_kinds_on_gpu(order, rows.offsets, rows.targets, rows.weights)
    else:
        order = order_of(level)
        moved = move_rows(order, rows.offsets, rows.targets, rows.weights)
        kinds = count_kinds(order, *moved[:2])
    return GraphInLayers(moved_graph(graph, order, csr.Rows(*moved), graph.built_on_gpu), roots, kinds)


def making(graph: Graph) -> Step:
    """The host's memory that `put_in_layers` takes."""
    n, m = graph.num_vertices, graph.num_arcs
    of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    of_offset = csr.offset_dtype(m)().itemsize
    kept = (12 + of_offset) * n + of_arc * m
    return in_turn(graph.making(), Step(kept, kept + 2 * of_offset * n + n))


def reading(graph: Graph) -> int:
    """The host's memory that `load_in_layers` takes, beside pages of files."""
    return (8 + 3 * csr.offset_dtype(graph.num_arcs)().itemsize) * graph.num_vertices


def making_on_gpu(graph: Graph) -> int:
    """The GPU's memory that `put_in_layers` takes."""
    n, m = graph.num_vertices, graph.num_arcs
    of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return 64 * n + of_arc * m


def kept_in_layers(graph: Graph, roots: np.ndarray) -> GraphInLayers | None:
    """The graph in layers from these roots, if it is kept with the graph."""
    kept, key = _kept.get(graph.itself), roots.tobytes()
    found = None if kept is None else kept.get(key)
    if kept is None or found is None:
        return None
    try:
        found.graph.check_unchanged()
    except FileChangedError:  # it is in a file
        kept.pop(key, None)
        return None
    with contextlib.suppress(KeyError):  # another thread gave it up
        kept.move_to_end(key)
    return found


def may_have_layers(graph: Graph) -> bool:
    """Whether layers may be at hand: some are kept with the graph, or it has a file, beside which they could be."""
    return isinstance(graph._rows, FileRows) or graph.itself in _kept


def keep_in_layers(graph: Graph, made: GraphInLayers) -> None:
    """Keep a graph in layers with the graph."""
    kept = _kept.setdefault(graph.itself, OrderedDict())
    kept[made.roots.tobytes()] = made
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)


def forget_layers(graph: Graph, roots: np.ndarray) -> None:
    """Give up the graph in layers from these roots, if it is kept with the graph."""
    kept = _kept.get(graph.itself)
    if kept is not None:
        kept.pop(roots.tobytes(), None)


def drop_layers(graph: Graph) -> None:
    """Give up all graphs in layers that a graph keeps."""
    _kept.pop(graph.itself, None)


def give_up_when_short() -> None:
    """Have graphs in layers given up, of which a part is on a GPU, whenever its memory is short."""
    spare = cuda_door().spare
    if _drop_from_gpu not in spare:
        spare.append(_drop_from_gpu)


def _drop_from_gpu() -> None:
    for graph, kept in list(_kept.items()):
        for key, made in list(kept.items()):
            if made.graph.built_on_gpu or made.graph.residents:
                kept.pop(key, None)
        if not kept:
            _kept.pop(graph, None)
    gc.collect()  # a graph may be in a cycle


def key_of(graph: Graph) -> bytes:
    """What tells a graph from others: a digest of its sizes and of the checksums of its arrays. Those of a graph from a
    file are in its header; else all arrays are read."""
    digest = hashlib.sha256(f"{graph.num_vertices} {graph.num_arcs} {graph.directed}".encode())
    rows = graph._rows
    for name in ("offsets", "targets", "weights"):
        if isinstance(rows, FileRows):
            stored = rows.file.header.arrays.get(name)
            if stored is not None:
                digest.update(f" {name} {stored.dtype.str} {stored.sums_checksum}".encode())
            continue
        values = getattr(graph, name)
        if values is not None:
            digest.update(f" {name} {values.dtype.newbyteorder('<').str} {checksum_of(values)}".encode())
    return digest.digest()


def file_beside(graph: Graph, roots: np.ndarray) -> Path | None:
    """Where the file of a graph in layers from these roots is, beside the graph's own file; None if it has none."""
    if not isinstance(graph._rows, FileRows):
        return None
    path = graph._rows.file.path
    digest = hashlib.sha256(roots.astype("<i8").tobytes()).hexdigest()[:16]
    return path.with_name(f"{path.name}.{digest}.layers")


def save_in_layers(path: str | os.PathLike[str], graph: Graph, made: GraphInLayers) -> None:
    """Write a graph in layers to a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    moved = made.graph
    arrays = {"offsets": moved.offsets, "targets": moved.targets}
    if moved.weights is not None:
        arrays["weights"] = moved.weights
    vertices = made.order.vertices
    arrays["vertices"] = vertices if isinstance(vertices, np.ndarray) else cuda_door().host_copy(vertices)
    arrays["begins"], arrays["roots"] = made.order.begins, made.roots
    arrays["graph"] = np.frombuffer(key_of(graph), np.uint8)
    with GraphWriter(
        Path(os.fsdecode(path)),
        num_vertices=moved.num_vertices,
        num_arcs=moved.num_arcs,
        directed=moved.directed,
        num_loops=0 if moved.directed else 2 * moved.num_edges - moved.num_arcs,
        arrays={name: (values.dtype, len(values)) for name, values in arrays.items()},
        ids=Ids(moved.num_vertices),
        layered=True,
    ) as file:
        for name, values in arrays.items():
            file.write(name, 0, values)
        graph.check_unchanged()


def load_in_layers(path: str | os.PathLike[str], graph: Graph, roots: np.ndarray) -> GraphInLayers:
    """Read a graph in layers from a file; its rows are mapped into memory. Weights are not looked at: `check_weights`.

    Raises:
        ParseError: there is no such file, it is damaged, or it is that of another graph, other weights or other roots.
    """
    file = open_layers(path, graph, roots)
    order = _order_in(file, graph, roots)
    rows = FileRows(file)
    if not np.array_equal(np.diff(rows.offsets), np.diff(graph.offsets)[order.vertices]):
        raise file.damaged("its rows are not as long as those of the graph")
    kinds = count_kinds(order, rows.offsets, rows.targets)
    if kinds.counts[Kind.BEYOND] or kinds.lost:
        raise file.damaged("some of its arcs lead beyond the next layer, or no arc leads to a vertex of one")
    return GraphInLayers(moved_graph(graph, order, rows, graph.built_on_gpu), roots, kinds)


def num_layers_in(file: GraphFile) -> int:
    """How many layers a file says that it has."""
    begins = file.header.arrays.get("begins")
    return 0 if begins is None else begins.length - 2


def open_layers(path: str | os.PathLike[str], graph: Graph, roots: np.ndarray) -> GraphFile:
    """Open a file of this graph in layers from these roots; the layers themselves are not read.

    Raises:
        ParseError: as for `load_in_layers`.
    """
    file = GraphFile(path)
    header, other = (
        file.header,
        f"{file.name} has the layers of another graph, or of this one with other weights; delete it, or name another",
    )
    if not header.layered:
        raise ParseError(f"{file.name} is the file of a graph, and not of one in layers")
    weights = header.arrays.get("weights")
    said = header.num_vertices, header.num_arcs, header.directed, None if weights is None else weights.dtype
    if said != (graph.num_vertices, graph.num_arcs, graph.directed, graph.weight_dtype):
        raise ParseError(other)
    if checked_array(file, "graph").tobytes() != key_of(graph):
        raise ParseError(other)
    if not np.array_equal(checked_array(file, "roots"), roots):
        raise ParseError(f"{file.name} has layers from other roots; delete it, or name another")
    return file


def check_weights(graph: Graph, made: GraphInLayers) -> None:
    """Refuse weights of a file of layers that are not those of the graph in another order, as far as their least, their
    largest and the sum of their bits tell; once.

    Raises:
        ParseError: with the file.
    """
    moved, rows = made.graph, made.graph._rows
    if moved.has_right_weights or not isinstance(rows, FileRows) or not graph.weighted:
        return
    if _facts_of(moved.weights) != _facts_of(graph.weights):
        raise rows.file.damaged("its weights are not those of the graph")
    moved.has_right_weights = True


def _facts_of(weights: Any) -> tuple[Any, Any, int]:
    """The least and the largest weight, and the sum of the bits of all, which do not depend on their order."""
    if len(weights) == 0:
        return 0, 0, 0
    bits = weights.view(f"u{weights.itemsize}")
    return weights.min().item(), weights.max().item(), int(bits.sum(dtype=np.uint64))


def _order_in(file: GraphFile, graph: Graph, roots: np.ndarray) -> Order:
    """The order of vertices in a file, checked."""
    n = graph.num_vertices
    vertices, begins = checked_array(file, "vertices"), checked_array(file, "begins")
    rising = len(begins) >= 2 and begins[0] == 0 and begins[-1] == n and bool((np.diff(begins) >= 0).all())
    if not rising or (np.diff(begins)[:-1] == 0).any():
        raise file.damaged("its layers do not follow each other from 0 to the number of vertices")
    if n and not 0 <= vertices.min() <= vertices.max() < n:
        raise file.damaged("it has places for vertices that the graph does not have")
    place = np.full(n, -1, np.int32)
    place[vertices] = np.arange(n, dtype=np.int32)
    in_order = np.diff(vertices) > 0
    in_order[begins[(begins > 0) & (begins < n)] - 1] = True
    if (place < 0).any() or not in_order.all():
        raise file.damaged("it has not each vertex in one place, in the order of its layer")
    if not np.array_equal(vertices[: begins[1]] if len(begins) > 2 else vertices[:0], roots):
        raise file.damaged("its first layer is not that of the roots")
    return Order(sealed(vertices), sealed(place), sealed(begins))
