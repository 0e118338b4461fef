"""The message buffer as every engine compiles it: functions that write a slot, and that compute a vertex.

Every in-edge has a slot of its own, and the slots of a vertex are a row, adjacent or at a fixed step (Zhong et al.
2016, section 3.2.4). An empty slot holds the combiner's identity. If messages are not combined, flags say which slots
are filled. A vertex empties its slots when it reads them; on a GPU they stay as they are if all vertices send.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.lowering.accessors import make_cast
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.program.declare import Combiner


class Slots(NamedTuple):
    """Compiled functions on the arrays of a message buffer, one array for each field of a message.

    Attributes:
        write: ``write(slots, k, sent)``: put a message into slot k, each field cast to its dtype.
        move: ``move(slots, to, k)``: copy slot k.
        compute: ``compute(v, slots, first, end, step, state)``: vertex_compute with the messages in slots first,
            first + step, ... below end; only for programs with MESSAGES.
    """

    write: Any
    move: Any
    compute: Any


def slot_dtypes(message: np.dtype) -> list[np.dtype]:
    """The dtypes of a buffer's arrays."""
    return [message] if message.names is None else [message[name] for name in message.names]


def make_slots(
    compiled: CompiledProgram,
    message: np.dtype,
    function: Callable[[Any], Any],
    combine: Combiner,
    view: str = "slots[{}][first:end:step]",
    **scope: Any,
) -> Slots:
    """The functions for messages of a dtype.

    Args:
        compiled: the program's functions.
        message: the dtype, with named fields where there are several.
        function: compiles a function that kernels call.
        combine: the program's combiner.
        view: how the messages of one field become an array. A compiled function cannot return one.
        scope: what `view` refers to.
    """
    dtypes, several = slot_dtypes(message), message.names is not None
    views = [view.format(i) for i in range(len(dtypes))]
    writes = [f"slots[{i}][k] = cast_{i}(sent{f'[{i}]' * several})" for i in range(len(dtypes))]
    moves = [f"slots[{i}][to] = slots[{i}][k]" for i in range(len(dtypes))]
    line = "\n    "
    text = f"""
def write(slots, k, sent):
    {line.join(writes)}

def move(slots, to, k):
    {line.join(moves)}

def compute(v, slots, first, end, step, state):
    return vertex_compute(v, {f"Messages({', '.join(views)},)" if several else views[0]}, state)
"""
    scope |= {f"cast_{i}": make_cast(dtype, function, combine) for i, dtype in enumerate(dtypes)}
    scope |= {"Messages": compiled.messages_class, "vertex_compute": compiled.functions["vertex_compute"]}
    exec(text, scope)
    return Slots(*(function(scope[name]) for name in Slots._fields))
