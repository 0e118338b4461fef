"""Clusters: parts of a graph small enough that a block of threads keeps what their vertices have in shared memory.

Vertices are taken into cells of about `CELL` by searches from seeds, which look drawn at random, to the nearest one; of
several nearest, to the one of lowest index. Then cells are gathered into clusters one by one: next comes the cell that
has most arcs from and to the cluster, less those to cells that are in none. Vertices without arcs are in no cluster.
A graph always gets the same clusters.

Reference. Growing regions by their gain is that of Karypis and Kumar, "A Fast and High Quality Multilevel Scheme for
Partitioning Irregular Graphs", SIAM Journal on Scientific Computing 20 (1998), section 3.2.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch_on, sealed
from edgewise.kernels.cpu.team import cancelled, team_kernel

#: About how many vertices a cell has.
CELL = 96


class Clusters(NamedTuple):
    """The clusters of a graph.

    Attributes:
        order: the vertex at each place, int32, shape (n,): a cluster's lie together, those in no cluster at the end.
        place: the place of each vertex, int32, shape (n,).
        begins: the first place of each cluster, and the end of the last one, int32.
    """

    order: Any
    place: Any
    begins: Any

    @property
    def num_clusters(self) -> int:
        """How many there are."""
        return len(self.begins) - 1


def clusters_bytes(num_vertices: int, num_arcs: int) -> int:
    """The GPU's memory that making the clusters of a graph takes, and what a run by clusters needs."""
    return 128 * num_vertices + 8 * num_arcs


def joined_parts(begins: np.ndarray, num_vertices: int, most: int) -> np.ndarray:
    """Where clusters begin that are made of parts side by side, and the end of the last one, int32.

    Args:
        begins: the first vertex of each part, ascending, and the end of the last one, int64.
        num_vertices: of the graph.
        most: the most vertices of a cluster; a larger part is cut.
    """
    bounds, found = np.unique(np.concatenate([[0], begins, [num_vertices]])), [0]
    while found[-1] < num_vertices:
        end = int(bounds[np.searchsorted(bounds, found[-1] + most, side="right") - 1])
        found.append(end if end > found[-1] else min(found[-1] + most, num_vertices))
    return np.array(found, np.int32)


class Cells(NamedTuple):
    """Cells, and which are neighbours.

    Attributes:
        size: how many vertices each has, int64, shape (c,).
        first: the links of cell i are first[i] to first[i + 1] - 1, int64, shape (c + 1,).
        neighbour, arcs: the other cell of a link, and how many arcs join the two, int32.
    """

    size: np.ndarray
    first: np.ndarray
    neighbour: np.ndarray
    arcs: np.ndarray


class _Gathering(NamedTuple):
    """What gathering cells works with.

    Attributes:
        cells: the cells.
        gathered: whether a cell is in a cluster.
        inside, free: by how many arcs a cell is joined to the cluster that grows, and to cells in none.
        waiting: cells next to a cluster, in the order in which they were found.
        found: whether a cell was ever put there.
        near: cells next to the cluster that grows.
        order, begins: results.
    """

    cells: Cells
    gathered: np.ndarray
    inside: np.ndarray
    free: np.ndarray
    waiting: np.ndarray
    found: np.ndarray
    near: np.ndarray
    order: np.ndarray
    begins: np.ndarray


def gather_cells(cells: Cells, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Gather cells into clusters.

    Args:
        cells: the cells.
        most: the most vertices of a cluster; a cell with more is cut.

    Returns:
        The cells in their order, int32; where clusters begin, as numbers of vertices, and the end of the last one.
    """
    num_cells, total = len(cells.size), int(cells.size.sum())
    free = np.add.reduceat(np.append(cells.arcs, 0), cells.first[:-1]) if num_cells else np.zeros(0, np.int64)
    free = np.where(np.diff(cells.first) > 0, free, 0).astype(np.int64)
    it = _Gathering(
        cells=Cells(*map(sealed, cells)),
        gathered=np.zeros(num_cells, np.bool_),
        inside=np.zeros(num_cells, np.int64),
        free=free,
        waiting=np.empty(num_cells, np.int32),
        found=np.zeros(num_cells, np.bool_),
        near=np.empty(num_cells, np.int32),
        order=np.empty(num_cells, np.int32),
        begins=np.zeros(num_cells + total // most + 2, np.int32),
    )
    count = np.zeros(1, np.int64)
    launch_on(1, _gather, it, most, count, long=True)
    return it.order, it.begins[: count[0] + 1]


@device_function
def _take(cell: Any, near: Any, found: Any, it: Any) -> tuple[Any, Any]:
    """Put a cell into the cluster that grows; how many cells are near that now, and how many were ever found."""
    it.gathered[cell] = True
    for link in range(it.cells.first[cell], it.cells.first[cell + 1]):
        other, arcs = it.cells.neighbour[link], it.cells.arcs[link]
        it.free[other] -= arcs
        if not it.gathered[other]:
            if it.inside[other] == 0:
                it.near[near] = other
                near += 1
            it.inside[other] += arcs
            if not it.found[other]:
                it.found[other] = True
                it.waiting[found] = other
                found += 1
    return near, found


@device_function
def _best(near: Any, room: Any, it: Any) -> tuple[Any, Any]:
    """The near cell with the largest gain for which there is room, or -1, and how many are near still."""
    best, gain, kept = -1, 0, 0
    for i in range(near):
        cell = it.near[i]
        if it.gathered[cell]:
            continue
        it.near[kept] = cell
        kept += 1
        mine = it.inside[cell] - it.free[cell]
        if it.cells.size[cell] <= room and (best < 0 or mine > gain):
            best, gain = cell, mine
    return best, kept


@device_function
def _close(end: Any, clusters: Any, it: Any) -> Any:
    """End a cluster, unless it is empty; how many clusters there are."""
    if end > it.begins[clusters]:
        clusters += 1
        it.begins[clusters] = end
    return clusters


@team_kernel
def _gather(thread: Any, size: Any, control: Any, it: _Gathering, most: Any, count: Any) -> None:
    """See `gather_cells`. One thread."""
    num_cells, end, clusters = len(it.cells.size), 0, 0
    found, looked, scanned, near = 0, 0, 0, 0
    for i in range(num_cells):
        cell, near = _best(near, most - (end - it.begins[clusters]), it)
        if cell < 0:
            while looked < found and it.gathered[it.waiting[looked]]:
                looked += 1
            while scanned < num_cells and it.gathered[scanned]:
                scanned += 1
            cell = it.waiting[looked] if looked < found else scanned
            filled = end - it.begins[clusters]
            if filled + it.cells.size[cell] > most or 2 * filled >= most:
                clusters = _close(end, clusters, it)
                for j in range(near):
                    it.inside[it.near[j]] = 0
                near = 0
        it.order[i] = cell
        end += it.cells.size[cell]
        near, found = _take(cell, near, found, it)
        while end - it.begins[clusters] > most:
            clusters += 1
            it.begins[clusters] = it.begins[clusters - 1] + most
        if cancelled(control):
            return
    count[0] = _close(end, clusters, it)
