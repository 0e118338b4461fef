"""Engines: ways to carry out one program on one graph that all keep the contract of `edgewise.program.declare`."""
