"""Who does which edges: how arcs are dealt out to the threads of a GPU."""
