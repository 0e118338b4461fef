"""What the automatic schedule is measured against: see docs/benchmarks.md. The fixed ones stay as they are."""

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
    "layout, pulled": ew.Schedule(ew.Pull(), layout=ew.Layout()),
}
#: The automatic schedule was tuned for the first; the others decided nothing.
TUNED = ("rmat18", "rmat20", "uniform20", "lattice1024", "cnr-2000")
UNSEEN = ("road-NE", "actor-collab", "soc-Epinions1-sym", "rmat21-graph500")
