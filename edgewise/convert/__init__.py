"""Edges in the tables and graphs of other libraries, as columns, and back. Nothing here knows the class `Graph`."""
