"""Programs that are given all messages, and what both engines have to make of them."""

import edgewise as ew


class Median(ew.Program):
    """The upper median of what came, by sorting where it lies; some edges are silent, some vertices halted."""

    value = ew.vertex("int64")
    combine = ew.MESSAGES
    message = "int32"
    max_supersteps = 4

    @staticmethod
    def initialize(v, state):
        state.value[v] = (v * 7919) % 101
        return v % 3 != 1

    @staticmethod
    def edge_compute(edge, state):
        if edge.target % 7 == 3:
            return None
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, messages, state):
        if len(messages) == 0:
            return v % 2 == 0
        for i in range(1, len(messages)):
            inserted, j = messages[i], i
            while j > 0 and messages[j - 1] > inserted:
                messages[j] = messages[j - 1]
                j -= 1
            messages[j] = inserted
        state.value[v] = messages[len(messages) // 2]
        return v % 5 != 0


class Vote(ew.Program):
    """The label with most weight behind it: messages of three fields of different dtypes, some of them silent."""

    label = ew.vertex("int32")
    most = ew.vertex("float64")
    weight = ew.edge("float64", init=1.0)
    combine = ew.MESSAGES
    message = ew.fields(label="int32", count="float64", counts="bool")
    max_supersteps = 3

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        if edge.source % 11 == 5:
            return None
        return state.label[edge.source], edge.weight * 0.5, edge.source % 2 == 0

    @staticmethod
    def vertex_compute(v, messages, state):
        best, most = -1, 0.0
        for i in range(len(messages.label)):
            total = 0.0
            for j in range(len(messages.label)):
                if messages.label[j] == messages.label[i] and messages.counts[j]:
                    total += messages.count[j]
            if total > most or (total == most and messages.label[i] < best):
                best, most = messages.label[i], total
        if best >= 0:
            state.label[v] = best
        state.most[v] = most
        return v % 3 != 0


class Spread(ew.Program):
    """A long thin frontier: each vertex, once, adds up what came by weights that depend on the order."""

    value = ew.vertex("float32")
    step = ew.vertex("int64", init=-1)
    combine = ew.MESSAGES
    message = "float32"

    @staticmethod
    def initialize(v, state):
        if v == 0:
            state.step[v] = 0
        return v == 0

    @staticmethod
    def edge_compute(edge, state):
        return 0.5 + edge.source % 13

    @staticmethod
    def vertex_compute(v, messages, state):
        if state.step[v] >= 0:
            return ew.HALT
        place = 1.0
        for message in messages:
            state.value[v] = state.value[v] + message * place
            place = place * 0.5
        state.step[v] = state.superstep
        return ew.ACTIVE


class Rewritten(ew.Program):
    """Stores into its messages what does not fit there: integers wrap."""

    value = ew.vertex("int64")
    combine = ew.MESSAGES
    message = "int32"
    max_supersteps = 2

    @staticmethod
    def edge_compute(edge, state):
        return 2_000_000_000 + edge.source

    @staticmethod
    def vertex_compute(v, messages, state):
        for i in range(len(messages)):
            messages[i] = messages[i] + messages[i]
        for message in messages[1:]:
            state.value[v] = state.value[v] + message
        return ew.ACTIVE


PROGRAMS = {"median": Median, "vote": Vote, "spread": Spread}
