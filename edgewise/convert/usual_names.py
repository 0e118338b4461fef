"""What columns of edges are usually called."""

#: Usual names of the columns of sources, of targets and of weights.
SOURCES, TARGETS = {"source", "src", "from", "u", "node1"}, {"target", "dst", "to", "v", "node2"}
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
    """The columns of sources and targets, if exactly one has a usual name of each."""
    places = [
        [place for place, name in enumerate(names) if name.lower() in usual] for usual in (SOURCES, TARGETS)
    ]
    return (places[0][0], places[1][0]) if list(map(len, places)) == [1, 1] else None
