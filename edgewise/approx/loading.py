"""Approximate graphs from files: what a file says has to be what its technique, with its knobs, makes of the graph."""

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.approx.clusters import cluster_knobs
from edgewise.approx.coalesce import chunk_knobs, edges_enough
from edgewise.approx.copies import Copies
from edgewise.approx.degree import degree_knobs, edges_wanted
from edgewise.approx.near import keys_of_arcs
from edgewise.approx.replicas import Pairs, edges_of_replicas, rows_both_ways
from edgewise.approx.saved import ARRAYS, damaged, load_arrays
from edgewise.approx.transformed import Added, Approximate, part_of
from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.text import listed, shown

#: What checks the knobs of each technique.
_TECHNIQUES: dict[str, Callable[..., dict[str, Any]]] = {
    "normalize_degrees": degree_knobs,
    "form_clusters": cluster_knobs,
    "coalesce": chunk_knobs,
}


def load(path: str | os.PathLike[str]) -> Approximate:
    """Read what `Approximate.save` has written. The graph that was given stays in its file, see `edgewise.load`.

    All that is read is checked, so that what stays exact does; but not that the order of vertices is the technique's,
    and that added edges are no longer than its paths. O(n + m), and the in-edges of the ends of added edges.

    Args:
        path: of the folder.

    Raises:
        ParseError: there are no such files, or they are damaged, of a newer version, or not of one graph; or no
            technique makes such a graph with these knobs.
    """
    graph, told, arrays = load_arrays(path)
    added = Added(arrays["sources"], arrays["targets"], arrays.get("weights"))
    chunk = told.pop("chunk")
    copies = None if chunk is None else Copies(chunk, arrays["vertex"], arrays["to"])
    made = Approximate(graph, arrays["order"], added, **told, clusters=arrays.get("clusters"), copies=copies)
    problem = _problem(made)
    if problem is not None:
        raise damaged(Path(os.fsdecode(path)) / ARRAYS, problem)
    return made


def _problem(made: Approximate) -> str | None:
    """Why no technique makes this, or None."""
    technique, knobs = made.technique, made.knobs
    if technique not in _TECHNIQUES:
        return f"its technique is {shown(technique)}; expected one of {listed(_TECHNIQUES)}"
    check = _TECHNIQUES[technique]
    names = inspect.signature(check).parameters
    if knobs.keys() != names.keys():
        return f"its knobs are {shown(knobs)}; those of {technique} are {listed(names)}"
    try:
        check(**knobs)
    except ParameterError as error:
        return f"of its knobs, {error}"
    for part, is_there, maker in (
        ("clusters", made.clusters is not None, "form_clusters"),
        ("slots", made.copies is not None, "coalesce"),
    ):
        if is_there != (technique == maker):
            return f"it has {part if is_there else f'no {part}'}, and is of {technique}"
    problem = _problem_of_edges(made)
    if problem is None and technique == "normalize_degrees":
        return _problem_of_degrees(made)
    if problem is None and made.clusters is not None:
        return _problem_of_clusters(made, made.clusters)
    if problem is None and made.copies is not None:
        return _problem_of_copies(made, made.copies)
    return problem


def _problem_of_edges(made: Approximate) -> str | None:
    """What is wrong with added edges, whichever technique they are of, or None."""
    graph, added = made.original, made.added
    budget = made.knobs["budget"]
    most = int(part_of(budget, graph.num_edges))
    if made.num_added > most:
        return (
            f"it adds {made.num_added:,} edges; a budget of {budget} of {graph.num_edges:,} allows {most:,}"
        )
    if made.num_added == 0:
        return None
    # Clusters have no edge where there is one the other way.
    both_ways = not graph.directed or made.technique == "form_clusters"

    def keys(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if both_ways:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        return keys_of_arcs(sources, targets)

    new = np.sort(keys(added.sources, added.targets))
    if (new[1:] == new[:-1]).any():
        return "it adds an edge twice"
    touched = np.zeros(graph.num_vertices, np.bool_)
    touched[added.sources] = touched[added.targets] = True
    _, found = _among(keys(*_arcs(graph, touched, touched)), new)
    if found.any():
        return "it adds an edge that the graph has"
    return _problem_of_paths(made)


def _problem_of_paths(made: Approximate) -> str | None:
    """What is wrong with added edges, none of which the graph has, by the paths between their ends, or None.

    With shorter ones shortest paths would not stay exact.
    """
    graph, added = made.original, made.added
    vertices = np.arange(graph.num_vertices + 1, dtype=np.int64)
    pairs = Pairs(added.sources, added.targets, np.zeros(made.num_added, np.int32))
    # A chunk for each vertex: what is found are the shortest paths of two edges to the targets themselves.
    rows = functools.partial(rows_both_ways, graph)
    found = edges_of_replicas(graph, vertices[:-1].astype(np.int32), vertices, pairs, made.num_added, rows)
    if len(found.sources) < made.num_added:
        return "it adds an edge between vertices that are not two steps apart"
    if added.weights is None or found.weights is None:
        return None
    differ = added.weights != found.weights if made.technique == "coalesce" else added.weights < found.weights
    return "it adds an edge that is not as long as a path between its ends" if differ.any() else None


def _problem_of_degrees(made: Approximate) -> str | None:
    """What is wrong with the degrees of vertices that got edges, or None."""
    knobs, order = made.knobs, made.order
    degree = made.original.out_degree[order].astype(np.int64)
    wanted = edges_wanted(degree, knobs["threshold"], knobs["fill"], knobs["warp"])
    if (np.bincount(made.added.sources, minlength=len(order))[order] > wanted).any():
        return "it adds edges to a vertex that should get fewer, by its degree and those beside it"
    return None


def _problem_of_clusters(made: Approximate, clusters: np.ndarray) -> str | None:
    """What is wrong with clusters, or None."""
    size, count = made.knobs["size"], len(clusters) - 1
    if made.knobs["threshold"] > 1 and (count or made.num_added):
        return "it has clusters or edges, and with a threshold above 1 there are none"
    sizes = np.diff(clusters)
    if sizes.max(initial=0) > size:
        return f"it has a cluster of {sizes.max():,} vertices; expected at most its size, {size:,}"
    graph, inside = made.original, made.order[: clusters[-1]]
    of_vertex = np.full(graph.num_vertices, -1, np.int32)
    of_vertex[inside] = np.repeat(np.arange(count, dtype=np.int32), sizes)
    is_centre, is_near = np.zeros((2, graph.num_vertices), np.bool_)
    is_centre[inside[clusters[:-1]]] = True
    is_clustered = of_vertex >= 0
    sources, targets = _arcs(graph, is_clustered, is_clustered)
    same = of_vertex[sources] == of_vertex[targets]
    is_near[targets[same & is_centre[sources]]] = True
    is_near[sources[same & is_centre[targets]]] = True
    if not (is_near | is_centre)[inside].all():
        return "a vertex of a cluster is no neighbour of its first"
    return None


def _problem_of_copies(made: Approximate, copies: Copies) -> str | None:
    """What is wrong with slots, or None."""
    graph, knobs, order = made.original, made.knobs, made.order
    if copies.chunk != knobs["chunk"]:
        return f"it has chunks of {copies.chunk:,} slots; its knob says {knobs['chunk']:,}"
    room, own = copies.chunk - knobs["extra"], np.flatnonzero((copies.vertex >= 0) & (copies.to < 0))
    sizes = np.bincount(own // copies.chunk, minlength=len(copies.vertex) // copies.chunk)
    if len(sizes) and not 1 <= sizes.min() <= sizes.max() <= room:
        return f"a chunk has {sizes.min():,} or {sizes.max():,} vertices; expected from 1 to {room:,}"
    if made.knobs["threshold"] > 1 and copies.num_replicas:
        return "it has replicas, and with a threshold above 1 there are none"
    chunk_of = np.empty(len(order), np.int64)
    chunk_of[order] = own // copies.chunk
    replicas = np.flatnonzero(copies.to >= 0)
    pairs = np.sort(keys_of_arcs(order[copies.vertex[replicas]], copies.to[replicas]))
    is_copied = np.zeros(len(order), np.bool_)
    is_copied[pairs >> 32] = True
    sources, targets = _arcs(graph, is_copied, np.ones(len(order), np.bool_))
    place, found = _among(keys_of_arcs(sources, chunk_of[targets]), pairs)
    edges = np.bincount(place[found], minlength=len(pairs))
    if (edges < edges_enough(knobs["threshold"], sizes[pairs & 0xFFFFFFFF])).any():
        return "a replica leads to a chunk to which its vertex has too few edges"
    added = made.added
    if not _among(keys_of_arcs(added.sources, chunk_of[added.targets]), pairs)[1].all():
        return "it adds an edge from a vertex to a chunk for which it has no replica"
    return None


def _arcs(graph: Graph, is_source: np.ndarray, is_target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sources and targets of the arcs from some vertices to some others, in the order of the graph."""
    offsets, targets = graph.offsets, graph.targets
    arcs = np.flatnonzero(np.repeat(is_source, np.diff(offsets)) & is_target[targets])
    sources = np.searchsorted(offsets, arcs.astype(offsets.dtype), "right") - 1
    return sources, targets[arcs]


def _among(values: np.ndarray, ascending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where values are among ascending ones, and which of them are there."""
    place = np.searchsorted(ascending, values)
    found = place < len(ascending)
    found[found] = ascending[place[found]] == values[found]
    return place, found
