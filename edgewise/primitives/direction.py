"""Whether a superstep pushes along the out-edges of the vertices that send, or pulls over in-edges.

It pulls if pushing would look at more than a certain part of the arcs that pulling looks at.

Reference. Beamer, Asanović and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012, section 5.
"""

from typing import Any

#: What a run asks for: the choice by this rule, or one direction in all supersteps.
AUTO, PUSH, PULL = range(3)
#: How many pulled arcs cost as much as one pushed arc: if a vertex takes the first message that comes; if it takes the
#: messages of all arcs; if it does so for many sources at once.
SEARCH_RATIO, SUM_RATIO, BATCH_RATIO = 14, 3, 2


def pays_to_pull(pushed: Any, pulled: Any, ratio: Any) -> Any:
    """Whether to pull, by the numbers of arcs that pushing and pulling look at. Kernels compile it."""
    return pushed * ratio > pulled
