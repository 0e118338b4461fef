"""PageRank, as a program. Page, Brin, Motwani and Winograd (1999); dangling rank is spread evenly."""

import edgewise as ew


class PageRank(ew.Program):
    """The stationary probability of a random walk that restarts with probability 1 - damping."""

    damping = ew.parameter("float64", default=0.85)
    tol = ew.parameter("float64", default=1e-8)
    rank = ew.vertex("float64")
    share = ew.vertex("float64")
    change = ew.vertex("float64")
    combine = ew.SUM
    max_supersteps = 200

    @staticmethod
    def initialize(v, state):
        state.rank[v] = 1.0 / state.num_vertices
        state.share[v] = 1.0 / state.num_vertices / max(1, state.out_degree[v])
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.share[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        kept = (1.0 - state.damping + state.damping * state.dangling) / state.num_vertices
        rank = kept + state.damping * message
        state.change[v] = abs(rank - state.rank[v])
        state.rank[v] = rank
        state.share[v] = rank / max(1, state.out_degree[v])
        return ew.ACTIVE

    @ew.aggregator(ew.SUM)
    @staticmethod
    def dangling(v, state):
        return state.rank[v] if state.out_degree[v] == 0 else 0.0

    @ew.aggregator(ew.SUM)
    @staticmethod
    def total_change(v, state):
        return state.change[v]

    @staticmethod
    def proceed(state):
        return state.total_change >= state.tol
