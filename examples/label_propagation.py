"""Communities by label propagation, as a program. Raghavan, Albert and Kumara (2007), in rounds.

Every vertex takes the label that most of its neighbours have. No combiner of two messages can find the most frequent
of all, so the program is given all messages, and sorts them where they lie.
"""

import edgewise as ew


class LabelPropagation(ew.Program):
    """The most frequent label of the vertices with an edge to it, the smallest of several; at first its own index.

    In rounds, two sides of a bipartite graph may swap labels for ever: `rounds` ends that.
    """

    rounds = ew.parameter("int64", default=20)
    label = ew.vertex(ew.VERTEX)
    combine = ew.MESSAGES

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.label[edge.source]

    @staticmethod
    def vertex_compute(v, messages, state):
        sort(messages)
        best, most, start = state.label[v], 0, 0
        for i in range(len(messages)):
            if messages[i] != messages[start]:
                start = i
            if i + 1 - start > most:
                best, most = messages[i], i + 1 - start
        state.label[v] = best
        return state.superstep < state.rounds


def sort(values):
    """Shell's sort (1959), where the values lie: each gap about 4/9 of the one before, the last one 1."""
    gap = len(values)
    while gap > 1:
        gap = max(1, 4 * gap // 9)
        for i in range(gap, len(values)):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
