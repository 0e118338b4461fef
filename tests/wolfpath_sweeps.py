"""The single sweep of WolfPath in plain Python, and graphs on which it leaves distances too long.

References. Zhu et al. 2019: algorithm 4, by its text, for the lists; algorithm 5 for the sweep.
"""

import math
from collections import deque

Edges = list[tuple[int, int, int]]

#: Edges with lengths, from vertex 0: of two parents in a layer the second is the nearer one; the path to vertex 4 leads
#: back by a layer; the path to vertex 3 goes on in the layer of vertex 1.
GRAPHS: dict[str, Edges] = {
    "second parent": [(0, 1, 10), (0, 2, 1), (1, 3, 1), (2, 3, 1)],
    "back": [(0, 1, 1), (0, 2, 10), (1, 3, 1), (3, 2, 1), (2, 4, 1)],
    "same layer": [(0, 1, 1), (0, 2, 10), (1, 2, 1), (2, 3, 1)],
}


def paper_lists(edges: Edges, root: int) -> list[Edges]:
    """Edges to vertices that are in no layer yet, and to those in the same layer, which move on to the next one."""
    level, queue, lists = {root: 0}, deque([root]), list[Edges]()
    while queue:
        v = queue.popleft()
        depth = level[v]
        for edge in edges:
            source, target, _ = edge
            if source == v and level.get(target, depth) == depth and target != v:
                lists += [[] for _ in range(len(lists), depth + 1)]
                lists[depth].append(edge)
                level[target] = depth + 1
                queue.append(target)
    return lists


def whole_lists(edges: Edges, root: int) -> list[Edges]:
    """All edges of the vertices of each breadth-first layer."""
    layer, lists, placed = {root}, list[Edges](), {root}
    while layer:
        lists.append([edge for edge in edges if edge[0] in layer])
        layer = {target for _, target, _ in lists[-1]} - placed
        placed |= layer
    return lists


def swept(lists: list[Edges], root: int, num_vertices: int) -> list[float]:
    """Distances after a sweep over each list in turn. A sweep reads what was there before it."""
    distance = [math.inf] * num_vertices
    distance[root] = 0
    for edges in lists:
        before = distance.copy()
        for source, target, weight in edges:
            distance[target] = min(distance[target], before[source] + weight)
    return distance


def shortest(edges: Edges, root: int, num_vertices: int) -> list[float]:
    """The right distances: a sweep over all edges for each vertex."""
    return swept([edges] * num_vertices, root, num_vertices)
