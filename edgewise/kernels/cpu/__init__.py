"""Compiling for the CPU, and teams of threads."""
