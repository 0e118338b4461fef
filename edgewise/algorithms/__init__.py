"""Algorithms that are ready made: one file each, with its verifier."""
