"""Algorithms on several ranks, which torchrun has started: what all of them check, and how ranks join what each found.

Every rank has the whole graph, makes the same calls and gets the whole answer.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from edgewise.distributed import PreparedRank, ranks_for, schedule_of_rank
from edgewise.engine.contract import Outcome
from edgewise.engine.distributed.exchange import columns_of, meaningless, packed_flags, placed
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.outcome import WholeFields
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.distributed.rows import checked_part, ranges_of
from edgewise.engine.lowering.binding import parameter_values
from edgewise.errors import DistributedError, EdgewiseError, EdgewiseWarning, GraphError, MemoryLimitError
from edgewise.execution import Chosen, Execution
from edgewise.graph import Graph
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.ids import Ids
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.memory import RefusedBySystem, Step, held, in_turn
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.program.declare import Program
from edgewise.run import Prepared, prepared_for
from edgewise.schedule import Schedule

_NOTHING = np.empty(0, np.uint8)


def choose_ranks(
    name: str, graph: Graph, device: Any, schedule: Schedule | None, deliveries: tuple[type, ...]
) -> Chosen | None:
    """Where a run on several ranks goes: on the CPU of each, or on the GPU of each if it can be there. None for one
    rank alone, which does as an ordinary call.

    Args:
        name, graph, device, schedule: as for `edgewise.execution.choose`.
        deliveries: see `schedule_of_rank`.

    Raises:
        ScheduleError: as `schedule_of_rank`.
        DistributedError, DeviceError: as `edgewise.distributed.ranks_for`.
    """
    of_rank = schedule_of_rank(name, schedule, deliveries)
    group, on_gpu = ranks_for(name, graph, device, schedule)
    if is_alone(group):
        return None
    note = f"on {group.size} ranks, of which this is rank {group.rank}"
    return Chosen(of_rank, on_gpu, False, (note,), is_free=on_gpu and device == "auto")


def is_alone(group: Group) -> bool:
    """Whether there is one rank, which needs no code for several."""
    return group.size == 1


def on_ranks(name: str, find: Callable[..., Any]) -> Callable[..., Any]:
    """A form that is carried out on all ranks: it refuses calls that differ, and explains what this rank sent."""

    @functools.wraps(find)
    def found_on_ranks(*args: Any) -> Any:
        group, run = connect(), args[-1]
        if not all(isinstance(each, Graph) for each in args[:-1]):  # names and graphs were compared before
            _check_same_call(name, group, (*args[:-1], repr(run.schedule.delivery)))
        before = group.sent_bytes
        found = find(*args)
        run.explain(f"this rank sent {group.sent_bytes - before:,} bytes to other ranks")
        return found

    return found_on_ranks


def _check_same_call(name: str, group: Group, args: tuple[Any, ...]) -> None:
    """Refuse calls whose arguments, but for the graph, differ between ranks."""
    import hashlib

    digest = hashlib.blake2b(name.encode(), digest_size=16)
    for part in _content(args):
        digest.update(part)
    rank = group.differing(digest.digest())
    if rank is not None:
        raise DistributedError(
            f"{name}: rank {group.rank} has other arguments than rank {rank}; expected the same call on all ranks, "
            "with the same sources, limits and other arguments"
        )


def _content(value: Any) -> Iterator[bytes]:
    """The content of an argument but for graphs, and for what it does not call `asked`."""
    if isinstance(value, tuple):
        for each in getattr(value, "asked", value):
            yield from _content(each)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield value.tobytes()
    elif not isinstance(value, Graph):
        yield from (
            _content(tuple(vars(value).values())) if hasattr(value, "__dict__") else [repr(value).encode()]
        )


def prepared_on_ranks(
    program: type[Program], graph: Graph, schedule: Schedule, on_gpu: bool = False
) -> Prepared:
    """A program to be carried out on all ranks as part of a run, each of which gets the whole outcome."""
    return prepared_for(program, graph, "cuda" if on_gpu else "cpu", schedule, make=_Whole)


@final
class _Whole(PreparedRank):
    """A program whose outcome has the fields of all vertices; those that are looked up are gathered."""

    def carry_out(
        self, run: Execution, values: dict[str, Any], limit: int | None, beside: int = 0
    ) -> Outcome:
        part: Any = super().carry_out(run, values, limit, beside)
        return Outcome(WholeFields(part), {}, part.aggregates, part.supersteps, part.ended, part.notes)


@contextlib.contextmanager
def refusing_together(group: Group) -> Iterator[None]:
    """An error of one rank meanwhile ends the call on all ranks."""
    try:
        with group.in_run():
            yield
    except RefusedBySystem as error:
        refused = MemoryLimitError(str(error))
        group.refuse(refused)
        raise refused from error
    except (EdgewiseError, EdgewiseWarning) as error:
        group.refuse(error)
        raise
    group.everywhere(np.empty(0, np.uint8))  # a rank that refuses says so here


def program_memory(program: type[Program], graph: Graph, schedule: Schedule, **given: Any) -> Step:
    """The memory of a run of a program on this rank, with its outcome gathered.

    Args:
        program, graph, schedule: what is run, and how.
        given: parameters, and arrays for fields, as for the run; arrays may be empty.
    """
    prepared = prepared_on_ranks(program, graph, schedule)
    parameters = parameter_values(prepared._binding, given)
    engine = prepared._engine(parameters, False, None)
    fields = {name: value for name, value in given.items() if name not in parameters}
    gathered = held(2 * prepared._binding.result_bytes)
    return in_turn(engine.running(schedule.num_threads or 1, fields), gathered)


def own_part(graph: Graph, group: Group, *, weighted: bool, inward: bool = False) -> Graph:
    """The directed graph of all vertices with the arcs of this rank, about as many as of each other; of a graph in a
    file nothing else is read. All ranks call it.

    Args:
        graph, group: the graph, and the ranks.
        weighted: whether weights are needed.
        inward: whether with the in-edges of the same vertices instead, as arcs from these; the graph has in-edges.
    """
    own, weighs = arc_ranges(graph, group).own, weighted and graph.weighted
    rows = _rows(graph, group, weighs, inward)
    first, end = int(rows.offsets[own.start]), int(rows.offsets[own.stop])
    offsets = np.zeros(graph.num_vertices + 1, offset_dtype(end - first))
    offsets[own.start : own.stop + 1] = rows.offsets[own.start : own.stop + 1] - first
    offsets[own.stop :] = end - first
    weights = rows.weights[first:end] if weighs else None
    return Graph(Rows(offsets, rows.targets[first:end], weights), Ids(graph.num_vertices), True, 0)


def _rows(graph: Graph, group: Group, weighs: bool, inward: bool) -> Any:
    """Rows, or in-edges: those of all vertices in memory, or those of this rank's in a file, which are checked."""
    if _in_part(graph, group, inward):
        return checked_part(graph, group, arc_ranges(graph, group), inward=inward, weights=weighs)
    if inward:
        return Rows(graph.in_offsets, graph.in_sources, graph.in_weights if weighs else None)
    return graph


def own_arcs(graph: Graph, group: Group, *, inward: bool = False) -> tuple[slice, int]:
    """The vertices that have arcs in `own_part`, and how many arcs these are; of a graph in a file as it says.

    Args:
        graph, group, inward: see `own_part`.
    """
    own = arc_ranges(graph, group).own
    if _in_part(graph, group, inward):
        offsets = graph.unchecked_offsets(inward=inward)
    else:
        offsets = graph.in_offsets if inward else graph.offsets
    return own, int(offsets[own.stop]) - int(offsets[own.start])


_begins: WeakKeyDictionary[Graph, dict[int, list[int]]] = WeakKeyDictionary()


def arc_ranges(graph: Graph, group: Group) -> Ranges:
    """The vertices whose arcs ranks have, found once for each graph and number of ranks."""
    begins = _begins.setdefault(graph, {})
    if group.size not in begins:
        begins[group.size] = ranges_of(graph, group, False, _in_part(graph, group)).begins
    return Ranges(group.rank, begins[group.size])


def _in_part(graph: Graph, group: Group, inward: bool = False) -> bool:
    """Whether ranks read the rows of their vertices, or the in-edges, alone, of a file."""
    return group.size > 1 and graph.part(slice(0, 0), inward=inward) is not None


def share_of(number: int, group: Group) -> slice:
    """This rank's share of so many things in a row."""
    return _share(number, group.rank, group.size)


def in_shares(values: np.ndarray, count: int) -> list[np.ndarray]:
    """Values in so many shares, in a row."""
    return [values[_share(len(values), place, count)] for place in range(count)]


def _share(number: int, place: int, count: int) -> slice:
    return slice(number * place // count, number * (place + 1) // count)


def gathered(own: np.ndarray, group: Group) -> np.ndarray:
    """The arrays of all ranks, one after the other, on all ranks; of one dtype, and of any lengths."""
    parts, _ = group.everywhere(np.ascontiguousarray(own).view(np.uint8))
    return np.concatenate([part.view(own.dtype) for part in parts])


def found_or_refused(find: Callable[[], Any], refusal: GraphError, group: Group) -> Any:
    """What this rank finds; the refusal on all ranks if one of them meets a GraphError."""
    found, refused = None, False
    try:
        found = find()
    except GraphError:
        refused = True
    if group.total(refused):
        raise refusal
    return found


def sum_of_ranks(values: np.ndarray, group: Group, add: Any = np.add) -> np.ndarray:
    """The sum of an array over all ranks, added in their order, on each of them; or what another function of NumPy for
    two arrays makes of zeros and what ranks have."""
    parts = in_shares(values, group.size)
    received, _ = group.exchange([np.ascontiguousarray(part).view(np.uint8) for part in parts])
    sums = np.zeros_like(parts[group.rank])
    for part in received:
        add(sums, as_values(part, values.dtype, len(sums)), out=sums)
    return gathered(sums, group)


def tell_own(values: np.ndarray, dtype: np.dtype, ranges: Ranges, group: Group) -> None:
    """Fill in the values of all vertices, of which each rank has those of its own.

    Args:
        values: shape (n,).
        dtype: one that holds them all, in which they are told.
        ranges, group: the vertices of ranks, and the ranks.
    """
    for rank, part in enumerate(told_by_others(values[ranges.own].astype(dtype), group)):
        if rank != group.rank:
            of = ranges.of(rank)
            values[of] = as_values(part, dtype, of.stop - of.start)


def tell_chosen(values: np.ndarray, chosen: np.ndarray, other: Any, ranges: Ranges, group: Group) -> None:
    """Fill in the values of chosen vertices, of which each rank has those of its own, and another one for the rest.

    Args:
        values: shape (n,), of 4 or 8 bytes each.
        chosen: bool, shape (n,), the same on all ranks.
        other: the value of vertices of other ranks that are not chosen.
        ranges, group: the vertices of ranks, and the ranks.
    """
    unsigned = np.dtype(f"u{values.itemsize}")
    rest = np.array(other, values.dtype).view(unsigned)[()]
    own = values[ranges.own].compress(chosen[ranges.own])
    for rank, part in enumerate(told_by_others(own, group)):
        if rank != group.rank:
            of = ranges.of(rank)
            told = as_values(part, unsigned, int(np.count_nonzero(chosen[of])))
            run_alone(spread, chosen[of], np.append(told, rest), rest, values[of].view(unsigned))


def least_of_offers(values: np.ndarray, ranges: Ranges, group: Group) -> None:
    """Lower the values of own vertices to the least that a rank has for them.

    Args:
        values: uint32, shape (n,); `NO_VERTEX` where this rank has none.
        ranges, group: the vertices of ranks, and the ranks.
    """
    none, parts = np.uint32(NO_VERTEX), [_NOTHING] * group.size
    for rank in range(group.size):
        if rank != group.rank:
            offered = values[ranges.of(rank)]
            parts[rank] = packed_flags(offered != none, ranges.of(rank), [offered])
    own = values[ranges.own]
    for part in group.exchange(parts)[0]:
        places, (offered,) = placed(part, ranges.own, [own.dtype])
        if isinstance(places, np.ndarray) and places.dtype == np.bool_:
            told = np.empty_like(own)
            run_alone(spread, places, np.append(offered, none), none, told)
            np.minimum(own, told, out=own)
        else:
            own[places] = np.minimum(own[places], offered)


def told_by_others(own: np.ndarray, group: Group) -> list[np.ndarray]:
    """What each other rank tells all others, uint8; nothing of this one, which tells them an array."""
    parts = [np.ascontiguousarray(own).view(np.uint8)] * group.size
    parts[group.rank] = _NOTHING
    return group.exchange(parts)[0]


def as_values(part: np.ndarray, dtype: np.dtype, count: int) -> np.ndarray:
    """The values that a rank told. Raises DistributedError if there are not so many."""
    if len(part) != count * dtype.itemsize:
        raise meaningless()
    return part.view(dtype)


@team_kernel
def spread(thread: Any, size: Any, control: Any, chosen: Any, told: Any, rest: Any, values: Any) -> None:
    """Give chosen vertices the values that follow each other in `told`, and others `rest`; by one thread. `told` has
    one value more, so that no branch depends on what cannot be predicted."""
    k = np.uint64(0)
    for v in range(np.uint64(len(values))):
        keeps = np.uint64(chosen[v])
        mask = values.dtype.type(0) - values.dtype.type(keeps)
        values[v] = (told[k] & mask) | (rest & ~mask)
        k += keeps


Columns = tuple[np.ndarray, ...]


def join_edges(
    own: Columns,
    join: Callable[..., Columns],
    group: Group,
    packed: Callable[[Columns], np.ndarray] | None = None,
    unpacked: Callable[[np.ndarray], Columns] | None = None,
) -> Columns:
    """Join what ranks have found, two by two, until one rank has all of it; it tells the others.

    Args:
        own: columns of what this rank has found, of one length, and of the same dtypes on all ranks.
        join: gives such columns for those of two ranks together.
        group: the ranks.
        packed, unpacked: how columns are told, as uint8, and read; otherwise one after the other, as they are.

    Returns:
        The columns of all ranks together, on each of them, as the first rank has them or as they were told.
    """
    dtypes, size, rank, step = [column.dtype for column in own], group.size, group.rank, 1
    pack = packed or _as_bytes
    unpack = unpacked or (lambda part: _as_columns(part, dtypes))
    while step < size:
        parts = [_NOTHING] * size
        if rank % (2 * step) == step:
            parts[rank - step] = pack(own)
        received, _ = group.exchange(parts)
        if rank % (2 * step) == 0 and rank + step < size:
            others = unpack(received[rank + step])
            own = join(*(np.concatenate(both) for both in zip(own, others, strict=True)))
        step *= 2
    told = _told_by_first(pack(own) if rank == 0 else _NOTHING, group)
    return own if rank == 0 else unpack(told)


def _told_by_first(told: np.ndarray, group: Group) -> np.ndarray:
    """The bytes of the first rank, on all ranks. It sends a share to each other rank, which sends it to the rest: so no
    rank sends more than there is."""
    size, rank = group.size, group.rank
    share = group.exchange([_NOTHING, *in_shares(told, size - 1)])[0][0]
    shares = [_NOTHING] * size
    if size > 2:
        to_rest = [_NOTHING, *[share] * (size - 1)]
        to_rest[rank] = _NOTHING
        shares, _ = group.exchange(to_rest)
    shares[rank] = share
    return told if rank == 0 else np.concatenate(shares)


def joining_rounds(group: Group) -> int:
    """How many rounds `join_edges` has."""
    return (group.size - 1).bit_length()


def _as_bytes(columns: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate([np.ascontiguousarray(column).view(np.uint8) for column in columns])


def _as_columns(given: np.ndarray, dtypes: list[np.dtype]) -> tuple[np.ndarray, ...]:
    return tuple(columns_of(given, len(given) // sum(dtype.itemsize for dtype in dtypes), dtypes))
