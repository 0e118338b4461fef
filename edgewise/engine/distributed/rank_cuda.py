"""A rank on a GPU: a launch for each phase, over arrays of CuPy; what ranks tell each other is made and taken there."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.balance.contract import Plan
from edgewise.engine.cuda.arguments import Arcs, stored_identity
from edgewise.engine.cuda.control import CONTROL, COUNT, ENDED
from edgewise.engine.cuda.vertices import FOLDS
from edgewise.engine.distributed.bitmaps_cuda import bits_equal, marked
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.exchange import columns_of
from edgewise.engine.distributed.exchange_cuda import (
    Part,
    SharedOnGpu,
    WantedOnGpu,
    bytes_of,
    nothing,
    part_of,
    placed,
    values_in,
    wanted_on_gpu,
)
from edgewise.engine.distributed.kernel_cuda import RankPhase, RankWork, Slots, Told
from edgewise.engine.distributed.phases import Phase
from edgewise.engine.distributed.rank import Layout, Rank, places_of
from edgewise.engine.distributed.waiting import Waiting
from edgewise.engine.lowering.accessors import own_array_order
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.execution import Execution
from edgewise.kernels.cuda.arguments import address, packed, words
from edgewise.kernels.cuda.device import WARP
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    cupy,
    device_number,
    empty,
    full,
    host_copy,
    mark,
    pinned,
    receive,
    signals,
    wait,
    zeros,
)


class OnGpu(NamedTuple):
    """What a run needs that lies on the GPU, and is not the run's own.

    Attributes:
        arcs: those of this rank.
        long: see `RankWork`.
        slot_of: see `Slots`; empty for programs whose messages are combined.
        plan: which threads send along which arcs.
        channel: how ranks speak.
        copies: what runs only read, by kind and name.
        supplied: see `RankPhase`.
    """

    arcs: Arcs
    long: Any
    slot_of: Any
    plan: Plan
    channel: Channel
    copies: dict[tuple[str, str], Any]
    supplied: int


@final
class GpuRank(Rank):
    """One run on one rank, on its GPU.

    Args:
        laid_out, on_gpu: what is run.
        wanted: what `laid_out` says of it, on the GPU.
        kernel: the program's.
        run: progress.
        parameters, given: see `AbstractEngine.__call__`.
    """

    def __init__(
        self,
        laid_out: Layout,
        on_gpu: OnGpu,
        wanted: WantedOnGpu,
        kernel: Kernel,
        run: Execution,
        parameters: dict[str, Any],
        given: dict[str, Any],
    ) -> None:
        super().__init__(laid_out, run)
        spec, message, n, own = self._spec, self._message, self._n, self._own
        self._kernel, self._channel, self._num_long = kernel, on_gpu.channel, len(on_gpu.long)
        self._fields = self._arrays(laid_out.binding, on_gpu.copies, parameters, given)
        self._nothing = stored_identity(spec.combine, message)
        kept = self._nothing.dtype
        self._sent_as = np.dtype(np.uint8) if message.kind == "b" else kept
        self._messages = full(0 if spec.keeps_messages else n, self._nothing, kept)
        self._received, self._stamps = zeros(n, np.uint32), zeros(n, np.uint32)
        self._control, self._words = zeros(CONTROL.size, np.int64), pinned(CONTROL.size, np.int64)
        self._counts = pinned(1, np.int64)
        self._signals, self._num_active, self._counted_at = signals(2), 0, None
        self._unused = Told(empty(1, np.uint32), empty(1, kept))
        self._wanted_there = wanted
        passed = [
            (self._fields if key in self._fields else on_gpu.copies)[key] for key in own_array_order(spec)
        ]
        #: Floats are stored as keys, of which the least is the best.
        self._takes_least = spec.combine.name == "MIN" or message.kind == "f"
        self._waiting = Waiting(
            spec, self._group, own, on_gpu.arcs.offsets, self._stamps, self._takes_least, cupy()
        )
        self._held = on_gpu  # its arrays are at addresses in what is passed
        self._passed = RankPhase(
            graph=packed(on_gpu.arcs),
            work=packed(RankWork(self._stamps, empty(own.stop - own.start, np.uint32), on_gpu.long)),
            told=self._unused,
            own=tuple(words(each) if each.dtype.kind == "b" else address(each) for each in passed),
            messages=words(self._messages),
            received=self._received,
            control=words(self._control),
            plan=packed(on_gpu.plan.of_run(empty)),
            buffer=packed(_slots(message, on_gpu.slot_of) if spec.keeps_messages else ()),
            phase=0,
            n=n,
            m=self._m,
            superstep=0,
            low=0,
            high=0,
            step=1,
            first=0,
            number=0,
            everyone=False,
            supplied=on_gpu.supplied,
        )

    def _arrays(
        self,
        binding: Binding,
        copies: dict[tuple[str, str], Any],
        parameters: dict[str, Any],
        given: dict[str, Any],
    ) -> dict[tuple[str, str], Any]:
        """The arrays that the run writes, and its parameters."""
        arrays: dict[tuple[str, str], Any] = {}
        for name, dtype in binding.vertex.items():
            arrays["vertex", name] = (
                copies["initial", name].copy() if name in given else empty(self._n, dtype)
            )
        for name in binding.spec.edge_writes:
            arrays["edge", name] = copies["edge", name].copy()
        for name, value in parameters.items():
            arrays["parameter", name] = copy_of(np.array([value]))
        for name, dtype in binding.aggregates.items():
            arrays["aggregate", name] = zeros(1, dtype)
            arrays["partial", name] = empty(max(1, self._num_results + self._length), dtype)
        return arrays

    def _launch(self, phase: Phase, threads: int, **how: Any) -> None:
        """Start a phase on this rank's vertices, or on others.

        Args:
            phase: which one.
            threads: how many find something to do.
            how: fields of `RankPhase`.
        """
        own = {"low": self._own.start, "high": self._own.stop, "superstep": self._superstep}
        self._control[...] = 0
        arguments = self._passed._replace(phase=int(phase), **{**own, **how})
        blocks = -(-max(threads, 1) // self._kernel.threads)
        self._kernel.start([arguments], min(self._kernel.blocks, blocks))

    def _answer(self) -> np.ndarray:
        """The words that the last phase has left."""
        receive(self._words, self._control)
        wait(self._signals, None)
        return self._words

    def _counted(self, phase: Phase) -> None:
        """Carry out a phase that says which vertices are active next. How many they are is seen when it is asked for:
        until then the host does not wait."""
        self._launch(phase, self._length)
        receive(self._counts, self._control[COUNT : COUNT + 1])
        self._counted_at = mark()

    @property
    def _most_threads(self) -> int:
        """As many threads as run at the same time."""
        most: int = self._kernel.blocks * self._kernel.threads
        return most

    @property
    def _num_results(self) -> int:
        """The results of parts of all ranks, after which there is room for a value of each vertex of this one."""
        number: int = places_of(self._parts[-1]).stop
        return number

    @property
    def _length(self) -> int:
        """The vertices of this rank."""
        length: int = self._own.stop - self._own.start
        return length

    @property
    def _count(self) -> int:
        if self._counted_at is not None:
            wait(self._signals, None, event=self._counted_at)
            self._num_active, self._counted_at = int(self._counts[0]), None
        return self._num_active

    def _call(
        self, phase: Phase, *, of: slice | None = None, step: int = 1, first: int = 0, work: float = 0.0
    ) -> None:
        of = self._own if of is None else of
        length = of.stop - of.start
        if phase != Phase.FOLD or step == 1:
            threads = step if phase == Phase.TOTAL else length
            self._launch(phase, threads, low=of.start, high=of.stop, first=first, step=step)
            return
        results, begin = -(-length // step), self._num_results
        self._launch(phase, WARP * results, low=of.start, high=of.stop, step=step, first=begin)
        for each in self._results:
            each[first : first + results] = each[begin : begin + length : step]

    def _join_blocks(self, count: int) -> None:
        """In an order that depends on nothing but their number; one thread would take milliseconds for many."""
        for fewer in FOLDS[1:]:
            if count > fewer or fewer == 1:
                self._call(Phase.TOTAL, of=slice(0, count), step=fewer)
                count = fewer

    def _vote(self, phase: Phase) -> None:
        self._counted(phase)

    def _recount(self) -> None:
        self._counted(Phase.LIST)

    def _hold(self, total: int) -> bool:
        return self._waiting.begin(total)

    def _release(self) -> int:
        total, _ = self._waiting.release(self._superstep + 1, self._best)
        self._counted(Phase.LIST)
        return total

    def _best(self) -> tuple[np.ndarray, np.ndarray]:
        """Of this rank's active vertices, the one with the best first message, and that as it is stored."""
        if self._length == 0:
            return np.empty(0, np.uint32), np.empty(0, self._nothing.dtype)
        values, least = empty(self._length, self._nothing.dtype), self._takes_least
        self._launch(Phase.BEST, self._length, told=Told(self._unused.vertices, values))
        place = int(values.argmin() if least else values.argmax())
        value = host_copy(values[place : place + 1])
        is_better = value < self._nothing if least else value > self._nothing
        return np.array([self._own.start + place], np.uint32)[is_better], value[is_better]

    def _compute(self) -> None:
        self._counted(Phase.COMPUTE)

    def _goes_on(self) -> bool:
        self._launch(Phase.PROCEED, 1)
        return bool(self._answer()[ENDED])

    def _gather(self, total: int) -> None:
        self._superstep += 1
        threads, everyone = max(self._length, WARP * self._num_long), total == self._n
        self._launch(Phase.GATHER, threads, number=self._num_long, everyone=everyone)

    def _push(self) -> int:
        self._superstep += 1
        count = self._count
        if count:
            self._launch(Phase.SEND, self._most_threads, number=count)
        if self._group.size == 1:
            return count
        received, counts = self._channel.exchange([self._messages_for_others()], count)
        for rank, (part,) in enumerate(received):
            if rank != self._group.rank and part.length:
                self._join(part)
        return sum(counts)

    def _messages_for_others(self) -> list[Part]:
        """For each other rank the messages for its vertices, which have none here afterwards."""
        ranks = [rank for rank in range(self._group.size) if rank != self._group.rank]
        rows = [self._received[self._ranges.of(rank)] for rank in ranks]
        parts = [nothing()] * self._group.size
        for rank, marks in zip(ranks, marked(rows, self._superstep), strict=True):
            messages = self._messages[self._ranges.of(rank)]
            parts[rank], places = part_of(marks, functools.partial(self._sent, messages))
            messages[places] = self._nothing
        return parts

    def _sent(self, messages: Any, places: Any) -> list[Any]:
        """Messages at places, as they are sent, in arrays of their own."""
        found = messages.copy() if isinstance(places, slice) else messages[places]
        return [(found != 0).view(np.uint8) if self._message.kind == "b" else found]

    def _join(self, part: Part) -> None:
        """Combine the messages of another rank with those that are here."""
        places, (values,) = placed(part, self._own, [self._sent_as])
        every = isinstance(places, slice)
        told = Told(
            self._unused.vertices if every else places, values.astype(self._nothing.dtype, copy=False)
        )
        self._launch(Phase.COMBINE, len(values), told=told, number=len(values), everyone=every)

    def _sharing(self, arrays: Sequence[Any], wanted: Sequence[np.ndarray | None]) -> SharedOnGpu:
        there = self._wanted_there if wanted is self._wanted else wanted_on_gpu(wanted, self._length)
        return SharedOnGpu(arrays, self._own, there)

    def _active_for(self) -> list[Part]:
        return self._wanted_there.parts(bits_equal(self._stamps[self._own], self._superstep + 1), [])

    def _placed(self, part: Part, among: slice) -> Any:
        return placed(part, among, [])[0]

    def _is_active(self, of: slice) -> Any:
        return self._stamps[of] == self._superstep + 1

    def _is_to_begin(self, of: slice) -> Any:
        return self._is_active(of) | (self._waiting.flags[of] & (self._stamps[of] == 0))

    def _activate(self, of: slice, places: Any) -> None:
        self._stamps[of][places] = self._superstep + 1

    def _whole(self, arrays: Sequence[Any]) -> Part:
        return Part(0, bytes_of(arrays))

    def _columns(self, part: Part, count: int, dtypes: Sequence[np.dtype]) -> list[Any]:
        return columns_of(part.data, count, dtypes, values_in)

    def _exchange(self, told: list[list[Part]]) -> tuple[list[list[Part]], list[int]]:
        return self._channel.exchange(told, self._count)

    def _on_host(self, values: Any) -> np.ndarray:
        return host_copy(values)

    def _from_host(self, values: np.ndarray) -> Any:
        return copy_of(values)

    def _notes(self) -> tuple[str, ...]:
        return (f"on GPU {device_number()}; ranks speak by {self._channel.name}",)


def _slots(message: np.dtype, slot_of: Any) -> Slots:
    """Room for all messages."""
    size = len(slot_of)
    return Slots(
        slot_of, zeros(size, np.uint8), tuple(words(empty(size, dtype)) for dtype in slot_dtypes(message))
    )
