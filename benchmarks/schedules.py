"""What the automatic schedule is measured against. Fixed before it was tuned: see docs/benchmarks.md."""

import edgewise as ew

#: Everything that a user might settle on, each for all supersteps, graphs and programs.
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
}
#: Graphs of which the automatic schedule may be tuned for the first; it has never seen the others.
TUNED = ("rmat18", "rmat20", "uniform20", "lattice1024")
UNSEEN = ("road-NE", "cnr-2000", "actor-collab", "rmat21-graph500")
