"""The command line: thin, no algorithm in it. Heavy imports wait until a command needs them."""

import contextlib
import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from edgewise.cli.convert import convert, generate
from edgewise.cli.info import info
from edgewise.cli.run import run
from edgewise.cli.verify import verify
from edgewise.text import on_one_line

#: Seconds from Ctrl-C to the end of the process, if nothing else ends it.
SECONDS_TO_LEAVE = 0.6
#: Shows the cursor of a terminal, which a progress bar hides.
SHOW_CURSOR = b"\x1b[?25h"


class Commands(TyperGroup):
    """The commands. Errors in a command line are reported without sending escapes to the terminal."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options that come before the command; without any word, the help is shown."""
        with shown_escapes() if args else contextlib.nullcontext():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command, and run it."""
        with shown_escapes():
            return super().invoke(ctx)


class OneCommand(TyperCommand):
    """A command, which refuses an option and its contrary together, and to be run by several ranks each for itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the command."""
        for option in self.params:
            contrary = [*option.opts, *option.secondary_opts]
            if option.secondary_opts and set(contrary) <= set(args):
                raise typer.BadParameter(
                    f"{' and '.join(contrary)} were given; expected one of them", ctx=ctx
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        ranks = os.environ.get("WORLD_SIZE", "")
        by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ and ranks.isdigit() and int(ranks) > 1
        if by_torchrun and not ctx.params.get("distributed"):
            advice = "start it without torchrun"
            if "distributed" in ctx.params:
                advice = f"add --distributed, and they run it together, or {advice}"
            raise typer.BadParameter(
                f"torchrun has started {ranks} ranks, each of which would do all of this for itself: {advice}",
                ctx=ctx,
            )
        return super().invoke(ctx)


@contextlib.contextmanager
def shown_escapes() -> Iterator[None]:
    """Show characters that are not printable in the message of a wrong command line."""
    try:
        yield
    except Exception as error:  # the class of the error depends on the version of typer
        message = getattr(error, "message", None)
        if isinstance(message, str):
            vars(error)["message"] = on_one_line(message)
        raise


app = typer.Typer(
    cls=Commands,
    help="Graph processing from plain Python.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (run, info, generate, convert, verify):
    app.command(cls=OneCommand)(command)


def version_text(as_json: bool) -> str:
    """The versions of edgewise and of what it stands on, none of which is imported for it."""
    import importlib.metadata
    import json
    import platform

    of = importlib.metadata.version
    numbers = {"Python": platform.python_version(), "NumPy": of("numpy"), "Numba": of("numba")}
    if as_json:
        facts = {"edgewise": of("edgewise"), **{name.lower(): number for name, number in numbers.items()}}
        return json.dumps(facts)
    return f"edgewise {of('edgewise')} ({', '.join(map(' '.join, numbers.items()))})"


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version, and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --version: as one JSON object.")] = False,
) -> None:
    """Options of the whole command line."""
    if version:
        typer.echo(version_text(as_json))
        raise typer.Exit
    if as_json or context.invoked_subcommand is None:
        raise typer.BadParameter("expected a command first, and its options, such as --json, after it")


def leave_on_interrupt() -> None:
    """Make Ctrl-C end the process in any case, compiled code or not.

    Python handles Ctrl-C in the main thread between two steps of Python, so a long call into compiled code delays it.
    A process that still runs a moment later is ended here. Files are written in Python, so none stays half-written.
    Another Ctrl-C in that moment changes nothing, and a process that was started with Ctrl-C ignored ignores it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())

    def watch() -> None:
        with reader, writer:
            while reader.recv(1)[0] != signal.SIGINT:
                pass
            time.sleep(SECONDS_TO_LEAVE)
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), SHOW_CURSOR)
            os._exit(130)

    threading.Thread(target=watch, name="edgewise-interrupt", daemon=True).start()
    signal.signal(signal.SIGINT, interrupt_once)


def interrupt_once(*interruption: Any) -> None:
    """Handle the first Ctrl-C; the others are ignored.

    Raises:
        KeyboardInterrupt: always.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run a command line to its end; see `edgewise_command` for the command `edgewise`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals of few characters
    leave_on_interrupt()
    try:
        app()
    except KeyboardInterrupt:  # before the command has begun, or at its end
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Python would print a traceback while it ends
