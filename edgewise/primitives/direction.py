"""Whether a superstep pushes along the out-edges of the vertices that send, or pulls over the in-edges of others.

Pushing is given up where it would look at more than a part of the arcs that pulling looks at.

Reference. Beamer, Asanović and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012, section 5.
"""

from typing import Any

#: What is asked for: the choice by these rules, or one direction for all supersteps.
AUTO, PUSH, PULL = range(3)
#: An arc that is pushed costs as much as so many that are pulled: where a vertex takes the first message that comes;
#: where it takes those of all arcs; where it does so for many sources at once.
SEARCH_RATIO, SUM_RATIO, BATCH_RATIO = 14, 3, 2


def pays_to_pull(pushed: Any, pulled: Any, ratio: Any) -> Any:
    """Whether to pull, by the arcs that either way looks at; for kernels to compile."""
    return pushed * ratio > pulled
