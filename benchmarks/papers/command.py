"""What the commands of all reproductions share: a CSV file is written, or one that is there is drawn."""

import argparse
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from benchmarks.results import all_needed, end_without_gpu, given_rows


def options_of(
    parser: argparse.ArgumentParser, plots: str, output: str, columns: Iterable[str]
) -> argparse.Namespace | None:
    """The options of a command that is to measure; None if it was to draw, which has been done then.

    Args:
        parser: with the command's own options.
        plots: the module with ``draw(file, document)``, imported only to draw: it needs matplotlib.
        output: what is told of ``--output``.
        columns: those that a file has to have.
    """
    parser.add_argument("--output", help=output)
    parser.add_argument("--plot", help="draw a CSV file, into the folder where it lies")
    parser.add_argument("--document", help="a Markdown file, where --plot puts the tables, too")
    options = parser.parse_args()
    if options.document and not options.plot:
        parser.error("--document is for --plot FILE.csv")
    if options.plot:
        given_rows(options.plot, [name for name in columns if name != "source"])  # older rows have none
        document = Path(options.document) if options.document else None
        with all_needed(options.plot):
            import_module(plots).draw(Path(options.plot), document)
        return None
    if not options.output:
        sys.exit("name a file: --output FILE.csv, or --plot FILE.csv")
    if getattr(options, "device", "cuda") == "cuda":
        end_without_gpu()
    return options
