"""The command `edgewise`. Ctrl-C ends it without a traceback, even while it imports what it needs."""

import importlib.util
import os
import signal
import sys

#: What asks, as the last word or as the first one, for a text about the command line itself.
_ABOUT, _FOR_SHELLS = ("--version", "--help", "-h"), ("--show-completion", "--install-completion")
#: The variable with which a shell asks how a word may end.
_COMPLETING = "_EDGEWISE_COMPLETE"


def main() -> None:
    """Import the command line, which takes a second unless it only describes itself, and run it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *interruption: os._exit(130))
    first = set(sys.argv[1:2])
    about = len(sys.argv) <= 3 and (sys.argv[-1] in _ABOUT or first & {_ABOUT[0], *_FOR_SHELLS})
    if about or _COMPLETING in os.environ:
        _leave_package_empty()
    from edgewise.cli.app import main as run_command

    run_command()


def _leave_package_empty() -> None:
    """Let modules of edgewise be imported without all that `import edgewise` loads: no command will run."""
    specification = importlib.util.find_spec("edgewise")
    if specification is not None:
        sys.modules["edgewise"] = importlib.util.module_from_spec(specification)
