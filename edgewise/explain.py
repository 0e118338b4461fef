"""How a call would be carried out, told before it is: the run stops where it would begin."""

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from edgewise.errors import ParameterError
from edgewise.kernels import costs
from edgewise.kernels.door import cuda_door
from edgewise.text import shown

_asked: ContextVar[bool] = ContextVar("edgewise is asked to explain", default=False)
#: The modules whose functions run something, by the beginnings of their names.
_RUNNING = ("edgewise.algorithms.", "edgewise.run.", "edgewise.moved.", "edgewise.cli.tasks.")


class _Explained(BaseException):
    """Carries the explanation to `explain`."""


def explain(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    """How a call would be carried out, without carrying it out: where, with how much memory, and why.

    ::

        print(ew.explain(ew.bfs, graph, source=3, device="cuda", memory_limit="2 GB"))

    All checks of the call are made, and it is decided where the graph lies on a GPU; what another run has laid out
    there otherwise is given up. On a GPU, a program of yours is laid out for the graph, as by its first run. The graph
    keeps what was found out for it, such as the range of its weights.

    Args:
        call: an algorithm, `run`, or what `prepare` gives.
        args, options: as for the call.

    Returns:
        A line for each decision: the device and why it was chosen, and the bytes that are enough there. Betweenness and
        breadth-first search run with less, too. Where not all of the graph lies on a GPU, also the bytes that do, and
        how long a superstep takes that reads all the others over the link, by the rate of copies as measured.

    Raises:
        ParameterError: the call ran nothing that can be explained.
        EdgewiseError: what the call raises when it is refused.
    """
    of_call = call.func if isinstance(call, functools.partial) else call
    module = getattr(of_call, "__module__", None) or type(of_call).__module__
    if not (callable(call) and f"{module}.".startswith(_RUNNING)):
        raise ParameterError(
            f"explain: got {shown(call)}; expected an algorithm, ew.run, or what ew.prepare gives, and its arguments, "
            "as in ew.explain(ew.bfs, graph, 3)"
        )
    before = _asked.set(True)
    try:
        call(*args, **options)
    except _Explained as explained:
        return str(explained)
    finally:
        _asked.reset(before)
    raise ParameterError(f"explain: {shown(call)} ended without a run")


def is_asked() -> bool:
    """Whether a call is only explained."""
    return _asked.get()


def stop(lines: Iterable[str]) -> None:
    """End a call that is only explained, with its explanation."""
    raise _Explained("\n".join(lines))


def carried_over(seconds: float, elsewhere: int) -> str:
    """What came over the link in a run of so many seconds, as far as its time tells."""
    most = int(seconds * cuda_door().link_rate())
    came = f"in {costs.written(1e9 * seconds)} at most {most:,} bytes came over the link"
    return f"{came}, {most / max(1, elsewhere):.0%} of what lies in the host's memory"
