"""One run from its start to its end: its limits, its threads, its clock, and its refusals."""

import contextlib
import operator
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from edgewise.errors import DeviceWarning, MemoryLimitError, ParameterError, ScheduleError, warn
from edgewise.explain import carried_over, is_asked, stop
from edgewise.graph import Arrays, FilePages, Graph, file_pages, least_pages
from edgewise.kernels import costs
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on
from edgewise.kernels.cpu.team import MOST_THREADS, available_threads
from edgewise.kernels.door import cuda_door, cuda_problem
from edgewise.memory import RefusedBySystem, as_bytes
from edgewise.numeric import is_integer
from edgewise.progress import Progress, showing
from edgewise.schedule import Buffered, Clustered, Pull, Push, Replicated, Schedule, check_schedule, is_auto
from edgewise.text import shown


@dataclass
class Execution:
    """A run in progress. `seconds` and `compile_seconds` are set when it ends; `seconds` counts neither compiling nor
    laying out. `num_threads` is the most threads that it may use, `threads_used` the most that it did use.
    `memory_limit` is in bytes, without the least that pages of the graph's file take, or None. `begun` is set when all
    has been laid out: from then on a run does not go elsewhere for lack of memory."""

    schedule: Schedule
    num_threads: int
    progress: Callable[[int], None] | None
    on_gpu: bool = False
    memory_limit: int | None = None
    threads_used: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    layout_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    begun: bool = False

    def launch(
        self, kernel: Callable[..., Any], *args: Any, work: float, rounds: float = 1, at_most: float = 0
    ) -> None:
        """Run a kernel on the threads that the schedule asks for, or as many as its work is worth.

        Args:
            kernel: called with (thread, size, control, *args).
            args: the kernel's own arguments.
            work: about the nanoseconds that one thread would take.
            rounds: about how often all threads wait for each other.
            at_most: the most nanoseconds that it may take, if more than `work`.
        """
        threads = self.schedule.num_threads or costs.best_threads(work, self.num_threads, rounds)
        self.launch_on(threads, kernel, *args, long=max(work, at_most) > INTERRUPTIBLE)

    def launch_on(self, threads: int, kernel: Callable[..., Any], *args: Any, long: bool = False) -> None:
        """Run a kernel on `threads` threads; one is the calling thread, unless the kernel takes long."""
        launch_on(threads, kernel, *args, progress=self.progress, long=long)
        self.threads_used = max(self.threads_used, threads)

    def make_in_edges(self, graph: Graph, what: str = "made the in-edges") -> None:
        """Make the in-edges of a graph now, unless they are there already."""
        if not graph.has_in_edges:
            with self.laying_out(what):
                graph.make_in_edges()

    @contextlib.contextmanager
    def laying_out(self, what: str = "") -> Iterator[None]:
        """Time what is made once for a graph and kept. `what` explains it: "made the in-edges", say."""
        started, compiled, within = time.perf_counter(), compile_seconds(), self.layout_seconds
        yield
        seconds = time.perf_counter() - started - (compile_seconds() - compiled)
        self.layout_seconds = within + seconds
        if what:
            self.explain(f"{what} in {seconds:.3g} s; the graph keeps them")

    @contextlib.contextmanager
    def telling(self, progress: Callable[[int], None] | None) -> Iterator[None]:
        """Report the progress of a part of the run to another function, or to none."""
        told, self.progress = self.progress, progress
        try:
            yield
        finally:
            self.progress = told

    def explain(self, note: str) -> None:
        """Record one decision and its reason for `Result.explain`."""
        self.notes.append(note)


class Chosen(NamedTuple):
    """Where a run goes.

    Attributes:
        schedule: how it is to be carried out.
        on_gpu: whether it runs on the GPU.
        as_program: whether it is on the GPU and its schedule has a balance, a layout or a buffer: algorithms run as
            programs then.
        notes: why, for `Result.explain`.
        is_free: whether it may go to the CPU if the GPU has no room.
        warning: why it is on the CPU in place of a GPU, if it is.
    """

    schedule: Schedule
    on_gpu: bool
    as_program: bool
    notes: tuple[str, ...] = ()
    is_free: bool = False
    warning: str = ""

    def on_cpu(self, refused: MemoryLimitError) -> "Chosen":
        """The CPU in place of a GPU that has refused.

        Raises:
            MemoryLimitError: as refused, if the GPU, or what only a GPU has, was asked for.
        """
        if not self.is_free:
            raise refused
        why = f"on the CPU, for the GPU has no room: {refused}"
        return Chosen(self.schedule, False, False, (why,), warning=why)

    def warn_of_cpu(self, name: str) -> None:
        """Warn if this is the CPU in place of a GPU."""
        if self.warning:
            warn(f"{name} runs {self.warning}", DeviceWarning)


def choose(
    name: str,
    graph: Graph,
    device: Any,
    schedule: Schedule | None,
    *,
    work: float,
    rounds: float,
    arrays: Arrays = Arrays.ROWS,
    programmed: bool = False,
    by_clusters: bool = False,
) -> Chosen:
    """Where a run goes: on the GPU if it is asked for, and with "auto" where it would end sooner there.

    The schedule decides first: it may ask for CPU threads, or for what only a GPU has. Else "auto" compares the time on
    the CPU, with as many threads as are worth it, with the time on the GPU plus that of copying the graph there, if it
    is not there yet: see `edgewise.kernels.costs`. Short runs do not ask for a GPU at all. Where the GPU has no room, a
    run goes on the CPU, with a `DeviceWarning`.

    Args:
        name: what runs, for messages.
        graph: what it runs on.
        device: "cpu", "cuda" for the current NVIDIA GPU, or "auto".
        schedule: the choices, or None for all defaults.
        work: about the nanoseconds that one CPU thread would take.
        rounds: about how often all threads would wait for each other.
        arrays: the graph's arrays that a GPU would need.
        programmed: whether it is a program: these have a message buffer on a CPU, too.
        by_clusters: whether it is an algorithm that runs by clusters, not as a program.

    Raises:
        ScheduleError: an unknown device, or a `schedule` that is not a Schedule.
        DeviceError: device="cuda", and CUDA cannot be used.
    """
    schedule = as_schedule(name, schedule)
    if not isinstance(device, str) or device not in ("auto", "cpu", "cuda"):
        raise ScheduleError(f"{name}: device is {shown(device)}; expected 'auto', 'cpu' or 'cuda'")
    told = not (is_auto(schedule.balance) and is_auto(schedule.layout))
    clustered = by_clusters and isinstance(schedule.balance, Clustered)
    buffered = isinstance(schedule.delivery, Buffered)
    as_program = buffered or (told and not clustered)
    if device == "cuda":
        cuda_door()
        return Chosen(schedule, True, as_program)
    if device == "cpu" or schedule.num_threads is not None:
        return Chosen(schedule, False, False)
    if told or (buffered and not programmed):
        on_gpu = cuda_problem() is None
        return Chosen(schedule, on_gpu, on_gpu and as_program)
    here, there = costs.copy_time(graph.needed_on_host), costs.gpu_time(work, rounds)
    if here + work < there:
        note = f"on the CPU: about {costs.written(here + work)}, too little to ask for a GPU"
        return Chosen(schedule, False, False, (note,))
    if cuda_problem() is not None:
        return Chosen(schedule, False, False)
    here += costs.cpu_time(work, costs.best_threads(work, available_threads(), rounds), rounds)
    there += costs.copy_time(graph.gpu.making(arrays).most)
    on_gpu = there < here
    times = (
        f"about {costs.written(there)} there, {costs.written(here)} on the CPU, copies of the graph included"
    )
    note = f"on the {'GPU' if on_gpu else 'CPU, not on the GPU'}: {times}"
    return Chosen(schedule, on_gpu, False, (note,), is_free=on_gpu)


class Admission(NamedTuple):
    """A run that may begin: its schedule and its limit were checked.

    Attributes:
        name: what runs, for messages.
        graph: what it runs on.
        chosen: where it runs.
        num_threads: the most CPU threads that it may use.
        memory_limit: bytes that it may take beside the fewest for pages of the graph's file, or None.
        needed: bytes that it takes beside these pages, if there is a limit or it is only explained; of the GPU's memory
            if it runs there.
        progress: as given.
        pages: those of the graph's file.
    """

    name: str
    graph: Graph
    chosen: Chosen
    num_threads: int
    memory_limit: int | None
    needed: int
    progress: Progress
    pages: FilePages

    @property
    def most(self) -> int:
        """The bytes that it takes at most."""
        return self.needed + self.pages.least

    @contextlib.contextmanager
    def execution(self, total: int | None = None) -> Iterator[Execution]:
        """The run, which is timed.

        Args:
            total: the last number that progress will show, if it is known.

        Raises:
            MemoryLimitError: the GPU has less memory free than is needed.
            FileChangedError: the graph is in a file, which was cut short or written to before the run ended.
        """
        shows = showing(self.progress, self.name, total)
        on_gpu, schedule = self.chosen.on_gpu, self.chosen.schedule
        room = cuda_door().room(self.name, self.needed) if on_gpu else contextlib.nullcontext()
        with shows as report, room, self.pages.given_up(self.needed) as times:
            run = Execution(schedule, self.num_threads, report, on_gpu, self.memory_limit)
            run.notes.extend(self.chosen.notes)
            started, compiled = time.perf_counter(), compile_seconds()
            try:
                yield run
            except Exception:
                self.graph.check_unchanged()  # what a run on such a graph fails by says less
                raise
            self.graph.check_unchanged()
            run.compile_seconds = compile_seconds() - compiled
            spent = time.perf_counter() - started - run.compile_seconds - run.layout_seconds
            run.seconds = max(0.0, spent)
            if on_gpu and self.graph.placement is not None:
                with contextlib.suppress(MemoryError):  # there is no room to measure the link
                    run.explain(carried_over(run.seconds, self.graph.placement.elsewhere))
            if times():
                run.explain(
                    f"to stay within memory_limit, pages of the graph's file were given up {times():,} times"
                )
            if run.threads_used and schedule.num_threads is None and self.num_threads > 1:
                run.explain(f"on {run.threads_used} of {self.num_threads} threads, by the work")


def admit(
    name: str,
    graph: Graph,
    chosen: Chosen,
    *,
    progress: Progress,
    memory_limit: float | str | None,
    memory: Callable[[], int],
    deliveries: tuple[type, ...],
    in_order: bool = False,
) -> Admission:
    """Check how a run is to be carried out, before anything is looked up or made for it.

    Args:
        name: what runs, for messages.
        graph: what it runs on.
        chosen: where it runs, from `choose`.
        progress: True for a bar on a terminal, or a function of the number of supersteps done.
        memory_limit: bytes that the run may take. On the CPU, beyond what is in memory: for results, temporary arrays,
            in-edges and other arrays that it makes for the graph, and, for a graph from `edgewise.load`, pages of the
            file that are in memory, which are given up in time (on Linux). On a GPU, of its memory, the graph
            included: what does not fit is read from the host's memory (docs/memory.md).
        memory: gives the most bytes that it will take at one time: of the GPU's memory if it runs there.
        deliveries: the forms of delivery that this run has.
        in_order: whether it reads the graph's rows one after the other, mostly, if it runs on the CPU.

    Raises:
        ScheduleError: a schedule that this run cannot follow.
        ParameterError: a memory limit that is not a number, or another kind of progress.
        MemoryLimitError: more memory is needed than allowed.
    """
    memory_limit = as_bytes(f"{name}: memory_limit", memory_limit)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ParameterError(
            f"{name}: progress is {shown(progress)}; expected True, False, or a function of the number of "
            "supersteps done"
        )
    schedule, on_gpu = chosen.schedule, chosen.on_gpu
    if not is_auto(schedule.delivery) and not isinstance(schedule.delivery, deliveries):
        possible = " or ".join(f"{kind.__name__}()" for kind in deliveries) or "no manual delivery"
        raise ScheduleError(
            f"{name}: delivery is {shown(schedule.delivery)}; this algorithm has {possible}. Leave it at 'auto', or "
            "write the algorithm as a Program, which runs with every delivery"
        )
    check_schedule(name, schedule, on_gpu)
    if isinstance(schedule.balance, Replicated) and not schedule.balance.is_of(graph):
        raise ScheduleError(
            f"{name}: balance is {schedule.balance}, made for another graph than {graph!r}; expected the balance of "
            "the approximate graph that this runs on"
        )
    threads = threads_of(name, schedule)
    pages = FilePages()
    if not on_gpu and memory_limit is not None:
        pages = file_pages(graph, memory_limit, threads, in_order)
    needed = 0
    if on_gpu or memory_limit is not None or is_asked():
        with pages.given_up(0):
            needed = memory()
    check_limit(name, memory_limit, needed, pages.least, fewer_threads=has_fewer_pages(graph, threads))
    return Admission(
        name, graph, chosen, threads, rest_of(memory_limit, pages.least), needed, progress, pages
    )


def stop_if_explained(run: Execution, graph: Graph, needed: int) -> None:
    """End a call that is only explained, before the run, with what that is expected to take.

    Args:
        run: the run.
        graph: what it would run on.
        needed: the bytes that it takes at most: see `Admission`.
    """
    if not is_asked():
        return
    if not run.on_gpu:
        threads = "1 thread" if run.num_threads == 1 else f"{run.num_threads} threads"
        pages = least_pages(graph, run.num_threads)
        own = needed if run.memory_limit is None else needed - pages
        lines = [*run.notes, f"on the CPU with at most {threads}; at most {own:,} bytes beyond the graph"]
        if pages:
            less = ", and less with fewer threads" if has_fewer_pages(graph, run.num_threads) else ""
            lines.append(
                f"pages of the graph's file come beside these; memory_limit={own + pages} is enough for both{less}; "
                "pages are read again where they do not fit"
            )
        stop(lines)
    lines = [*run.notes, f"on the GPU; at most {needed:,} bytes of its memory beside what lies there already"]
    if graph.placement is not None:
        lines.insert(-1, str(graph.placement))
        apart, rate = graph.placement.elsewhere, cuda_door().link_rate()
        took = costs.written(1e9 * apart / rate)
        lines.append(
            f"a superstep that reads all {apart:,} bytes from the host's memory takes {took}, at {1e-9 * rate:.1f} GB/s"
        )
    stop(lines)


def is_final(run: Execution | None, refused: MemoryLimitError) -> bool:
    """Whether a run that was refused memory had begun, so that it does not go elsewhere."""
    return run is not None and run.begun and not isinstance(refused, RefusedBySystem)


def check_limit(
    name: str,
    memory_limit: int | None,
    needed: int,
    of_file: int = 0,
    *,
    where: str = "beyond the graph",
    fewer_threads: bool = False,
) -> None:
    """Refuse what needs more bytes than it may take.

    Args:
        name: of what needs them, for messages.
        memory_limit: bytes that it may take, or None.
        needed: bytes that it needs.
        of_file: more of them, for pages of the graph's file.
        where: what they are beside, or where they lie, for the message.
        fewer_threads: whether fewer threads would need fewer.

    Raises:
        MemoryLimitError: with the numbers.
    """
    if memory_limit is not None and needed + of_file > memory_limit:
        what = f", {of_file:,} of them for pages of the graph's file" if of_file else f" {where}"
        advice = "use a smaller graph"
        if fewer_threads:
            advice = "take fewer threads, each of which needs pages: Schedule(num_threads=1), or --threads 1"
        refused = MemoryLimitError(
            f"{name} needs {needed + of_file:,} bytes{what}; the limit is {memory_limit:,}. Raise memory_limit, or "
            f"{advice}"
        )
        refused.needed = needed + of_file
        raise refused


def has_fewer_pages(graph: Graph, num_threads: int) -> bool:
    """Whether a run with a limit needs fewer pages of the graph's file with fewer threads."""
    return least_pages(graph, num_threads) > least_pages(graph, 1)


@contextlib.contextmanager
def limited(name: str, graph: Graph, memory_limit: int | None, memory: Callable[[], int]) -> Iterator[None]:
    """While this is entered, what is done to a graph by the calling thread stays within a limit, as a run does.

    Args:
        name: of what is done, for messages.
        graph: what it is done to.
        memory_limit: bytes that it may take, or None.
        memory: gives the bytes that it takes beside pages of the graph's file.

    Raises:
        MemoryLimitError: it takes more.
    """
    if memory_limit is None:
        yield
        return
    pages = file_pages(graph, memory_limit, 1, in_order=True)
    with pages.given_up(0):
        needed = memory()
    check_limit(name, memory_limit, needed, pages.least)
    with pages.given_up(needed):
        yield


def as_integer(value: Any) -> int | None:
    """An integer of Python or NumPy as a Python integer; None for anything else, bools among them."""
    return operator.index(value) if is_integer(value) else None


def rest_of(memory_limit: int | None, taken: int) -> int | None:
    """The bytes that a limit leaves when `taken` bytes are taken; None without a limit."""
    return None if memory_limit is None else memory_limit - taken


def as_schedule(name: str, schedule: Schedule | None) -> Schedule:
    """The given schedule, or one of all defaults for None.

    Raises:
        ScheduleError: it is not a Schedule, or has an unknown delivery or number of threads.
    """
    if schedule is not None and not isinstance(schedule, Schedule):
        raise ScheduleError(f"{name}: schedule is {shown(schedule)}; expected an edgewise.Schedule")
    schedule = schedule or Schedule()
    if not (is_auto(schedule.delivery) or isinstance(schedule.delivery, Push | Pull | Buffered)):
        raise ScheduleError(
            f"{name}: delivery is {shown(schedule.delivery)}; expected 'auto', Push(), Pull() or Buffered()"
        )
    threads = as_integer(schedule.num_threads)
    if schedule.num_threads is not None and (threads is None or not 1 <= threads <= MOST_THREADS):
        raise ScheduleError(
            f"{name}: num_threads is {shown(schedule.num_threads)}; expected a positive integer up to {MOST_THREADS:,}"
        )
    return schedule if type(schedule.num_threads) is type(threads) else replace(schedule, num_threads=threads)


def threads_of(name: str, schedule: Schedule | None) -> int:
    """The most CPU threads that a run with this schedule may use.

    Raises:
        ScheduleError: as `as_schedule`.
    """
    return as_schedule(name, schedule).num_threads or available_threads()
