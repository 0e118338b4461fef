"""The backend of NetworkX: its functions, answered by edgewise with NetworkX's own order, ties, types and errors.

NetworkX finds it by two entry points: `edgewise_networkx` says what is offered, and `backend` offers it.
"""
