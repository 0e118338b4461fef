"""A balance that belongs to one graph, for tests of strategies."""

import numpy as np

import edgewise as ew


def balance_for(graph, balance):
    """A balance, made for a graph if it is `replicated`."""
    return replicated(graph) if balance is replicated else balance


def name_of(balance):
    """The name of a balance, or of what makes it."""
    return getattr(balance, "__name__", str(balance))


def replicated(graph):
    """Slots of a graph in any order: each row cut at some places, and slots without arcs."""
    random = np.random.default_rng(3)
    cuts = np.sort(random.integers(0, graph.num_arcs + 1, graph.num_arcs // 3))
    begins = np.unique(np.concatenate([graph.offsets, cuts]))
    first, end = begins[:-1], begins[1:]
    vertex = np.searchsorted(graph.offsets, first, side="right") - 1
    none = np.zeros(5, first.dtype)
    found = (np.append(vertex, none - 1), np.append(first, none), np.append(end, none))
    order = random.permutation(len(found[0]))
    return ew.Replicated(graph, *(each[order] for each in found))
