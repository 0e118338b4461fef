"""The engine that runs programs on an NVIDIA GPU."""
