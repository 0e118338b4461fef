"""Results of many Python objects, made while Python does not look for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

#: About how many lists or dicts are made between two looks for garbage.
_AT_A_TIME = 1 << 16


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's collector, in a ``with`` statement or as a decorator.

    It starts again and again while lists and dicts are made by the thousand, and looks through those that there are,
    though none of them can be garbage yet. Objects are freed by their counts as ever.
    """
    was_on = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_on:
            gc.enable()


def ahead(items: Iterator[Any], objects: int) -> Iterator[Any]:
    """Items that consist of about so many objects each, some of them made at a time and `uncollected`: between two of
    them the collector is as the caller wants it."""
    count = max(1, _AT_A_TIME // max(1, objects))
    while True:
        with uncollected():
            block = list(islice(items, count))
        if not block:
            return
        yield from block
