"""Betweenness centrality of nodes and edges."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from networkx.utils import create_py_random_state

import edgewise as ew
from edgewise.nx.columns import groups
from edgewise.nx.cpu_sums import add_dependencies
from edgewise.nx.graph import BackendGraph
from edgewise.nx.lengths import dijkstra, lengths_of
from edgewise.nx.offered import found_by, offered, options, since
from edgewise.nx.search import alone, breadth_first


def _some_sources(arguments: dict[str, Any]) -> str | None:
    return "k=0: edgewise takes at least one source" if arguments["k"] == 0 else None


def _is_sampled(arguments: dict[str, Any]) -> bool:
    return arguments["k"] is not None


def _for_lengths(G: BackendGraph, weight: Any) -> ew.Graph:
    """The graph with its lengths. Raises NotImplementedError for lengths of 0 or less."""
    if weight is None:
        return G.plain
    if lengths_of(G, weight).values.min(initial=1) <= 0:
        raise NotImplementedError(
            f"there are values of {weight!r} that are 0; edgewise expects positive ones"
        )
    return G.weighted(weight)


def _from_some(
    find: Callable[..., Any], G: BackendGraph, k: int | None, weight: Any, seed: Any, given: dict[str, Any]
) -> tuple[list[int] | None, Any]:
    """The sources that NetworkX would draw, None for all, and what is found from them.

    If that is refused, the random numbers are as they were, so that NetworkX draws the same sources.
    """
    graph, given = _for_lengths(G, weight), given | {"weighted": weight is not None}
    if k is None:
        return None, found_by(find, graph, **given)
    state = create_py_random_state(seed)
    rewind = _rewinding(state)
    sources = [G.index(node, KeyError(node)) for node in state.sample(G.nodes, k)]
    try:
        return sources, found_by(find, graph, sources=sources, **given)
    except NotImplementedError:
        rewind()
        raise


def _rewinding(state: Any) -> Callable[[], None]:
    """What brings a random state of NetworkX back to where it is now."""
    numbers = getattr(state, "_rng", state)
    if isinstance(numbers, np.random.Generator):
        bits = numbers.bit_generator
        return partial(setattr, bits, "state", bits.state)
    if isinstance(numbers, np.random.RandomState):
        return partial(numbers.set_state, numbers.get_state())
    return partial(numbers.setstate, numbers.getstate())


def _scale(G: BackendGraph, used: int | None, normalized: bool, ends: bool) -> float:
    """The factor of sums that count the ends of paths, or are those of all sources.

    Args:
        used: the number of sources, or None for all.
        ends: whether the ends of paths count, as they do for edges.
    """
    pairs_of = len(G) if ends else len(G) - 1
    if pairs_of < 2:
        return 1.0
    sources = pairs_of if used is None else used
    return (
        1 / (sources * (pairs_of - 1)) if normalized else pairs_of / (sources * (1 if G.is_directed() else 2))
    )


@offered(_some_sources, since((3, 5), _is_sampled))
def betweenness_centrality(
    G: BackendGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
    **how: Any,
) -> dict[Any, float]:
    given = {"endpoints": endpoints, **options(how)}
    sources, found = _from_some(ew.betweenness, G, None if k == len(G) else k, weight, seed, given)
    if sources is None or endpoints:
        used = None if sources is None else len(sources)
        return G.by_node(found.dependency * _scale(G, used, normalized, endpoints))
    return G.by_node(found.dependency * _sample_scales(G, sources, normalized))


def _sample_scales(G: BackendGraph, sources: list[int], normalized: bool) -> Any:
    """The factor of each vertex: of those that are sources themselves, one source less counts."""
    if len(G) < 3:
        return 1.0
    scales = np.full(len(G), _scale(G, len(sources), normalized, ends=False))
    scales[sources] = _scale(G, len(sources) - 1, normalized, ends=False) if len(sources) > 1 else np.nan
    return scales


@offered(_some_sources, since((3, 6), _is_sampled))
def edge_betweenness_centrality(
    G: BackendGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    seed: Any = None,
    **how: Any,
) -> dict[tuple[Any, ...], float]:
    _, found = _from_some(ew.edge_betweenness, G, k, weight, seed, options(how))
    sums = found.dependency if G.is_directed() else found.dependency + found.dependency[G.in_arcs]
    return _by_edge(G, weight, sums[G.edge_arcs] * _scale(G, k, normalized, ends=True))


def _by_edge(G: BackendGraph, weight: Any, values: np.ndarray) -> dict[tuple[Any, ...], float]:
    """Values of `G.edge_arcs` by edge, in NetworkX's order. The shortest of parallel edges share the value."""
    arcs, keys = G.edge_arcs, []
    if G.parallel is not None:
        counts, lengths = G.parallel.counts, G.column_of_all(weight).values
        bundle = groups(counts)
        is_shortest = lengths == lengths[G.column_of_all(weight).least(counts)][bundle]
        shares = values / np.bincount(bundle[is_shortest], minlength=len(counts))
        arcs, keys, values = arcs[bundle], [G.parallel.keys], np.where(is_shortest, shares[bundle], 0.0)
    edges = zip(G.names(G.sources[arcs]), G.names(G.rows.targets[arcs]), *keys, strict=True)
    return dict(zip(edges, values.tolist(), strict=True))


@offered()
def betweenness_centrality_subset(
    G: BackendGraph,
    sources: Any,
    targets: Any,
    normalized: bool = False,
    weight: Any = None,
    **how: Any,
) -> dict[Any, float]:
    graph, given = _for_lengths(G, weight), options(how) | {"weighted": weight is not None}
    times = Counter(G.index(node, KeyError(node)) for node in sources)
    wanted = set(targets) if times else ()  # which NetworkX reads for the first source
    given["targets"] = [G.index(node, KeyError(node)) for node in wanted if node in G]
    sums = np.zeros(len(G))
    for count in sorted({*times.values()}) if given["targets"] else ():
        alike = [vertex for vertex, each in times.items() if each == count]
        sums += count * found_by(ew.betweenness, graph, sources=alike, **given).dependency
    return G.by_node(sums * _scale(G, None, normalized, ends=False))


@offered()
def edge_betweenness_centrality_subset(
    G: BackendGraph, sources: Any, targets: Any, normalized: bool = False, weight: Any = None
) -> dict[tuple[Any, ...], float]:
    sums = _dependencies(G, sources, targets, weight)
    return _by_edge(G, weight, sums * _scale(G, None, normalized, ends=True))


def _dependencies(G: BackendGraph, sources: Any, targets: Any, weight: Any) -> np.ndarray:
    """The dependencies on edges of shortest paths to some targets, shared as NetworkX does it, and summed over sources:
    float64, by the numbers of edges."""
    _for_lengths(G, weight)
    n, into = len(G), G.in_rows
    roots = [G.index(source, KeyError(source)) for source in sources]
    wanted = set(targets) if roots else set()  # which NetworkX reads for the first source
    lengths, edges = G.column(weight).values[G.in_arcs], G.edge_numbers[G.in_arcs]
    on_edges, is_target = np.zeros(len(G.edge_arcs)), np.fromiter(map(wanted.__contains__, G), np.uint8, n)
    for root in roots:
        if weight is None:
            levels = breadth_first(G.rows, [root])
            order, values = levels.order, levels.level
        else:
            paths = dijkstra(G, [root], weight)
            order, values = paths.order, paths.summed.values
        distance = np.full(n, -1, lengths.dtype)
        distance[order] = values
        before = distance[into.targets]
        if lengths.dtype == np.float64 and ((before + lengths == before) & (before >= 0)).any():
            raise NotImplementedError(f"values of {weight!r} are lost beside sums of others")
        state = distance, is_target, np.zeros(n), np.zeros(n), on_edges
        alone(add_dependencies, into, lengths, edges, order, *state)
    return on_edges
