"""Build files of graphs from edges that do not fit in memory. `build` is the door."""

from edgewise.building.door import build

__all__ = ["build"]
