"""How words of a command line may end, for shells. Nothing heavy is imported for it: a shell asks at every tab.

Where nothing is offered, shells complete names of files by themselves. So files are options of text, not of paths: for
these, typer would offer the word as it stands.
"""

#: The names of the algorithms and of the generators, as `edgewise.cli.tasks` finds them.
ALGORITHMS = (
    *(
        "betweenness",
        "bfs",
        "closeness",
        "components",
        "core_numbers",
        "eccentricity",
        "edge_betweenness",
        "eigenvector",
    ),
    *("harmonic", "hits", "katz", "mst", "pagerank", "scc", "sssp", "topological_order", "triangles"),
)
GENERATORS = ("cycle", "lattice", "path", "rmat", "skewed", "star", "uniform")

#: The formats that `edgewise.read` takes.
FORMATS = (
    "adjacency",
    "adjlist",
    "csv",
    "dimacs",
    "edgelist",
    "edgewise",
    "gap",
    "graphml",
    "konect",
    "matrix-market",
    "metis",
    "npz",
    "parquet",
    "tntp",
)


def algorithms(incomplete: str) -> list[str]:
    """The algorithms that start so."""
    return _starting(ALGORITHMS, incomplete)


def generators(incomplete: str) -> list[str]:
    """The generators that start so."""
    return _starting(GENERATORS, incomplete)


def formats(incomplete: str) -> list[str]:
    """The formats of graphs that start so."""
    return _starting(FORMATS, incomplete)


def devices(incomplete: str) -> list[str]:
    """The devices that start so."""
    return _starting(("auto", "cpu", "cuda"), incomplete)


def _starting(names: tuple[str, ...], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
