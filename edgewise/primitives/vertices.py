"""Constants: the number in place of a vertex where there is none, the half of a word that has a vertex, the degree of
hubs."""

import numpy as np

#: No vertex, parent or level among uint32: the bits of -1.
NO_VERTEX = np.uint32(0xFFFFFFFF)
#: A mask: in a word of 64 bits that holds a vertex and something else, the vertex is in the lower half.
LOWER_HALF = 0xFFFFFFFF
#: Arcs from which a whole block takes those of one vertex.
HUB = 2048
