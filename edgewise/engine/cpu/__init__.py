"""The engine that runs programs on CPU threads."""
