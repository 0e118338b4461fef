"""Greedy colouring, as a program. Welsh and Powell (1967); in parallel by Jones and Plassmann (1993)."""

import edgewise as ew

COLORS = 63  # that a window of an int64 has


class GreedyColoring(ew.Program):
    """Each vertex, in the order of falling degrees, has the first colour that none of its neighbours before it has.

    For an undirected graph without self-loops. A vertex waits until all neighbours before it are decided, and keeps the
    colours of one window that they have taken. Where these are all of them, it sleeps until everybody has decided on
    this window, and goes on with the next.
    """

    color = ew.vertex("int32", init=-1)
    window = ew.vertex("int32")
    waits_for = ew.vertex(
        "int32", init=-1
    )  # neighbours before it that are undecided; -1 until they are counted
    taken = ew.vertex("int64")
    combine = ew.MESSAGES
    message = "int32"

    @staticmethod
    def resume(v, state):
        if state.color[v] >= 0:
            return ew.HALT
        state.window[v] += 1
        state.waits_for[v] = -1
        state.taken[v] = 0
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):  # first "here I am", later the colour of this window, or -1 for none
        mine, its = state.out_degree[edge.source], state.out_degree[edge.target]
        comes_before = mine > its or (mine == its and edge.source < edge.target)
        if not comes_before or state.color[edge.target] >= 0:
            return None
        return max(state.color[edge.source] - COLORS * state.window[edge.source], -1)

    @staticmethod
    def vertex_compute(v, messages, state):
        if state.waits_for[v] < 0:
            state.waits_for[v] = len(messages)
        elif state.waits_for[v] == 0:  # it was decided, and has told so
            return ew.HALT
        else:
            state.waits_for[v] -= len(messages)
            for color in messages:
                if color >= 0:
                    state.taken[v] |= 1 << color
        if state.waits_for[v] > 0:
            return ew.HALT
        first = 0
        while first < COLORS and (state.taken[v] >> first) & 1:
            first += 1
        if first < COLORS:
            state.color[v] = first + COLORS * state.window[v]
        return ew.ACTIVE
