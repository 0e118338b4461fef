"""The command `edgewise`. Ctrl-C ends it without a traceback, even while it imports what it needs."""

import os
import signal


def main() -> None:
    """Import the command line, which takes a second, and run it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *interruption: os._exit(130))
    from edgewise.cli.app import main as run_command

    run_command()
