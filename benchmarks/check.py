"""Whether an answer is right, given one of ours that its own verifier has accepted."""

import numpy as np

from benchmarks.contenders import Edges, Job


def disagreement(edges: Edges, job: Job, answer: np.ndarray | int, ours: np.ndarray | int) -> str:
    """What is wrong with an answer, in words; empty where nothing is.

    Args:
        edges: the graph.
        job: says what the answer holds, and its tolerance.
        answer: what is checked.
        ours: levels, distances, ranks, labels, a total or dependencies from edgewise; not used for "arcs".
    """
    if job.form == "arcs":
        expected = (len(edges.source), len(edges.arcs()[0]))  # an undirected edge counts once or twice
        return "" if answer in expected else f"{answer} arcs; expected one of {expected}"
    if job.form == "total":
        same = bool(np.isclose(answer, ours, rtol=job.tolerance, atol=0))
        return "" if same else f"the total weight is {answer}, ours is {ours}"
    answer, ours = np.asarray(answer), np.asarray(ours)
    if job.form == "parent":
        return _wrong_parent(edges, answer, ours)
    if job.form == "rank":
        difference = float(np.abs(answer - ours).sum())
        return "" if difference <= job.tolerance else f"ranks differ by {difference:.3g} in sum"
    if job.form == "component":
        answer, ours = first_members(answer), first_members(ours)
    same = answer == ours
    if job.form in ("distance", "dependency"):
        same |= np.isclose(answer, ours, rtol=job.tolerance, atol=0)
    if same.all():
        return ""
    vertex = int(np.argmin(same))
    return f"{job.form} of vertex {vertex} is {answer[vertex]}, ours is {ours[vertex]}"


def first_members(label: np.ndarray) -> np.ndarray:
    """Each vertex with the smallest vertex of its component: the same for all labellings of a partition."""
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return first[group]


def _wrong_parent(edges: Edges, parent: np.ndarray, level: np.ndarray) -> str:
    """Check a search tree: it reaches what has a level, along arcs, one level at a time."""
    reached = parent >= 0
    reached[edges.start] = True
    wrong = np.flatnonzero(reached != (level >= 0))
    if len(wrong):
        return f"vertex {wrong[0]} is reached on one side only"
    child = np.flatnonzero(parent >= 0)
    child = child[child != edges.start]
    wrong = child[level[child] != level[parent[child]] + 1]
    if len(wrong):
        return f"vertex {wrong[0]} is not one level below its parent {parent[wrong[0]]}"
    source, target, _ = edges.arcs()
    n = edges.num_vertices
    known = np.isin(parent[child].astype(np.int64) * n + child, source.astype(np.int64) * n + target)
    return "" if known.all() else f"vertex {child[~known][0]} has a parent without an arc to it"
