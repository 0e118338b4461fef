"""edgewise: graph processing from plain Python."""

__version__ = "0.1.0"
