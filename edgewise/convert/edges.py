"""Columns of edges that were found elsewhere, and which columns of a table they are."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from edgewise.convert.usual_names import WEIGHT, is_usual_weight, is_weight, usual_ends
from edgewise.errors import GraphError, GraphWarning, MissingDependencyError, warn
from edgewise.text import listed, printable, shown


class Edges(NamedTuple):
    """Edges as columns, each with an entry for each edge.

    Attributes:
        source, target: ids, or indices.
        weight: numbers, or None.
        attributes: more columns of numbers, by name.
    """

    source: Any
    target: Any
    weight: Any
    attributes: dict[str, Any]


class Chosen(NamedTuple):
    """The names of the columns of a table that hold edges; `weight` is None if there are no weights."""

    source: Any
    target: Any
    weight: Any
    attributes: list[Any]


def choose_columns(
    where: str, names: list[Any], source: Any, target: Any, weight: Any, attributes: Any
) -> Chosen:
    """The columns of a table that hold edges.

    Args:
        where: for messages.
        names: of all columns.
        source, target: names, or None for the only columns of usual names.
        weight: a name; None for no weights. "weight" need not be there.
        attributes: names, True for all other columns, or None.

    Raises:
        GraphError: columns that are not there, that are there twice, or that have two parts.
    """
    texts = list(map(str, names))
    if source is None or target is None:
        ends = usual_ends(texts)
        if ends is None:
            have = f"the columns are {listed(texts)}" if texts else "the table has no columns"
            raise GraphError(
                f"{where}: {have}; expected one of a usual name for sources (source, src, "
                "from, ...) and one for targets (target, dst, to, ...). Name them: source=..., target=..."
            )
        source = names[ends[0]] if source is None else source
        target = names[ends[1]] if target is None else target
    if weight is not None and weight not in names and isinstance(weight, str) and weight == WEIGHT:
        weight = next((name for name, text in zip(names, texts, strict=True) if is_weight(text)), None)
    taken = [source, target, *([] if weight is None else [weight])]
    if attributes is True:
        attributes = [name for name in names if name not in taken]
    chosen = Chosen(source, target, weight, names_of(where, attributes))
    every = [*taken, *chosen.attributes]
    for name in every:
        if names.count(name) != 1:
            problem = "there is no column" if name not in names else "there are several columns"
            raise GraphError(f"{where}: {problem} {shown(name)}; the columns are {listed(texts)}")
        if every.count(name) != 1:
            raise GraphError(
                f"{where}: the column {shown(name)} is to be two things at once; expected one for each of source, "
                "target, weight and edge attributes"
            )
    return chosen


def warn_of_weights(where: str, left_out: Iterable[Any], are_numbers: Callable[[Any], bool]) -> None:
    """Warn if numbers of a usual name of weights were left out, since none are called "weight".

    Args:
        where: for messages.
        left_out: names.
        are_numbers: whether what has a name is numbers.
    """
    usual = [name for name in left_out if is_usual_weight(str(name)) and are_numbers(name)]
    if usual:
        warn(
            printable(
                f"{where}: nothing is called {WEIGHT!r}, so the graph has no weights; the numbers in "
                f"{listed(map(shown, usual))} were left out. weight={shown(usual[0])} takes them as weights, and "
                "weight=None says that there are none"
            ),
            GraphWarning,
        )


def names_of(where: str, attributes: Any) -> list[Any]:
    """The names of attributes that a caller gives. Raises GraphError."""
    if attributes is None or attributes is False:
        return []
    if isinstance(attributes, str | bytes | Mapping) or not isinstance(attributes, Iterable):
        raise GraphError(
            f"{where}: edge_attributes is {shown(attributes)}; expected a list of names, or True for all"
        )
    return list(attributes)


def refuse_missing(where: str, name: Any, row: int) -> NoReturn:
    """Refuse a column with a missing value. Raises GraphError."""
    raise GraphError(
        f"{where}: row {row:,} of the column {shown(name)} has no value; expected one in each row. Drop such rows "
        "first, or fill them"
    )


def refuse_time_zone(where: str, name: Any, zone: str | None) -> None:
    """Refuse a column of times with a zone, which NumPy's times do not have. Raises GraphError."""
    if zone is not None:
        raise GraphError(
            f"{where}: the column {shown(name)} has times of the zone {shown(zone)}, which would be lost; convert it "
            "to text, or to times without a zone"
        )


def missing(package: str) -> MissingDependencyError:
    """The error for a package that is not installed."""
    return MissingDependencyError(f"this needs {package}; run: pip install {package}")
