"""Files of graphs and of columns, in and out. `read` is the door; each format has a file of its own."""

from edgewise.io.door import read
from edgewise.io.write import write

__all__ = ["read", "write"]
