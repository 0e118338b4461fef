"""What columns of edges are usually called."""

import re

#: Usual names of the columns of sources, of targets and of weights.
SOURCES, TARGETS = {"source", "src", "from", "u", "node1"}, {"target", "dst", "to", "v", "node2"}
#: Others, less usual, without the marks between their words.
_LATER_SOURCES = {
    "fromnodeid", "fromnode", "fromid", "sourceid", "srcid", "sourcenode", "id1", "vertex1", "nodeid1",
}  # fmt: skip
_LATER_TARGETS = {
    "tonodeid", "tonode", "toid", "targetid", "dstid", "targetnode", "id2", "vertex2", "nodeid2",
}  # fmt: skip
WEIGHT = "weight"
_WEIGHTS = {WEIGHT, "weights", "w", "cost", "length", "distance", "dist", "capacity", "value"}
#: Names of columns that have no weights; numbers of rows often have none at all.
_OTHERS = {
    "", "unnamed:_0", "id", "edgeid", "key", "index", "row", "line", "year", "date", "timestamp", "label",
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
    return plain in _OTHERS or plain.endswith("_id")


def usual_ends(names: list[str]) -> tuple[int, int] | None:
    """The columns of sources and targets, if exactly one has a usual name of each; else one of the less usual names."""
    plain = [name.lower() for name in names]
    later = [re.sub("[-_ ]", "", name) for name in plain]
    for found, usual in ((plain, (SOURCES, TARGETS)), (later, (_LATER_SOURCES, _LATER_TARGETS))):
        source, target = ([k for k, name in enumerate(found) if name in ends] for ends in usual)
        if len(source) == len(target) == 1:
            return source[0], target[0]
    return None
