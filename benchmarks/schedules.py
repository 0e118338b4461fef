"""What the automatic schedule is measured against: see docs/benchmarks.md. The fixed ones stay as they are."""

import edgewise as ew

#: What a user might settle on, each for all supersteps, graphs and programs; no message buffers, and no layouts whose
#: vertices are renumbered.
FIXED = {
    "thread (BS)": ew.Schedule(balance=ew.ThreadMapped()),
    "8 lanes": ew.Schedule(balance=ew.WarpMapped(8)),
    "warp": ew.Schedule(balance=ew.WarpMapped()),
    "by degree": ew.Schedule(balance=ew.Binned()),
    "EP": ew.Schedule(balance=ew.EdgeBased()),
    "WD": ew.Schedule(balance=ew.WorkloadDecomposition()),
    "merge path": ew.Schedule(balance=ew.MergePath()),
    "NS": ew.Schedule(balance=ew.NodeSplitting()),
    "HP": ew.Schedule(balance=ew.HierarchicalProcessing()),
    "8 lanes, pushed": ew.Schedule(ew.Push(), balance=ew.WarpMapped(8)),
    "layout, pulled": ew.Schedule(ew.Pull(), layout=ew.Layout()),
}
#: The automatic schedule was tuned for the first graphs, and for none of the others; but of these it knew some cells.
TUNED = ("rmat18", "rmat20", "uniform20", "lattice1024", "cnr-2000")
OTHERS = ("road-NE", "actor-collab", "soc-Epinions1-sym", "rmat21-graph500")
#: A rule came from this one: single runs on few arcs make no layout (`edgewise.engine.delivery.FEW_ARCS`).
DECIDED = (("soc-Epinions1-sym", "pagerank"),)
#: These were known when it was decided that a thread has each row where all are short (commit e926267).
KNOWN = (("road-NE", "pagerank"), ("actor-collab", "pagerank"))


def decided_nothing(graph: str, program: str) -> bool:
    """Whether no rule came from the cells of a graph and program."""
    return graph in OTHERS and (graph, program) not in DECIDED
