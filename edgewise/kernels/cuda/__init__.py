"""The only door to numba-cuda and CuPy."""
