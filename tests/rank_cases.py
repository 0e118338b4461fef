"""Programs for several ranks beside those of other tests: reads that lie anywhere, fields of every dtype."""

import numpy as np

import edgewise as ew


class Jumps(ew.Program):
    """Reads through fields: the parent of a parent, which may be a vertex of any rank."""

    parent = ew.vertex(ew.VERTEX)
    value = ew.vertex("int64")
    combine = ew.MIN
    message = "int64"
    max_supersteps = 5

    @staticmethod
    def initialize(v, state):
        state.parent[v] = (v * 7 + 3) % state.num_vertices
        state.value[v] = v * 13 % 101
        return v % 4 != 1

    @staticmethod
    def edge_compute(edge, state):
        return state.value[state.parent[state.parent[edge.source]]] + state.parent[edge.target]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = min(message, 1000) + state.parent[state.parent[v]]
        return v % 3 != state.superstep % 3


class Aliases(ew.Program):
    """The same vertices by other names: assigned, unpacked, counted in loops; some that are not the vertex at hand."""

    value = ew.vertex("float64")
    other = ew.vertex("float32", init=1.5)
    mark = ew.vertex("bool")
    seen = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 4

    @staticmethod
    def initialize(v, state):
        u = v
        state.value[v] = 0.1 * u
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        u, far = edge.source, edge.target
        sent = state.value[u] - 0.5 * state.value[far]
        for w in range(min(2, state.num_vertices)):
            sent += state.value[w] * 0.125
        return sent if state.mark[far] or state.other[edge.source] > 0 else None

    @staticmethod
    def vertex_compute(v, message, state):
        u = v
        if state.superstep % 2 == 0:
            u = (v + 1) % state.num_vertices
        state.value[v] += message * 0.01
        state.mark[v] = v % 3 == 0
        state.seen[v] += 2 if state.other[u] > 1 else 1
        return v % 5 != 2

    @ew.aggregator(ew.SUM)
    @staticmethod
    def around(v, state):
        return state.value[v] + state.value[(v + 1) % state.num_vertices] * state.seen[state.num_vertices - 1]

    @staticmethod
    def proceed(state):
        return state.num_vertices > 0 and state.seen[0] < 7 and state.value[state.num_vertices // 2] < 1e9


class Neighbours(ew.Program):
    """Pushes, with fields of both ends, which vertices change and some ranks alone read."""

    low = ew.vertex("int32", init=50)
    high = ew.vertex("int64")
    combine = ew.MAX
    message = "int64"
    max_supersteps = 6

    @staticmethod
    def edge_compute(edge, state):
        if state.low[edge.target] == state.low[edge.source] and state.superstep % 2 == 0:
            return None
        return state.high[edge.target] - state.low[edge.source] + edge.source % 5

    @staticmethod
    def vertex_compute(v, message, state):
        state.high[v] = max(message, -(10**6)) % 23
        if v % 2 == state.superstep % 2:
            state.low[v] -= state.high[v]
        return v % 7 != state.superstep


class Dtypes(ew.Program):
    """Values of every dtype travel to ranks that read them, NaN and -0.0 as they are."""

    single = ew.vertex("float32")
    double = ew.vertex("float64", init=-0.0)
    small = ew.vertex("int32")
    large = ew.vertex("int64", init=2**40)
    flag = ew.vertex("bool", init=True)
    scale = ew.parameter(float, default=-0.0)
    shift = ew.parameter(int, default=3)
    invert = ew.parameter(bool, default=True)
    combine = ew.SUM
    message = "int64"
    max_supersteps = 4

    @staticmethod
    def initialize(v, state):
        state.small[v] = -v
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        u = edge.target
        sent = state.large[u] + state.small[u] + (1 if state.flag[u] else 0)
        if state.double[u] != state.double[u] or state.single[u] > 0:
            sent += 1000
        return sent

    @staticmethod
    def vertex_compute(v, message, state):
        state.large[v] = message % 2**41
        state.small[v] = message % 1000 + state.shift
        state.flag[v] = (message % 2 == 0) != state.invert
        state.single[v] = -state.single[v] if message % 3 else state.single[v] * 0.5
        state.double[v] = state.double[v] * state.scale
        return ew.ACTIVE


class Totals(ew.Program):
    """Aggregators of every combiner and dtype."""

    value = ew.vertex("float64", init=0.1)
    count = ew.vertex("int32")
    combine = ew.SUM
    message = "int32"
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return 1 + edge.source % 3

    @staticmethod
    def vertex_compute(v, message, state):
        state.count[v] += message % 7 + state.least + state.largest % 5
        state.value[v] = 0.3 * state.count[v] + 1e-3 * state.total
        return ew.ACTIVE

    @ew.aggregator(ew.SUM)
    @staticmethod
    def total(v, state):
        return state.value[v] * 0.1

    @ew.aggregator(ew.SUM, "float32")
    @staticmethod
    def single(v, state):
        return state.value[v] / 3

    @ew.aggregator(ew.PRODUCT)
    @staticmethod
    def product(v, state):
        return 1.0 + 1e-3 * (v % 11)

    @ew.aggregator(ew.PRODUCT, "int32")
    @staticmethod
    def wraps(v, state):
        return 2 * v + 1

    @ew.aggregator(ew.MIN, "int32")
    @staticmethod
    def least(v, state):
        return state.count[v] % 5

    @ew.aggregator(ew.MAX, "float64")
    @staticmethod
    def highest(v, state):
        return state.value[v]

    @ew.aggregator(ew.MAX, "int64")
    @staticmethod
    def largest(v, state):
        return state.count[v] + v

    @ew.aggregator(ew.ANY, "bool")
    @staticmethod
    def some(v, state):
        return state.count[v] > 10

    @ew.aggregator(ew.ALL, "bool")
    @staticmethod
    def every(v, state):
        return state.count[v] > 0


class Chosen(ew.Program):
    """A vertex as a parameter, vertices as a field, and two attributes of edges, which may be given by dicts."""

    root = ew.parameter(ew.VERTEX)
    home = ew.vertex(ew.VERTEX)
    far = ew.vertex("float64", init=ew.INFINITY)
    length = ew.edge("float32", init=0.25)
    open = ew.edge("bool", init=True)
    combine = ew.MIN
    message = "float64"

    @staticmethod
    def initialize(v, state):
        if v == state.root:
            state.far[v] = 0
        return v == state.root or state.home[v] == state.root

    @staticmethod
    def edge_compute(edge, state):
        if edge.open and state.home[edge.target] != state.root:
            return state.far[edge.source] + edge.length
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.far[v] and state.superstep < 20:
            state.far[v] = message
            return ew.ACTIVE
        return ew.HALT


class Arcs(ew.Program):
    """Pushes, by the numbers of arcs, by fields of the arc at hand and of others, and of both ends."""

    cost = ew.vertex("int64", init=10**9)
    toll = ew.vertex("int32")
    length = ew.edge("int32")
    extra = ew.edge("int32", init=3)
    combine = ew.MIN
    message = "int64"
    max_supersteps = 8

    @staticmethod
    def initialize(v, state):
        if v % 9 == 1:
            state.cost[v] = v
        return v % 9 == 1

    @staticmethod
    def edge_compute(edge, state):
        other = state.length[(edge.index * 5) % state.num_arcs]
        ends = state.cost[edge.source] + state.toll[edge.target]
        return ends + edge.length + edge.extra + edge.index % 4 + other

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.cost[v]:
            state.cost[v] = message
            state.toll[v] += 1 + v % 3
            return ew.ACTIVE
        return ew.HALT


def values_of(program: type[ew.Program], graph: ew.Graph) -> dict[str, object]:
    """Values for a program of these on a graph, some of them arrays or dicts."""
    n, m = graph.num_vertices, graph.num_arcs
    rng = np.random.default_rng(n + m)
    if program is Dtypes:
        odd = np.array([np.nan, -0.0, 0.0, 1.5, -np.inf])
        return {
            "single": odd[rng.integers(0, 5, n)].astype(np.float32),
            "double": odd[rng.integers(0, 5, n)],
            "flag": rng.integers(0, 2, n).astype(np.bool_),
        }
    if program is Arcs:
        return {"length": rng.integers(1, 50, m).astype(np.int32)}
    if program is Chosen:
        far = {v: float(v % 7 + 1) for v in range(n)}
        edges = {"length": rng.random(m).astype(np.float32), "open": rng.integers(0, 5, m) > 0}
        return {"root": n // 2, "home": rng.integers(0, max(1, n), n), "far": far, **edges}
    return {}


PROGRAMS = {
    "reads through parents": Jumps,
    "other names": Aliases,
    "both ends": Neighbours,
    "every dtype": Dtypes,
    "every aggregator": Totals,
    "vertices and attributes": Chosen,
    "arcs": Arcs,
}
