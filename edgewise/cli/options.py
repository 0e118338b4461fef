"""Options and arguments that several commands have. Those of how a graph is read are written here once for all."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from edgewise.cli import completion

#: The name of a file that stands for standard input or standard output.
STANDARD = "-"

GraphFile = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A file of edges, compressed or not, or an .edgewise file; - for standard input.",
    ),
]
GraphOutput = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="A new file, whose suffix decides the format: .tsv, .csv, .mtx, each also with .gz, .edgewise and others; "
        "- for standard output, with --to.",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="SUFFIX",
        help="The format of standard output, as a file's name would end: csv, tsv.gz.",
    ),
]
Algorithm = Annotated[
    str,
    typer.Argument(
        metavar="ALGORITHM",
        help="An algorithm, such as bfs ('edgewise info' lists them), or my_program.py:MyProgram.",
        autocompletion=completion.algorithms,
    ),
]
Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="ID",
        help="The vertex to start from; bfs and sssp take several, each by --source.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Another parameter: --set damping=0.9. May be repeated."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
QuoteFormulas = Annotated[
    bool,
    typer.Option(
        "--quote-formulas", help="Put ' before names in the output that spreadsheets take for formulas."
    ),
]


@dataclass(frozen=True)
class Reading:
    """How the file of a graph is read, as a command line says it: options of every command that reads one."""

    undirected: Annotated[
        bool | None,
        typer.Option(
            "--undirected/--directed",
            help="Give each edge both directions, or one; by default as the file says.",
        ),
    ] = None
    weighted: Annotated[
        bool | None,
        typer.Option(
            "--weighted/--unweighted", help="Whether there are weights, if the file leaves it open."
        ),
    ] = None
    delimiter: Annotated[str | None, typer.Option(metavar="TEXT", help="What stands between columns.")] = None
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="The format, if name and content mislead: edgelist, csv.",
            autocompletion=completion.formats,
        ),
    ] = None
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--read",
            metavar="NAME=VALUE",
            help="Another option of edgewise.read: --read header=True. May be repeated.",
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="What reading may take of memory, and the work after it: 4e9, 4GB. Default: what is free, for "
            "reading.",
        ),
    ] = None

    def for_read(self, path: str) -> dict[str, Any]:
        """The options of `edgewise.read` that this gives for a file.

        Raises:
            ProgramError: an option that `edgewise.read` does not have, or one that is given twice.
        """
        from edgewise.cli.tasks import keywords, parse_settings
        from edgewise.errors import ProgramError
        from edgewise.io import read

        further = keywords(
            "edgewise.read", functools.partial(read, path), parse_settings("--read", self.others)
        )
        given = {
            "directed": None if self.undirected is None else not self.undirected,
            "weighted": self.weighted,
            "delimiter": self.delimiter,
            "format": self.file_format,
            "memory_limit": self.memory_limit,
        }
        options = {name: value for name, value in given.items() if value is not None}
        for name in options.keys() & further.keys():
            raise ProgramError(f"{name} is given twice: by --read {name}=..., and by an option of its own")
        return options | further

    def limit(self) -> int | None:
        """The memory limit in bytes."""
        from edgewise.memory import as_bytes

        return as_bytes("memory_limit", self.memory_limit)


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `Reading`, for which it has one argument, `how`."""
    of_reading = {field.name: field for field in fields(Reading)}

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        how = Reading(**{name: given.pop(name) for name in of_reading})
        command(**given, how=how)

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "how"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=field.type)
        for name, field in of_reading.items()
    ]
    signature = inspect.Signature([*(each.replace(kind=each.KEYWORD_ONLY) for each in own), *added])
    vars(with_reading)["__signature__"] = signature
    with_reading.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return with_reading
