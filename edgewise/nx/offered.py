"""What marks a function as one of the backend's, and what its arguments may be."""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import networkx as nx

from edgewise.errors import GraphError
from edgewise.numeric import is_exact, is_integer, is_number
from edgewise_networkx import HOW

#: Says why a call with these arguments, by name, is left to NetworkX, or None.
Refusal = Callable[[dict[str, Any]], str | None]
#: Below so many edges and nodes, a call of NetworkX costs less than a conversion.
FEW = 1000
#: The largest numbers that are taken among arguments: sums and products of them stay within float64.
LARGE = 1e150
#: The first two numbers of NetworkX's version.
VERSION = tuple(map(int, nx.__version__.split(".")[:2]))
#: Since when Dijkstra's paths are listed by distance, not as they were first seen, and harmonic centralities are sums
#: in that order, not in that of a set of nodes.
SORTED_SINCE = (3, 6)
#: Where a view and the graph that it shows have the same mark, among what NetworkX keeps of each.
_MARK = "edgewise: as shown"


def offered(
    *refusals: Refusal, doubt: Refusal | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as offered under its name, with reasons not to take a call, and not to convert a graph for it. Of
    keywords that it does not name it gets those of a run, and others are a TypeError; one that makes a graph, and takes
    its attributes, gets all."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        named = inspect.signature(function).parameters
        known = {*named, *HOW} if "how" in named else {*named}

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in known and "attr" not in named:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*args, **kwargs)

        checked.__dict__.update(refusals=refusals, doubt=doubt)
        return checked

    return mark


def functions_of(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that these modules offer, by name."""
    members = (each for module in modules for each in vars(module).values())
    return {each.__name__: each for each in members if "refusals" in getattr(each, "__dict__", {})}


_signature = functools.cache(inspect.signature)


def arguments_of(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call by name; None if the call is wrong, which the call itself then says."""
    try:
        bound = _signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


def why_not(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> str | None:
    """Why a call is left to NetworkX; None if the backend takes it. A graph that was changed is forgotten before."""
    arguments = arguments_of(function, args, kwargs)
    if arguments is None:
        return None
    forget_if_changed(arguments.get("G"))
    refusals: tuple[Refusal, ...] = (*_GENERAL, *function.__dict__["refusals"])
    return next((reason for refusal in refusals if (reason := refusal(arguments))), None)


def forget_if_changed(graph: Any) -> None:
    """Drop what NetworkX keeps of a view of another graph, such as a subgraph, if that was changed by its methods.

    NetworkX drops what it keeps of the other graph, and with it the mark that the view has, too.
    """
    shown, kept = graph, getattr(graph, "__networkx_cache__", None)
    while hasattr(shown, "_graph"):
        shown = shown._graph
    if shown is graph or kept is None:
        return
    of_shown = getattr(shown, "__networkx_cache__", None)
    mark = object() if of_shown is None else of_shown.setdefault(_MARK, object())
    if kept.get(_MARK) is not mark:
        kept.clear()
        kept[_MARK] = mark


def why_rather_not(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> str | None:
    """Why a call is faster in NetworkX; None if it is not."""
    arguments = arguments_of(function, args, kwargs) or {}
    graph, doubt = arguments.get("G"), function.__dict__["doubt"]
    cache = getattr(graph, "__networkx_cache__", None) or {}
    if not isinstance(graph, nx.Graph) or cache.get("backends", {}).get("edgewise") or arguments.get("how"):
        return None  # NetworkX has no keywords of a run
    if len(graph) < FEW and len(graph) + graph.number_of_edges() < FEW:
        return f"the graph is small; a conversion pays from {FEW} nodes and edges on"
    return None if doubt is None else doubt(arguments)


def brief(arguments: dict[str, Any]) -> str | None:
    """A doubt of functions that look at each node once, or search between two nodes only."""
    if "target" in arguments and None in (arguments["source"], arguments["target"]):
        return None
    return "a conversion takes longer than the call, unless the graph was converted before"


def since(
    version: tuple[int, int], concerns: Callable[[dict[str, Any]], bool] = lambda arguments: True
) -> Refusal:
    """A refusal of calls that gave something else before this version of NetworkX.

    Args:
        concerns: which calls did, by their arguments.
    """

    def refusal(arguments: dict[str, Any]) -> str | None:
        if version <= VERSION or not concerns(arguments):
            return None
        return (
            f"edgewise answers as NetworkX {'.'.join(map(str, version))} and later; this is {nx.__version__}"
        )

    return refusal


def refuses(name: str, reason: str, *allowed: Any) -> Refusal:
    """A refusal of an argument that is none of these values, by default None."""
    values = allowed or (None,)

    def refusal(arguments: dict[str, Any]) -> str | None:
        given = arguments[name]
        taken = any(given is value or (isinstance(value, str) and given == value) for value in values)
        shown = f"a {type(given).__name__}" if isinstance(given, Mapping) else repr(given)
        return None if taken else f"{name}={shown}: {reason}"

    return refusal


def numbers_from(least: float, most: float, *names: str) -> Refusal:
    """A refusal of arguments of these names that are no numbers from `least` to `most`."""

    def refusal(arguments: dict[str, Any]) -> str | None:
        odd = [name for name in names if not in_range(arguments[name], least, most)]
        return f"{odd[0]}={arguments[odd[0]]!r}: edgewise takes {least:g} to {most:g}" if odd else None

    return refusal


def whole(*names: str) -> Refusal:
    """A refusal of arguments of these names that are no integers."""

    def refusal(arguments: dict[str, Any]) -> str | None:
        odd = [name for name in names if not is_integer(arguments[name])]
        return f"{odd[0]}={arguments[odd[0]]!r}: edgewise takes integers" if odd else None

    return refusal


def in_range(value: Any, least: float = 0.0, most: float = LARGE) -> bool:
    """Whether a value is a number in this range."""
    return is_number(value) and bool(least <= value <= most)


def numbers_of_nodes(name: str, all_nodes: bool = False) -> Refusal:
    """A refusal of an argument that is neither None nor a dict of numbers from 0 to `LARGE` by node.

    Args:
        all_nodes: whether it has to have all nodes, and nothing else.
    """

    def refusal(arguments: dict[str, Any]) -> str | None:
        given = arguments[name]
        if given is None:
            return None
        if not isinstance(given, Mapping) or not all(map(in_range, given.values())):
            return f"{name}: edgewise takes a dict of numbers from 0 to {LARGE:g}"
        if all_nodes and given.keys() != set(arguments["G"]):
            return f"{name}: edgewise takes a dict with all nodes, and nothing else"
        return None

    return refusal


def no_multigraphs(arguments: dict[str, Any]) -> str | None:
    """A refusal by functions whose answer depends on how many edges are parallel."""
    return (
        "there are parallel edges; edgewise takes graphs without here"
        if arguments["G"].is_multigraph()
        else None
    )


def no_subclasses(arguments: dict[str, Any]) -> str | None:
    """A refusal by functions that give a graph of the class of theirs."""
    kind = type(arguments["G"])
    other = issubclass(kind, nx.Graph) and kind not in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    return (
        f"the answer is a {kind.__name__}; edgewise makes graphs of NetworkX's own classes" if other else None
    )


def _callable_weight(arguments: dict[str, Any]) -> str | None:
    given = [name for name in ("weight", "distance") if callable(arguments.get(name))]
    return f"{given[0]} is a function; edgewise takes the name of an attribute" if given else None


#: What says which nodes and edges there are.
_READ = (
    "__contains__", "__getitem__", "__iter__", "__len__", "_adj", "_node", "_pred", "_succ", "adj",
    "adjacency", "degree", "edges", "get_edge_data", "has_edge", "has_node", "has_predecessor",
    "has_successor", "in_degree", "in_edges", "is_directed", "is_multigraph", "nbunch_iter", "neighbors",
    "nodes", "number_of_edges", "number_of_nodes", "order", "out_degree", "out_edges", "pred", "predecessors",
    "size", "succ", "successors",
)  # fmt: skip


@functools.cache
def _own_ways(kind: type) -> list[str]:
    """What a class of graphs says of nodes and edges in ways of its own."""
    of_nx = next(each for each in kind.__mro__ if each.__module__.startswith("networkx.classes."))
    ways = [[inspect.getattr_static(each, name, None) for each in (kind, of_nx)] for name in _READ]
    return [name for name, (own, usual) in zip(_READ, ways, strict=True) if own is not usual]


def _other_ways(arguments: dict[str, Any]) -> str | None:
    """A refusal of graphs of classes that show other nodes and edges than they store, such as a complement."""
    kind: Any = type(arguments.get("G"))
    own = _own_ways(kind) if issubclass(kind, nx.Graph) else []
    return f"{kind.__name__} has {own[0]} of its own; edgewise reads what graphs store" if own else None


def limits(*names: str) -> Refusal:
    """A refusal of arguments of these names that are neither None nor numbers which float64 holds."""

    def refusal(arguments: dict[str, Any]) -> str | None:
        given = {name: arguments.get(name) for name in names}
        odd = [name for name, value in given.items() if not (value is None or _is_float64(value))]
        return f"{odd[0]}={given[odd[0]]!r}: edgewise takes numbers that float64 holds" if odd else None

    return refusal


def _is_float64(value: Any) -> bool:
    if is_integer(value):
        return is_exact(value)
    return isinstance(value, float) and not math.isnan(value)


def _iterators(arguments: dict[str, Any]) -> str | None:
    """A refusal of what can be read only once: if the call is refused later, NetworkX has to read it. `condensation`
    reads components as NetworkX does, and is not refused later."""
    given = [name for name, value in arguments.items() if name != "scc" and isinstance(value, Iterator)]
    return f"{given[0]} is an iterator; edgewise takes a list" if given else None


def _no_nodes(arguments: dict[str, Any]) -> str | None:
    """A refusal of ends that cannot be hashed: what NetworkX says of them differs."""
    for name in ("source", "target"):
        try:
            hash(arguments.get(name))
        except TypeError as problem:
            return f"{name}: {problem}"
    return None


#: Refusals of all functions.
_GENERAL = (_other_ways, _callable_weight, limits("cutoff", "depth_limit"), _iterators, _no_nodes)


def found_by(find: Callable[..., Any], *args: Any, **given: Any) -> Any:
    """The result of an algorithm of edgewise. Raises NotImplementedError for weights that it does not take."""
    try:
        return find(*args, **given)
    except GraphError as problem:
        raise NotImplementedError(str(problem)) from None


def options(how: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a run: those of a call, and else those of ``networkx.config.backends.edgewise``."""
    configured = nx.config.backends.edgewise
    return {"device": configured.device, "memory_limit": configured.memory_limit} | how
