"""What columns of edges are usually called."""

import re

#: Usual names of the columns of sources, of targets and of weights.
SOURCES, TARGETS = {"source", "src", "from", "u", "node1"}, {"target", "dst", "to", "v", "node2"}
#: Others, less usual, without the marks between their words.
_LATER_SOURCES = {
    "fromnodeid", "fromnode", "fromid", "sourceid", "srcid", "sourcenode", "id1", "vertex1", "nodeid1",
    "origin", "caller", "sender",
}  # fmt: skip
_LATER_TARGETS = {
    "tonodeid", "tonode", "toid", "targetid", "dstid", "targetnode", "id2", "vertex2", "nodeid2",
    "dest", "destid", "destination", "callee", "receiver",
}  # fmt: skip
WEIGHT = "weight"
_WEIGHTS = {WEIGHT, "weights", "w", "cost", "length", "distance", "dist", "capacity", "value"}
#: What R and pandas call the numbers of rows that they write beside a table.
_ROW_NUMBERS = re.compile(r"|unnamed: \d+|__index_level_\d+__")
#: Names of columns that have no weights.
_OTHERS = {
    "id", "edgeid", "key", "index", "row", "line", "year", "date", "timestamp", "label",
    "type", "kind", "category", "name", "comment", "note",
}  # fmt: skip


def is_weight(name: str) -> bool:
    """Whether a column of this name has the weights, wherever it stands."""
    return name.lower() == WEIGHT


def is_usual_weight(name: str) -> bool:
    """Whether a column of this name is likely to have weights."""
    return name.lower() in _WEIGHTS


def is_no_weight(name: str) -> bool:
    """Whether a column of this name has no weights, though it may have numbers."""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    return plain in _OTHERS or plain.endswith("_id") or has_row_numbers(name)


def has_row_numbers(name: str) -> bool:
    """Whether a column of this name has the numbers of rows, or their labels."""
    return _ROW_NUMBERS.fullmatch(name.strip().lower()) is not None


def is_end(name: str) -> bool:
    """Whether a column of this name is likely to have sources, or targets."""
    return _is_one_of(name, SOURCES | TARGETS | _LATER_SOURCES | _LATER_TARGETS)


def may_be_ends(source: str, target: str) -> bool:
    """Whether two columns may be sources and targets, in this order: neither has a usual name of the other."""
    return not (_is_one_of(source, TARGETS | _LATER_TARGETS) or _is_one_of(target, SOURCES | _LATER_SOURCES))


def _is_one_of(name: str, usual: set[str]) -> bool:
    return not {name.lower(), _joined(name.lower())}.isdisjoint(usual)


def usual_ends(names: list[str]) -> tuple[int, int] | None:
    """The columns of sources and targets, if exactly one has a usual name of each; else one of the less usual names;
    else one of either."""
    plain = [name.lower() for name in names]
    later = list(map(_joined, plain))
    either = SOURCES | _LATER_SOURCES, TARGETS | _LATER_TARGETS
    for found, usual in (
        (plain, (SOURCES, TARGETS)),
        (later, (_LATER_SOURCES, _LATER_TARGETS)),
        (later, either),
    ):
        source, target = ([k for k, name in enumerate(found) if name in ends] for ends in usual)
        if len(source) == len(target) == 1:
            return source[0], target[0]
    return None


def _joined(name: str) -> str:
    """A name without the marks between its words."""
    return re.sub("[-_ ]", "", name)
