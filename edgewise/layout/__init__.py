"""Where things lie: other orders of a graph's vertices and arcs, made for one way of walking them."""
