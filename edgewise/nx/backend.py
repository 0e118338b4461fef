"""The entry point ``networkx.backends``: NetworkX asks this module for its functions by their names."""

from collections.abc import Callable
from typing import Any

from edgewise.nx import (
    betweenness,
    centrality,
    components,
    cores,
    dag,
    distances,
    generic,
    neighbourhoods,
    ranks,
    spanning,
    tables,
    traversal,
    unweighted,
    walks,
    weighted,
)
from edgewise.nx.convert import convert_from_nx as convert_from_nx
from edgewise.nx.convert import convert_to_nx as convert_to_nx
from edgewise.nx.offered import functions_of, why_not, why_rather_not

#: The functions that are offered, by the names of NetworkX's dispatch.
FUNCTIONS = functions_of(
    betweenness,
    centrality,
    components,
    cores,
    dag,
    distances,
    generic,
    neighbourhoods,
    ranks,
    spanning,
    tables,
    traversal,
    unweighted,
    walks,
    weighted,
)


def __getattr__(name: str) -> Callable[..., Any]:
    """A function that is offered."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(
        f"edgewise offers no function {name!r} for NetworkX; docs/networkx.md lists those it has"
    )


def can_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Whether a call is taken: True, or the reason why not. Before each call, NetworkX asks this first."""
    return why_not(FUNCTIONS[name], args, kwargs) or True


def should_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Whether a call is worth converting its graph: True, or the reason why not."""
    return why_rather_not(FUNCTIONS[name], args, kwargs) or True
