"""What commands print: answers on standard output, errors and warnings in one line each on standard error."""

import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from edgewise.cli.options import STANDARD
from edgewise.text import on_one_line, printable

#: The exit code of a command whose reader has gone: that of a process that ended by SIGPIPE, as a shell has it.
_READER_GONE = 141
#: Paths of files that are made aside, by which messages name them, and what they stand for.
_ASIDE: dict[str, str] = {}
#: Endings of files that a terminal can show.
_TEXTS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".mtx")


@contextlib.contextmanager
def plain_errors(option: str = "--read") -> Iterator[None]:
    """Print an error of edgewise as one line and exit with code 2; print each of its warnings as a line at once.

    Args:
        option: of the command, the option that takes arguments of Python by their names.
    """
    from edgewise.cli.wording import in_options
    from edgewise.errors import EdgewiseError, EdgewiseWarning

    show_other = warnings.showwarning

    def told(message: str) -> str:
        for path, name in _ASIDE.items():
            message = message.replace(path, name)
        return on_one_line(in_options(message, option))

    def show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, EdgewiseWarning):
            typer.echo(f"edgewise: warning: {told(str(message))}", err=True)
        else:
            show_other(message, category, *where)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EdgewiseWarning)
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    except EdgewiseError as error:
        problem = str(error)
    except MemoryError as error:
        problem = f"there is not enough memory: {error}" if str(error) else "there is not enough memory"
    except BrokenPipeError:
        _discard()
        raise typer.Exit(_READER_GONE) from None
    else:
        return
    typer.echo(f"edgewise: error: {told(problem)}", err=True)
    raise typer.Exit(2)


def show(text: str, beside: str | None = None) -> None:
    """Print an answer.

    Args:
        text: the answer.
        beside: the output that the command has written. If it was standard output, the answer is no part of that, and
            goes to standard error.

    Raises:
        OutputError: it cannot be written: the disk is full, say, or standard output is closed.
    """
    if beside == STANDARD:
        typer.echo(printable(text), err=True)
        return
    with _answering():
        typer.echo(printable(text))


@contextlib.contextmanager
def placed(output: str, to: str | None, default: str | None = None) -> Iterator[Path]:
    """The file for an output: that of its name; for ``-``, one aside that goes to standard output when it is complete.

    Args:
        output: the name of a file, or ``-``.
        to: how the name of the file aside ends, which decides its format.
        default: stands for `to`.

    Raises:
        OutputError: `to` is missing, or given for a file; or the output cannot be written.
    """
    from edgewise.errors import OutputError

    if output != STANDARD:
        if to is not None:
            raise OutputError(f"--to {to} is for standard output, -; the suffix of {output} says its format")
        yield Path(output)
        return
    suffix = (to or default or "").removeprefix(".")
    if not suffix or set(suffix) & set("/\\\0"):
        raise OutputError(
            "standard output needs a format: give --to csv, or another suffix that files may have"
        )
    with _answering():
        shows = sys.stdout.isatty()
    if shows and not f".{suffix}".endswith(_TEXTS):
        raise OutputError(
            f"standard output is a terminal, which cannot show {suffix}; send it to a file or a pipe"
        )
    with tempfile.TemporaryDirectory(prefix="edgewise-") as folder:
        aside = Path(folder, f"stdout.{suffix}")
        _ASIDE[printable(str(aside))] = f"standard output (--to {suffix})"
        yield aside
        with _answering():
            _send(aside)


def _send(path: Path) -> None:
    """Send a file to standard output as it is; to a terminal, with characters shown that would steer it."""
    if sys.stdout.isatty():
        with open(path, encoding="utf-8", newline="") as text:
            sys.stdout.writelines(map(printable, text))
    else:
        sys.stdout.flush()
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Say in one line that standard output cannot be written. Raises OutputError."""
    from edgewise.errors import OutputError

    if sys.stdout is None:
        raise OutputError("cannot write the answer: standard output is closed")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard()
        raise OutputError(f"cannot write the answer: {error.strerror}") from None


def _discard() -> None:
    """Let Python write the rest of standard output at its end, which it does, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
