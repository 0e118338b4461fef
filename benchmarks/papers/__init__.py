"""Experiments of the papers behind edgewise, run again."""
