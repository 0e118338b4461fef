"""PageRank on several ranks: each iterates over its blocks of vertices, and ranks tell each other the shares they need.

Blocks are those of one rank, and their sums are added up in one order on all ranks. So answers are the same, bit for
bit.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.ranks import gathered
from edgewise.algorithms.pagerank.cpu import is_last, iterate_once, ranked, ranks_to_begin, web_of
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.partition import by_arcs
from edgewise.execution import Execution


def rank(
    walk: Walk, begin: np.ndarray | None, kind: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate, on all ranks; arguments and answers are those of `cpu.rank`, shares included."""
    group, n = connect(), walk.graph.num_vertices
    run.make_in_edges(walk.graph)
    web, ranks = web_of(walk, kind), ranks_to_begin(n, begin, kind)
    begins = [-(-first // BLOCK) for first in by_arcs(group.rank, group.size, web.in_offsets).begins]
    blocks = slice(begins[group.rank], begins[group.rank + 1])
    needs, iteration = _needs(web, [min(n, BLOCK * first) for first in begins], group), 0
    while True:
        shares = iterate_once(web, ranks, walk.damping, iteration, blocks, run)
        sums = np.ascontiguousarray(ranks.partial[:, blocks]).view(np.uint8).reshape(-1)
        parts = [np.concatenate([sums, shares[wanted].view(np.uint8)]) for wanted in needs.of_others]
        received, _ = group.exchange(parts)
        for other, part in enumerate(received):
            of_other = slice(begins[other], begins[other + 1])
            size = 2 * ranks.partial.itemsize * (of_other.stop - of_other.start)
            ranks.partial[:, of_other] = part[:size].copy().view(np.float64).reshape(2, -1)
            shares[needs.own[other]] = part[size:].copy().view(kind)
        if is_last(ranks, iteration, enough) or iteration >= limit:
            break
        iteration += 1
    run.explain("pull: each vertex gathers over its in-edges, and ranks tell each other the shares for these")
    of_rank = slice(BLOCK * blocks.start, min(n, BLOCK * blocks.stop))
    ranks.rank[:] = gathered(ranks.rank[of_rank], group)
    found = ranked(ranks)
    found.shares()[:] = gathered(found.shares()[of_rank], group)
    return found


class _Needs(NamedTuple):
    """Whose shares are needed: indices of vertices, ascending.

    Attributes:
        own: for each rank, which of its vertices this rank needs; none of its own.
        of_others: for each rank, which of this rank's vertices it needs.
    """

    own: list[np.ndarray]
    of_others: list[np.ndarray]


def _needs(web: Any, begins: list[int], group: Group) -> _Needs:
    """Which shares ranks need of each other.

    Args:
        web: the arcs.
        begins: the first vertex of each rank, and the number of all.
        group: the ranks.
    """
    low, high = begins[group.rank], begins[group.rank + 1]
    flags = np.zeros(begins[-1], np.bool_)
    flags[web.in_sources[int(web.in_offsets[low]) : int(web.in_offsets[high])]] = True
    needed = np.flatnonzero(flags).astype(np.uint32)
    cut = np.searchsorted(needed, begins)
    own = [needed[cut[i] : cut[i + 1]] for i in range(group.size)]
    own[group.rank] = needed[:0]
    of_others = group.exchange([each.view(np.uint8) for each in own])[0]
    return _Needs(own, [each.view(np.uint32) for each in of_others])
