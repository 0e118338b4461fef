"""The backend of NetworkX: its functions, answered by edgewise with NetworkX's own order, ties, types and errors.

Functions have the names, arguments, answers and errors of NetworkX's, whose documentation is theirs; arguments beyond
those say how a run goes, as for `edgewise.bfs`. NetworkX finds them by two entry points: `edgewise_networkx` says what
is offered, and `backend` offers it.
"""
