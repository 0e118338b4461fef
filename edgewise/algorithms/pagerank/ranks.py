"""PageRank on several ranks: each iterates over its blocks of vertices, and ranks tell each other the shares they need.

Blocks are those of one rank, and their sums are added up in one order on all ranks. So answers are the same, bit for
bit.
"""

import numpy as np

from edgewise.algorithms.common.needs import blocks_of_ranks, needs_of, tell_needed, vertices_of
from edgewise.algorithms.common.ranks import gathered
from edgewise.algorithms.pagerank.cpu import is_last, iterate_once, ranked, ranks_to_begin, web_of
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution


def rank(
    walk: Walk, begin: np.ndarray | None, kind: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate, on all ranks; arguments and answers are those of `cpu.rank`, shares included."""
    group, n = connect(), walk.graph.num_vertices
    run.make_in_edges(walk.graph)
    web, ranks = web_of(walk, kind), ranks_to_begin(n, begin, kind)
    blocks = blocks_of_ranks(web.in_offsets, group)
    needed, iteration = needs_of(web.in_offsets, web.in_sources, blocks, group), 0
    while True:
        shares = iterate_once(web, ranks, walk.damping, iteration, blocks.own, run)
        tell_needed(shares, ranks.partial, needed, group)
        if is_last(ranks, iteration, enough) or iteration >= limit:
            break
        iteration += 1
    run.explain("pull: each vertex gathers over its in-edges, and ranks tell each other the shares for these")
    of_rank = vertices_of(blocks, n).own
    ranks.rank[:] = gathered(ranks.rank[of_rank], group)
    found = ranked(ranks)
    found.shares()[:] = gathered(found.shares()[of_rank], group)
    return found
