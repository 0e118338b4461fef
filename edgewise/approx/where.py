"""Where approximate graphs are made: on a GPU if it is asked for, and unasked where that ends sooner."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from edgewise.errors import MemoryLimitError
from edgewise.execution import choose
from edgewise.graph import Arrays, Graph
from edgewise.kernels import costs
from edgewise.kernels.door import cuda_door

_Made = TypeVar("_Made")


def made_where(
    name: str,
    graph: Graph,
    device: Any,
    on_gpu: Callable[[], _Made],
    on_cpu: Callable[[], _Made],
    *,
    work: float,
    memory: int,
) -> tuple[_Made, bool]:
    """What a function makes on the device that is chosen, and whether that is a GPU.

    A graph without arcs is looked at on the host. Where the GPU has no room, "auto" goes there, too, with a warning.

    Args:
        name: what is made, for messages.
        graph: of what it is made.
        device: see `edgewise.execution.choose`.
        on_gpu, on_cpu: make it.
        work: about the nanoseconds that one CPU thread would take.
        memory: bytes that it takes on the GPU, beside the graph.

    Raises:
        ScheduleError: an unknown device.
        DeviceError: device="cuda", and CUDA cannot be used.
        MemoryLimitError: device="cuda", and the GPU has no room.
    """
    needed = Arrays.rows(graph.weighted)
    rounds = costs.levels(graph.num_vertices, graph.num_arcs)
    chosen = choose(name, graph, device, None, work=work, rounds=rounds, arrays=needed)
    if not chosen.on_gpu or graph.num_arcs == 0:
        return on_cpu(), False
    try:
        with room_beside(name, graph, memory):
            return on_gpu(), True
    except MemoryLimitError as refused:
        chosen.on_cpu(refused).warn_of_cpu(name)
    return on_cpu(), False


@contextmanager
def room_beside(name: str, graph: Graph, memory: int) -> Iterator[None]:
    """Refuse work that does not fit in the GPU's memory beside the whole graph.

    Args:
        name: what is made, for messages.
        graph: what is read.
        memory: bytes that the work takes.

    Raises:
        MemoryLimitError: it does not fit.
    """
    if graph.placement is not None:
        raise MemoryLimitError(
            f"{name} needs the whole graph on the GPU, and a part of it lies in the host's memory; make it with "
            "device='cpu'"
        )
    making = graph.gpu.making(Arrays.rows(graph.weighted)).most
    with cuda_door().room(name, making + memory):
        yield
