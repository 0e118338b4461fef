"""How a call would be carried out, told before it is: the run stops where it would begin."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from edgewise.errors import ParameterError
from edgewise.text import shown

_asked: ContextVar[bool] = ContextVar("edgewise is asked to explain", default=False)


class _Explained(Exception):
    """Carries the explanation to `explain`."""


def explain(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    """How a call would be carried out, without carrying it out: where, with how much memory, and why.

    ::

        print(ew.explain(ew.bfs, graph, source=3, device="cuda", memory_limit="2 GB"))

    All checks of the call are made, and it is decided where the graph lies on a GPU; what another run has laid out
    there otherwise is given up. On a GPU, a program is laid out for the graph, as by its first run. Nothing else is
    made.

    Args:
        call: an algorithm, `run`, or what `prepare` gives.
        args, options: as for the call.

    Returns:
        A line for each decision: the device and why it was chosen, the bytes that the run takes there at most and,
        where not all of the graph lies on a GPU, the bytes that do, and how long a superstep takes that reads all the
        others over the link, by the rate of copies as measured.

    Raises:
        ParameterError: the call ran nothing that can be explained.
        EdgewiseError: what the call raises when it is refused.
    """
    if not callable(call):
        raise ParameterError(
            f"explain: got {shown(call)}; expected a function and its arguments, as in ew.explain(ew.bfs, graph, 3)"
        )
    before = _asked.set(True)
    try:
        call(*args, **options)
    except _Explained as explained:
        return str(explained)
    finally:
        _asked.reset(before)
    raise ParameterError(
        f"explain: {shown(call)} ended without a run; expected an algorithm, ew.run, or what ew.prepare gives"
    )


def is_asked() -> bool:
    """Whether a call is only explained."""
    return _asked.get()


def stop(lines: Iterable[str]) -> None:
    """End a call that is only explained, with its explanation."""
    raise _Explained("\n".join(lines))
