"""Ctrl-C while `python -m edgewise.cli` imports what it needs: the process ends, without a traceback.

Python imports the package before the module that -m names, so this module comes before all other imports of the
package. For the command `edgewise`, `edgewise_command` does the same.
"""

import os
import signal
import sys


def _is_command() -> bool:
    """Whether Python is on its way to `edgewise.cli`: it has "-m" for the program's name until it gets there."""
    if sys.argv[:1] != ["-m"]:
        return False
    return sys.orig_argv[-len(sys.argv)] in ("edgewise.cli", "-medgewise.cli")


if _is_command() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *interruption: os._exit(130))
