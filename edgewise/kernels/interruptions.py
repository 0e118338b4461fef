"""Ctrl-C while code is compiled.

LLVM calls functions of Python through ctypes to hand compiled code over. An error in such a function is printed and
lost, a KeyboardInterrupt among them, and the code with it.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interruptions_wait() -> Iterator[None]:
    """Have the handler of Ctrl-C called after the block, once, if Ctrl-C was pressed in it.

    Handlers run in the main thread; in others, and if Python has no handler, nothing is done.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interruption: came.append(interruption))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
