"""GraphML, read as a tree by Python's own library."""

import math
import re
import xml.etree.ElementTree as ElementTree

from reference import Expected, Refused, integer64, refuse_unless, value_of

_INTEGERS, _FLOATS = ("int", "long", "integer"), ("float", "double", "real")
_CHILDREN = {
    "graphml": {"desc", "key", "data", "graph"}, "key": {"desc", "default"}, "graph": {"desc", "data", "node", "edge"},
    "node": {"desc", "data"}, "edge": {"desc", "data"},
}  # fmt: skip
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def read_graphml(data: bytes, weighted: bool | None = None) -> Expected:
    """The one graph of a file; integers are ids if all are written as Python writes them."""
    root = _tree(data)
    names = [_plain(child) == "desc" and (child.text or "").strip() == "Ids: names" for child in root]
    keys, graph = [], None
    for child in root:
        if _plain(child) == "graph":
            refuse_unless(graph is None)
            graph = child
        elif _plain(child) == "key" and graph is None:
            keys.append(child)
    refuse_unless(graph is not None)
    default = graph.get("edgedefault")
    refuse_unless(default in ("directed", "undirected", None))
    weigh = _Weights(keys, weighted)
    nodes = [child.get("id") for child in graph if _plain(child) == "node"]
    refuse_unless(None not in nodes and len(set(nodes)) == len(nodes))
    edges, kinds = [], set()
    for child in graph:
        if _plain(child) == "edge":
            given = child.get("directed")
            refuse_unless(given is None or given in _FLAGS)
            kinds.add(_FLAGS[given] if given else default and default == "directed")
            refuse_unless(child.get("source") in nodes and child.get("target") in nodes)
            refuse_unless("sourceport" not in child.attrib and "targetport" not in child.attrib)
            edges.append((child.get("source"), child.get("target"), *weigh.of(child)))
    refuse_unless(len(kinds) <= 1 and None not in kinds and len({len(edge) for edge in edges}) <= 1)
    refuse_unless(not weighted or not edges or len(edges[0]) == 3)
    directed = kinds.pop() if kinds else default != "undirected"
    order = _order(root, graph)
    if not any(names) and all(re.fullmatch("0|-?[1-9][0-9]*|-0", node) for node in order):
        refuse_unless(all(len(node) <= 4000 for node in order))
        edges = [(int(u), int(v), *w) for u, v, *w in edges]
        return Expected(edges, directed, sorted(map(int, order)))
    return Expected(edges, directed, order)


def _order(root: ElementTree.Element, graph: ElementTree.Element) -> list[str]:
    """The ids in the order in which the file has them."""
    found = [
        [child.get("id")] if _plain(child) == "node" else [child.get("source"), child.get("target")]
        for child in graph
        if _plain(child) in ("node", "edge")
    ]
    return list(dict.fromkeys(node for some in found for node in some))


class _Weights:
    """The weights of edges: data of the keys that are called "weight"."""

    def __init__(self, keys: list[ElementTree.Element], weighted: bool | None) -> None:
        of_edges = {}
        for key in keys:
            defaults = [child.text or "" for child in key if _plain(child) == "default"]
            if key.get("for", "all") in ("edge", "all"):
                kind = key.get("attr.type", "string")
                of_edges[key.get("id", "")] = (
                    key.get("attr.name", ""),
                    kind,
                    defaults[-1] if defaults else None,
                )
        chosen = {place: key for place, key in of_edges.items() if key[0].lower() == "weight"}
        names = {name for name, kind, _ in of_edges.values() if kind in _INTEGERS + _FLOATS}
        if not chosen and weighted and len(names) == 1:
            chosen = {place: key for place, key in of_edges.items() if key[1] in _INTEGERS + _FLOATS}
        self.known = of_edges
        self.chosen = {} if weighted is False else chosen
        refuse_unless(chosen or not weighted)
        refuse_unless(all(kind in _INTEGERS + _FLOATS for _, kind, _ in self.chosen.values()))
        self.whole = all(kind in _INTEGERS for _, kind, _ in self.chosen.values())

    def of(self, edge: ElementTree.Element) -> list:
        """The weight of an edge, if it has one; other data are of keys that the file has."""
        data = [child.get("key", "") for child in edge if _plain(child) == "data"]
        refuse_unless(all(key in self.known for key in data))
        texts = [
            child.text or ""
            for child in edge
            if _plain(child) == "data" and child.get("key", "") in self.chosen
        ]
        refuse_unless(len(texts) <= 1)
        defaults = [default for *_, default in self.chosen.values() if default is not None]
        text = (texts or defaults or [None])[0]
        if text is None:
            return []
        text = text.strip()
        if self.whole:
            return [integer64(text)]
        value = value_of(text)
        refuse_unless(value is not None and math.isfinite(value) and "_" not in text and len(text) < 4000)
        return [value]


def _plain(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _tree(data: bytes) -> ElementTree.Element:
    """The elements of a file; no document type, and each in a place where it may stand."""
    refuse_unless(data and b"\0" not in data)
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        data = re.sub(
            rb"xmlns='[^']*'", lambda match: match[0].replace(b"}", b"-"), data
        )  # Python's own mark
        parser.feed(data.removeprefix(b"\xef\xbb\xbf"))
        root = parser.close()
    except (ElementTree.ParseError, LookupError, ValueError):
        raise Refused from None
    refuse_unless(_plain(root) == "graphml")
    waiting = [root]
    while waiting:
        element = waiting.pop()
        children = _CHILDREN.get(_plain(element))
        refuse_unless(" " not in element.tag)  # in the address of a namespace
        for child in element if children is not None else ():
            refuse_unless(_plain(child) in children)
            waiting.append(child)
    return root


class _Builder(ElementTree.TreeBuilder):
    """Makes the tree of a file without a document type."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise Refused
