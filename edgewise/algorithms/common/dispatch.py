"""The choice between the forms of an algorithm: one for the CPU, one for a GPU, a program on a GPU, and one for
several ranks.

An algorithm says how much memory each of its forms takes and which deliveries it has, and gets the result of the form
that runs. All checks come first, so that a call that is refused has looked nothing up and made nothing.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from edgewise.errors import MemoryLimitError, ParameterError, ScheduleError
from edgewise.execution import (
    Admission,
    Chosen,
    Execution,
    Progress,
    admit,
    choose,
    is_final,
    stop_if_explained,
)
from edgewise.graph import Arrays, Graph, Needs
from edgewise.graph.checks import check_flags
from edgewise.layout.clusters import clusters_bytes
from edgewise.memory import RefusedBySystem, as_bytes, held, in_turn
from edgewise.schedule import Clustered, Schedule


class Form(NamedTuple):
    """One way to carry out an algorithm.

    Attributes:
        find: finds the answer; its last argument is the run. A form for a GPU, or for several ranks, is given by name,
            "bfs.cuda.search", and imported when it is first used.
        memory: gives, for a schedule, the most bytes that a run takes at one time: of the GPU's memory if it runs
            there. A program counts its own arrays itself. It may raise MemoryLimitError, if the host has no room.
        deliveries: the forms of delivery that it has.
        arrays: the graph's arrays that a form for a GPU reads, wherever they lie; its `memory` does not count them.
        lists: bytes of its lists, see `edgewise.algorithms.common.device_graph.lists`; nor does it count these.
        heads: whether the first neighbours of vertices help it on a GPU that has no room for the graph, see
            `edgewise.algorithms.common.heads`.
        otherwise: the form for a GPU that has no room for this one.
        in_order: whether a form for the CPU reads rows one after the other, mostly.
        with_gpus: the form for several ranks with GPUs, if that is another one than for ranks with CPUs. Either counts
            the GPUs' memory itself, and says when it has begun, as a program does.
    """

    find: Callable[..., Any] | str
    memory: Callable[[Schedule], int]
    deliveries: tuple[type, ...] = ()
    arrays: Arrays | None = None
    lists: int = 0
    heads: bool = False
    otherwise: "Form | None" = None
    in_order: bool = False
    with_gpus: "Form | None" = None


def no_memory(_: Schedule) -> int:
    """The memory of a form that takes nothing beside a program's own arrays."""
    return 0


def memory_by(name: str, graph: Graph) -> Callable[[Schedule], int]:
    """The memory of a form by a function of the graph and a schedule, which is given by name, as `Form.find`."""
    return lambda schedule: imported(name)(graph, schedule)


def bytes_by_clusters(graph: Graph, schedule: Schedule) -> int:
    """The GPU's memory that clusters take if a schedule asks for them; a run that does not has none without room."""
    return clusters_bytes(graph.num_vertices, graph.num_arcs) * isinstance(schedule.balance, Clustered)


class Task(NamedTuple):
    """A call that was checked, and may begin.

    Attributes:
        admission: the run that it will be.
        form: finds the answer.
        place: decides again where the graph's arrays lie on a GPU.
        as_program: whether the form is a program on a GPU, which decides that itself.
        on_cpu: the task for the CPU, if the GPU refuses; it raises what the GPU refused with if there is none.
    """

    admission: Admission
    form: Callable[..., Any]
    place: Callable[[], Any]
    as_program: bool
    on_cpu: "Callable[[MemoryLimitError], Task]"

    def find(self, *args: Any, total: int | None = None) -> tuple[Any, Execution]:
        """The answer of the form for these arguments, and the run.

        Args:
            args: the arguments of the form except the run.
            total: the last number that progress will show, if it is known.

        Raises:
            MemoryLimitError: the GPU has less memory free than is needed.
        """
        run: Execution | None = None
        try:
            with self.admission.execution(total) as run:
                return self._found(args, run), run
        except MemoryLimitError as refused:
            if is_final(run, refused):
                raise
            task = self.on_cpu(refused)
        return task.find(*args, total=total)

    def _found(self, args: tuple[Any, ...], run: Execution) -> Any:
        """The answer. A program tells by itself when it has begun."""
        if not self.as_program:
            stop_if_explained(run, self.admission.graph, self.admission.most)
        self._explain_placement(run)
        run.begun = not self.as_program
        try:
            return self.form(*args, run)
        except RefusedBySystem as refused:
            if not (run.on_gpu and self.admission.graph.gpu.read_in_place()):
                raise
            run.explain(f"arcs are read where they lie: {refused}")
        self.place()
        self._explain_placement(run)
        return self.form(*args, run)

    def _explain_placement(self, run: Execution) -> None:
        placement = self.admission.graph.placement
        if placement is not None and run.on_gpu:
            run.explain(str(placement))


def begin(
    name: str,
    graph: Graph,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    *,
    work: float,
    rounds: float,
    arrays: Arrays = Arrays.ROWS,
    cpu: Form,
    cuda: Form,
    program: Form | str,
    ranks: Form | None = None,
    distributed: Any = False,
    stays: bool = False,
    by_clusters: bool = False,
) -> Task:
    """Choose a form, and check how it is to be carried out. A graph without vertices needs no GPU.

    Args:
        name: what runs, for messages.
        graph: what it runs on.
        device, schedule, work, rounds, arrays: see `edgewise.execution.choose`.
        progress, memory_limit: see `edgewise.execution.admit`.
        cpu, cuda, program: the forms; if there is no program, a text for what has none: "by weights".
        ranks: the form for several ranks; every algorithm has one, but what it does over layers has none.
        distributed: whether the run is on all ranks together. One rank alone does as an ordinary call.
        stays: whether a run that a GPU has no room for must not go on the CPU: what it has begun goes on there only.
        by_clusters: whether the form for a GPU runs by clusters if the schedule says so.

    Raises:
        ScheduleError: an unknown device, or a schedule that the form cannot follow.
        DeviceError: device="cuda", and CUDA cannot be used.
        ParameterError: a memory limit that is not a number, or another kind of progress.
        MemoryLimitError: more memory is needed than allowed.
        DistributedError: several ranks, and another device, no ranks, or graphs that differ.
    """

    def task_for(chosen: Chosen) -> Task:
        form = program if chosen.as_program else cuda if chosen.on_gpu else cpu
        if isinstance(form, str):
            raise ScheduleError(
                f"{name}: {form} this does not run as a program, which a balance, a layout or a buffer asks for on a "
                "GPU. Leave them at 'auto'"
            )
        taken, refusals = form, list[MemoryLimitError]()

        def memory() -> int:
            nonlocal taken
            limit = as_bytes(f"{name}: memory_limit", memory_limit)
            try:
                beside = taken.memory(chosen.schedule)
                if taken.arrays is None:
                    return beside
                needs = Needs(taken.arrays, beside, taken.lists, taken.heads)
                making = graph.gpu.place(name, needs, limit)
            except MemoryLimitError as refused:
                if taken.otherwise is None:
                    raise
                refusals.append(refused)
                taken = taken.otherwise
                return memory()
            return in_turn(making, held(beside)).most

        def on_cpu(refused: MemoryLimitError) -> Task:
            refused = min((refused, *refusals), key=lambda each: each.needed)
            instead = chosen.on_cpu(refused)
            try:
                task = task_for(instead)
            except (MemoryLimitError, ScheduleError):
                raise refused from None
            instead.warn_of_cpu(name)
            return task

        how: dict[str, Any] = {"progress": progress, "memory_limit": memory_limit, "memory": memory}
        try:
            admission = admit(name, graph, chosen, **how, deliveries=form.deliveries, in_order=form.in_order)
        except MemoryLimitError as refused:
            return on_cpu(refused)
        find = imported((taken if graph.num_vertices else cpu).find)
        return Task(admission, find, memory, chosen.on_gpu and taken.arrays is None, on_cpu)

    if distributed is not False and is_distributed(name, distributed):
        assert ranks is not None
        from edgewise.algorithms.common.ranks import choose_ranks

        on_ranks = choose_ranks(name, graph, device, schedule, ranks.deliveries)
        if on_ranks is not None:
            cpu, cuda = _forms_on_ranks(name, ranks if graph.num_vertices else cpu, ranks, on_ranks.on_gpu)
            return task_for(on_ranks)
    chosen = choose(
        name, graph, device, schedule, work=work, rounds=rounds, arrays=arrays, by_clusters=by_clusters
    )
    return task_for(chosen._replace(is_free=False) if stays else chosen)


def _forms_on_ranks(name: str, cpu: Form, ranks: Form, on_gpu: bool) -> tuple[Form, Form]:
    """The forms for several ranks on CPUs, which find what the form `cpu` does, and on GPUs."""
    from edgewise.algorithms.common.ranks import on_ranks

    find = on_ranks(name, imported(cpu.find))
    on_cpus, on_gpus = ranks._replace(find=find), ranks._replace(find=find, memory=no_memory)
    if on_gpu and ranks.with_gpus is not None:
        on_gpus = ranks.with_gpus._replace(find=on_ranks(name, imported(ranks.with_gpus.find)))
    return on_cpus, on_gpus


def is_distributed(name: str, distributed: Any) -> bool:
    """Whether a call asks for several ranks. Raises ParameterError for what is neither True nor False."""
    check_flags(ParameterError, f"{name}: ", distributed=distributed)
    return bool(distributed)


def imported(find: Callable[..., Any] | str) -> Callable[..., Any]:
    """A function, perhaps given by a name: its algorithm, its module and its own name."""
    if callable(find):
        return find
    module, name = find.rsplit(".", 1)
    imported: Callable[..., Any] = getattr(import_module(f"edgewise.algorithms.{module}"), name)
    return imported
