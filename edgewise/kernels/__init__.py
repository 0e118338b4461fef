"""The bottom layer: how functions are compiled, cached and run by several threads."""
