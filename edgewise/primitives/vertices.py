"""The number that stands for no vertex, that which picks a vertex from a word, and the degree of hubs."""

import numpy as np

#: No vertex, parent or level among uint32: the bits of -1.
NO_VERTEX = np.uint32(0xFFFFFFFF)
#: The half of a word of 64 bits in which a vertex stands.
LOWER_HALF = 0xFFFFFFFF
#: Arcs from which a whole block takes those of one vertex.
HUB = 2048
