"""The number that stands for no vertex, and the degree of vertices whose arcs a block of a GPU takes."""

import numpy as np

#: No vertex, parent or level among uint32: the bits of -1.
NO_VERTEX = np.uint32(0xFFFFFFFF)
#: Arcs from which a whole block takes those of one vertex.
HUB = 2048
