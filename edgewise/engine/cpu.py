"""The CPU engine: a program on all cores, the whole superstep loop inside one compiled function.

Every thread of a team enters the kernel once and stays until the run ends (`edgewise.kernels.team`). At each
superstep thread 0 picks one of four forms from the number of active vertices and of their out-edges:

*alone*
    A small frontier: thread 0 carries out whole supersteps by itself, with no barrier in between.
*push from a list*
    Threads share the list of active vertices; messages are combined into the target with compare-and-swap.
    Vertices that got a message are listed, and only they and the active ones are computed.
*push over all* and *pull over all*
    A large frontier: threads share ranges of vertices. Pull gathers over in-edges, without atomics.

Messages lie in one array with the identity wherever there is none, so edges never see a value that a vertex
writes in the same superstep: the barrier between the two phases takes the place of a second copy of the fields.
Who is active, and who got a message, is a stamp that equals the number of the superstep; nothing is cleared.

An ordered combiner (`Combiner.ordered`) is never used from two threads at once on one vertex: small frontiers
are pushed by thread 0 in list order, large ones pulled in the order of in-edges. The choice depends on counts
only, so the sums do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from edgewise.engine.binding import Binding, initial_edge_value, initial_vertex_value, parameter_values
from edgewise.engine.compiled import CompiledProgram, edge_names, numba_type
from edgewise.engine.outcome import Outcome
from edgewise.execution import SMALL_WORK, Execution
from edgewise.inspection import STATE_ARRAYS, STATE_SCALARS
from edgewise.kernels.atomics import atomic_add, atomic_exchange, compare_and_swap
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.team import NUM_SLOTS, barrier, cancelled, claim, report, rewind
from edgewise.schedule import Pull, Push

#: Words of the array `shared`, a cache line apart: what the threads of one run agree on. COUNT and EDGES are the
#: active vertices and their out-edges; LISTED is the length of their list, or -1 where there is none.
COUNT, EDGES, LISTED, NEXT, TOUCHED, FLIP, FORM, SUPERSTEP, ENDED = range(0, 72, 8)
#: The number of supersteps carried out in each form follows.
FORMS = 72
SHARED_WORDS = FORMS + 8
ALONE, PUSH_LIST, PUSH_ALL, PULL_ALL, MAKE_LIST = range(5)
FORM_NAMES = ("by one thread alone", "push from a list", "push over all vertices", "pull over all vertices")
ENDINGS = ("no vertex is active", "max_supersteps was reached", "the program's proceed returned False")

#: List entries that a thread reserves at a time, and the mark of an entry it did not use.
SEGMENT = 64
NO_VERTEX = np.uint32(0xFFFFFFFF)
#: Vertices handed out at a time in phases over all vertices, and list entries in the others.
RANGE = 1024
#: Vertices whose aggregates are folded together. It fixes the order of float sums.
BLOCK = 4096
#: A frontier of fewer active vertices and edges is left to thread 0: two barriers would cost as much.
ALONE_WORK = 1500

#: Pull over all in-edges when the frontier has more than one in so many of them.
PULL_ADVANTAGE = 3

#: Supersteps to try on the calling thread when a run on a small graph has no limit of its own.
FEW_SUPERSTEPS = 300
#: Stamps have 32 bits; a workspace is given up long before they wrap.
LAST_STAMP = 2**31

AUTO, PUSH, PULL = range(3)


@device_function
def _append(entries: Any, cursors: Any, thread: Any, shared: Any, counter: Any, v: Any) -> None:
    """Add a vertex to a list that all threads write, in segments reserved by one atomic addition."""
    position = cursors[thread, 0]
    if position == cursors[thread, 1]:
        position = atomic_add(shared, counter, SEGMENT)
        cursors[thread, 1] = position + SEGMENT
    entries[position] = v
    cursors[thread, 0] = position + 1


@device_function
def _finish_segment(entries: Any, cursors: Any, thread: Any) -> None:
    """Mark what is left of this thread's segment as unused."""
    for position in range(cursors[thread, 0], cursors[thread, 1]):
        entries[position] = NO_VERTEX
    cursors[thread, 0] = 0
    cursors[thread, 1] = 0


def _glue(compiled: CompiledProgram, binding: Binding) -> dict[str, Any]:
    """Functions that differ in how many fields there are, written out as source: numba tuples have fixed length."""
    found = binding.found
    sources = {name: f"vertex_fields[{i}]" for i, name in enumerate(found.vertex_fields)}
    sources |= {name: f"edge_fields[{i}]" for i, name in enumerate(found.edge_fields)}
    sources |= {name: f"parameters[{i}]" for i, name in enumerate(found.parameters)}
    sources |= {name: f"aggregates[{i}][0]" for i, name in enumerate(found.aggregators)}
    sources |= {name: f"sizes[{i}]" for i, name in enumerate(STATE_SCALARS)}
    sources |= {name: f"degrees[{i}]" for i, name in enumerate(STATE_ARRAYS)}
    state = ", ".join(sources[name] for name in compiled.state_class._fields)
    values = {"source": "source", "target": "target", "index": "index"}
    for i, name in enumerate(found.edge_fields):
        values[name] = f"edge_fields[{i}][index]" if name in found.edge_writes else f"along[{i}][k]"
    edge = ", ".join(values[name] for name in edge_names(found))
    fills = [
        f"    if not given[{i}]:\n        vertex_fields[{i}][start:end] = initial[{i}]"
        for i in range(len(found.vertex_fields))
    ]
    folds, totals = [], []
    for i, (name, declared) in enumerate(found.aggregators.items()):
        identity = f"cast_{name}({declared.combine.identity(binding.aggregates[name])!r})".replace("inf", "np.inf")
        folds.append(
            f"    total = {identity}\n    for v in range(start, end):\n"
            f"        total = cast_{name}(combine_{name}(total, cast_{name}(function_{name}(v, state))))\n"
            f"    partials[{i}][block] = total"
        )
        totals.append(
            f"    total = {identity}\n    for block in range(blocks):\n"
            f"        total = cast_{name}(combine_{name}(total, partials[{i}][block]))\n"
            f"    aggregates[{i}][0] = total"
        )
    text = f"""
def make_state(fields, graph, superstep):
    vertex_fields, edge_fields, parameters, aggregates, degrees = fields
    sizes = (np.int64(len(graph[0]) - 1), np.int64(len(graph[1])), np.int64(superstep))
    return State({state or "sizes[2]"},)

def make_edge(source, target, k, index, along, fields):
    edge_fields = fields[1]
    return Edge({edge},)

def fill_fields(start, end, fields, initial, given):
    vertex_fields = fields[0]
{chr(10).join(fills) or "    pass"}

def fold_block(block, start, end, state, partials):
{chr(10).join(folds) or "    pass"}

def fold_blocks(blocks, partials, fields):
    aggregates = fields[3]
{chr(10).join(totals) or "    pass"}
"""
    scope: dict[str, Any] = {"State": compiled.state_class, "Edge": compiled.edge_class, "np": np}
    for name, declared in found.aggregators.items():
        scope[f"cast_{name}"] = _caster(binding.aggregates[name])
        scope[f"combine_{name}"] = device_function(declared.combine.function)
        scope[f"function_{name}"] = compiled.functions[name]
    exec(text, scope)  # the text holds names of this program and indices, nothing that a user wrote
    return {
        name: device_function(scope[name])
        for name in ("make_state", "make_edge", "fill_fields", "fold_block", "fold_blocks")
    }


def _caster(dtype: np.dtype) -> Any:
    """A compiled function that casts a value to a dtype by the contract's rule."""
    if dtype.kind == "b":
        return device_function(lambda value: value != 0)
    to = numba_type(dtype)
    return device_function(lambda value: to(value))




def make_kernel(compiled: CompiledProgram, binding: Binding, message: np.dtype, key: str | None) -> Any:
    """The kernel of one program for given dtypes.

    In the functions inside, ``graph`` is (offsets, targets, in_offsets, in_sources, in_arcs), ``fields`` is
    (vertex fields, edge fields, parameters, aggregates, degrees), ``along`` holds the edge fields that are only
    read, in the order of out-edges and of in-edges, and ``work`` is a `Workspace`'s arrays. A vertex is active
    in a superstep, or got a message in it, if its stamp equals the superstep's.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        message: the dtype of messages.
        key: what the compiled code depends on beyond edgewise itself.
    """
    found, functions, glue = binding.found, compiled.functions, _glue(compiled, binding)
    make_state, make_edge, fill_fields = glue["make_state"], glue["make_edge"], glue["fill_fields"]
    fold_block, fold_blocks = glue["fold_block"], glue["fold_blocks"]
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    initialize, proceed = functions["initialize"], functions["proceed"]
    combine = functions.get("combine") or device_function(found.combine.function)
    cast, identity = _caster(message), message.type(found.combine.identity(message))
    ordered, asynchronous = found.combine.ordered(message), found.program.asynchronous
    has_proceed, has_aggregates = found.has_proceed, bool(found.aggregators)
    needs_arcs = found.needs_arc_index
    # Once a logical combiner has its absorbing value no further message can change it.
    absorbing = {"ANY": True, "ALL": False}.get(found.combine.name)
    can_stop = absorbing is not None and message.kind == "b" and not found.edge_writes

    @device_function
    def combine_atomically(messages, target, value):
        while True:
            old = messages[target]
            new = cast(combine(old, value))
            if new == old or compare_and_swap(messages, target, old, new):
                return

    @device_function
    def push_vertex(u, stamp, state, graph, fields, along, work, shared, thread, alone, listing):
        messages, received, active, touched, cursors = work[0], work[1], work[2], work[5], work[6]
        offsets, targets = graph[0], graph[1]
        for k in range(np.int64(offsets[u]), np.int64(offsets[u + 1])):
            target = np.int64(targets[np.uint64(k)])
            sent = edge_compute(make_edge(u, target, np.uint64(k), k, along[0], fields), state)
            if sent is not None:
                value = cast(sent)
                if alone:
                    messages[target] = cast(combine(messages[target], value))
                else:
                    combine_atomically(messages, target, value)
                if received[target] != stamp:
                    first = True
                    if alone:
                        received[target] = stamp
                    else:
                        first = atomic_exchange(received, target, stamp) != stamp
                    if listing and first and active[target] != stamp:
                        _append(touched, cursors, thread, shared, TOUCHED, target)

    @device_function
    def pull_vertex(v, stamp, everyone, state, graph, fields, along, work):
        messages, received, active = work[0], work[1], work[2]
        in_offsets, in_sources, in_arcs = graph[2], graph[3], graph[4]
        total, got = identity, False
        for k in range(np.int64(in_offsets[v]), np.int64(in_offsets[v + 1])):
            u = np.int64(in_sources[np.uint64(k)])
            if everyone or active[u] == stamp or (asynchronous and active[u] == stamp + np.uint32(1)):
                arc = np.int64(in_arcs[np.uint64(k)]) if needs_arcs else np.int64(0)
                sent = edge_compute(make_edge(u, v, np.uint64(k), arc, along[1], fields), state)
                if sent is not None:
                    total, got = cast(combine(total, cast(sent))), True
                    if can_stop and total == absorbing:
                        break
        if got:
            messages[v] = total
            received[v] = stamp

    @device_function
    def settle(v, stamp, state, work):
        messages, received, active = work[0], work[1], work[2]
        incoming = identity
        if received[v] == stamp:
            incoming = messages[v]
            messages[v] = identity
        if vertex_compute(v, incoming, state):
            active[v] = stamp + np.uint32(1)
            return True
        return False

    @device_function
    def settle_list(entries, start, end, stamp, state, graph, work, shared, thread):
        """Compute listed vertices and list those that are active next; how many, and their out-edges."""
        active, cursors, following = work[2], work[6], work[4] if shared[FLIP] == 0 else work[3]
        count, edges = np.int64(0), np.int64(0)
        for position in range(start, end):
            v = np.int64(entries[np.uint64(position)])
            if v != NO_VERTEX and settle(v, stamp, state, work):
                _append(following, cursors, thread, shared, NEXT, v)
                count += 1
                edges += np.int64(graph[0][v + 1]) - np.int64(graph[0][v])
        return count, edges

    @device_function
    def superstep_alone(stamp, state, graph, fields, along, work, shared):
        listed, touched, cursors = work[3] if shared[FLIP] == 0 else work[4], work[5], work[6]
        for position in range(shared[LISTED]):
            u = np.int64(listed[np.uint64(position)])
            if u != NO_VERTEX:
                push_vertex(u, stamp, state, graph, fields, along, work, shared, 0, True, True)
        _finish_segment(touched, cursors, 0)
        count, edges = settle_list(listed, 0, shared[LISTED], stamp, state, graph, work, shared, 0)
        more, more_edges = settle_list(touched, 0, shared[TOUCHED], stamp, state, graph, work, shared, 0)
        following = work[4] if shared[FLIP] == 0 else work[3]
        _finish_segment(following, cursors, 0)
        shared[COUNT] = count + more
        shared[EDGES] = edges + more_edges

    @device_function
    def list_active(start, end, stamp, work, shared, thread):
        listed = work[3] if shared[FLIP] == 0 else work[4]
        for v in range(start, end):
            if work[2][v] == stamp:
                _append(listed, work[6], thread, shared, NEXT, v)

    @device_function
    def turn_lists(shared):
        """What was listed for the next superstep becomes the list of this one."""
        shared[LISTED] = shared[NEXT]
        shared[NEXT] = 0
        shared[TOUCHED] = 0
        shared[FLIP] = 1 - shared[FLIP]

    @device_function
    def choose(graph, shared, delivery, can_pull):
        n, m = np.int64(len(graph[0]) - 1), np.int64(len(graph[1]))
        volume = shared[COUNT] + shared[EDGES]
        if delivery == PULL:
            return PULL_ALL
        small = volume < (max(ALONE_WORK, m // 16) if ordered else ALONE_WORK)
        if (small and not has_aggregates) or (ordered and (delivery == PUSH or not can_pull)):
            return ALONE
        if ordered:
            return PULL_ALL
        if volume * 4 < n:
            return PUSH_LIST
        if delivery == AUTO and can_pull and shared[EDGES] * PULL_ADVANTAGE > m:
            return PULL_ALL
        return PUSH_ALL

    @device_function
    def ending(graph, fields, shared, superstep, limit):
        """Why the run ends before the next superstep, as an index of ENDINGS, or -1 if it goes on."""
        if has_proceed and superstep > 0 and not proceed(make_state(fields, graph, superstep)):
            return 2
        if shared[COUNT] == 0:
            return 0
        return 1 if superstep == limit else -1

    @device_function
    def aggregate(control, size, slot, blocks, state, n, partials):
        """Fold the vertices of each block that this thread gets."""
        while has_aggregates:
            block = claim(control, slot, 1, blocks)
            if block >= blocks:
                return
            fold_block(block, block * BLOCK, min(n, (block + 1) * BLOCK), state, partials)

    @device_function
    def decide(control, graph, fields, along, work, partials, shared, base, limit, delivery, can_pull):
        """Thread 0, between supersteps: end, or pick a form. Supersteps that need one thread are run at once."""
        n, superstep = len(graph[0]) - 1, shared[SUPERSTEP]
        blocks = (n + BLOCK - 1) // BLOCK
        while not cancelled(control):
            if has_aggregates:
                fold_blocks(blocks, partials, fields)
            shared[ENDED] = ending(graph, fields, shared, superstep, limit)
            if shared[ENDED] >= 0:
                return
            report(control, superstep)
            form = choose(graph, shared, delivery, can_pull)
            if form <= PUSH_LIST and shared[LISTED] < 0:
                if not ordered:
                    shared[FORM] = MAKE_LIST
                    return
                list_active(0, n, base + np.uint32(superstep + 1), work, shared, 0)
                _finish_segment(work[3] if shared[FLIP] == 0 else work[4], work[6], 0)
                shared[LISTED] = shared[NEXT]
                shared[NEXT] = 0
            superstep += 1
            shared[SUPERSTEP] = superstep
            shared[FORM] = form
            shared[FORMS + form] += 1
            if form != ALONE:
                return
            state = make_state(fields, graph, superstep)
            superstep_alone(base + np.uint32(superstep), state, graph, fields, along, work, shared)
            turn_lists(shared)
            if has_aggregates:
                for block in range(blocks):
                    fold_block(block, block * BLOCK, min(n, (block + 1) * BLOCK), state, partials)

    @device_function
    def start_run(control, graph, fields, initial, given, work, shared, base):
        """Fill fields and call initialize on the ranges that this thread gets."""
        n, state = len(graph[0]) - 1, make_state(fields, graph, 0)
        count, edges = np.int64(0), np.int64(0)
        while True:
            start = claim(control, 0, RANGE, n)
            if start >= n:
                break
            end = min(n, start + RANGE)
            fill_fields(start, end, fields, initial, given)
            for v in range(start, end):
                if initialize(v, state):
                    work[2][v] = base + np.uint32(1)
                    count += 1
                    edges += np.int64(graph[0][v + 1]) - np.int64(graph[0][v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def edge_phase(control, thread, everyone, form, stamp, state, graph, fields, along, work, shared):
        """Deliver the messages of the pieces that this thread gets, in the form of this superstep."""
        n = np.int64(len(graph[0]) - 1)
        listed = work[3] if shared[FLIP] == 0 else work[4]
        end = shared[LISTED] if form == PUSH_LIST else n
        step = SEGMENT if form == PUSH_LIST else RANGE
        while True:
            start = claim(control, 0, step, end)
            if start >= end:
                break
            for position in range(start, min(end, start + step)):
                u = np.int64(listed[np.uint64(position)]) if form == PUSH_LIST else position
                if form == PULL_ALL:
                    v = n - 1 - u if asynchronous and (stamp & 1) == 0 else u
                    pull_vertex(v, stamp, everyone, state, graph, fields, along, work)
                    if asynchronous and work[1][v] == stamp:
                        settle(v, stamp, state, work)
                elif u != NO_VERTEX and (form == PUSH_LIST or work[2][u] == stamp):
                    push_vertex(
                        u, stamp, state, graph, fields, along, work, shared, thread, False, form == PUSH_LIST
                    )
        _finish_segment(work[5], work[6], thread)

    @device_function
    def vertex_phase_list(control, thread, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's pieces of the two lists: active before, and got a message."""
        count, edges = np.int64(0), np.int64(0)
        for which in range(2):
            listed = work[3] if shared[FLIP] == 0 else work[4]
            entries, end = (listed, shared[LISTED]) if which == 0 else (work[5], shared[TOUCHED])
            while True:
                start = claim(control, 1 + which, SEGMENT, end)
                if start >= end:
                    break
                here, out = settle_list(
                    entries, start, min(end, start + SEGMENT), stamp, state, graph, work, shared, thread
                )
                count += here
                edges += out
        _finish_segment(work[4] if shared[FLIP] == 0 else work[3], work[6], thread)
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def vertex_phase_all(control, thread, fused, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's ranges that are active or got a message.

        A fused pull has computed those that got one already.
        """
        n, count, edges = np.int64(len(graph[0]) - 1), np.int64(0), np.int64(0)
        received, active = work[1], work[2]
        while True:
            start = claim(control, 1, RANGE, n)
            if start >= n:
                break
            for v in range(start, min(n, start + RANGE)):
                if fused and received[v] == stamp:
                    goes_on = active[v] == stamp + np.uint32(1)
                else:
                    touched = active[v] == stamp or received[v] == stamp
                    goes_on = touched and settle(v, stamp, state, work)
                if goes_on:
                    count += 1
                    edges += np.int64(graph[0][v + 1]) - np.int64(graph[0][v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def make_list(control, thread, graph, work, shared, stamp):
        """List the active vertices of the ranges that this thread gets."""
        n = np.int64(len(graph[0]) - 1)
        while True:
            start = claim(control, 0, RANGE, n)
            if start >= n:
                break
            list_active(start, min(n, start + RANGE), stamp, work, shared, thread)
        _finish_segment(work[3] if shared[FLIP] == 0 else work[4], work[6], thread)

    def program_kernel(
        thread, size, control, graph, fields, along, work, partials, initial, given, shared, base, limit, how
    ):
        n, delivery, can_pull = np.int64(len(graph[0]) - 1), how[0], how[1] != 0
        blocks = (n + BLOCK - 1) // BLOCK
        start_run(control, graph, fields, initial, given, work, shared, base)
        if barrier(control, size):
            return
        aggregate(control, size, 3, blocks, make_state(fields, graph, 0), n, partials)
        while not barrier(control, size):
            if thread == 0:
                decide(control, graph, fields, along, work, partials, shared, base, limit, delivery, can_pull)
                for slot in range(NUM_SLOTS):
                    rewind(control, slot)
            if barrier(control, size) or shared[ENDED] >= 0:
                return
            form, superstep = shared[FORM], shared[SUPERSTEP]
            everyone = shared[COUNT] == n and not asynchronous
            if form == MAKE_LIST:
                make_list(control, thread, graph, work, shared, base + np.uint32(superstep + 1))
                if barrier(control, size):
                    return
                if thread == 0:
                    shared[LISTED], shared[NEXT] = shared[NEXT], 0
                continue
            stamp, state = base + np.uint32(superstep), make_state(fields, graph, superstep)
            edge_phase(control, thread, everyone, form, stamp, state, graph, fields, along, work, shared)
            if barrier(control, size):
                return
            if thread == 0:
                shared[COUNT] = 0
                shared[EDGES] = 0
            if barrier(control, size):
                return
            if form == PUSH_LIST:
                vertex_phase_list(control, thread, stamp, state, graph, work, shared)
            else:
                fused = asynchronous and form == PULL_ALL
                vertex_phase_all(control, thread, fused, stamp, state, graph, work, shared)
            if barrier(control, size):
                return
            if thread == 0:
                if form == PUSH_LIST:
                    turn_lists(shared)
                else:
                    shared[LISTED] = -1
            aggregate(control, size, 3, blocks, state, n, partials)

    program_kernel.__qualname__ = found.name
    return kernel(program_kernel, key=key)


class Workspace:
    """The arrays that a run works in, kept between runs: messages, stamps, lists, counters."""

    def __init__(self, num_vertices: int, identity: Any, message: np.dtype, num_threads: int) -> None:
        room = num_vertices + (num_threads + 1) * SEGMENT
        self.base, self.num_threads = 0, num_threads
        self.arrays = (
            np.full(num_vertices, identity, message),
            np.zeros(num_vertices, np.uint32),
            np.zeros(num_vertices, np.uint32),
            np.empty(room, np.uint32),
            np.empty(room, np.uint32),
            np.empty(room, np.uint32),
            np.zeros((num_threads, 8), np.int64),
        )

    @staticmethod
    def nbytes(num_vertices: int, message: np.dtype) -> int:
        """The memory that a workspace takes."""
        return num_vertices * (message.itemsize + 5 * 4)


class CpuProgram:
    """A program compiled for the CPU and laid out for one graph. Calls from several threads are safe.

    Args:
        compiled: the program's functions.
        binding: the program on its graph.
        message: the dtype of messages.
        key: what the compiled code depends on beyond edgewise itself.
        delivery: "auto", `Push()` or `Pull()`.
        pull: whether the graph's in-edges may be used; they are made here if they were not yet.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, key: str | None, delivery: Any, pull: bool
    ) -> None:
        self._binding, self._message = binding, message
        self._how = ({Push: PUSH, Pull: PULL}.get(type(delivery), AUTO), int(pull))
        self._kernel = make_kernel(compiled, binding, message, key)
        self._free: list[Workspace] = []
        found, graph = binding.found, binding.graph
        offsets, targets = _unsigned(graph.offsets), _unsigned(graph.targets)
        none = np.zeros(0, np.int32)
        self._graph = (offsets, targets, offsets[:0], targets[:0], none)
        if pull:
            arcs = graph.in_arcs if found.needs_arc_index else none
            self._graph = (offsets, targets, _unsigned(graph.in_offsets), _unsigned(graph.in_sources), arcs)
        self._degrees = tuple(getattr(graph, name) if name in found.state_reads else none for name in STATE_ARRAYS)

    def memory_needed(self) -> int:
        """Bytes that a run allocates beyond the graph."""
        graph, binding = self._binding.graph, self._binding
        vertex = sum(dtype.itemsize for dtype in binding.vertex.values()) * graph.num_vertices
        written = sum(binding.edge[name].itemsize for name in binding.found.edge_writes) * graph.num_arcs
        return vertex + written + Workspace.nbytes(graph.num_vertices, self._message)

    def __call__(self, run: Execution, given: dict[str, Any], limit: int | None) -> Outcome:
        """Carry out one run.

        Args:
            run: threads and progress.
            given: values of parameters and fields by name.
            limit: the largest number of supersteps, or None.
        """
        graph = self._binding.graph
        work = graph.num_arcs + graph.num_vertices
        if limit is None and work < SMALL_WORK:
            # Without a limit a run on the calling thread could not be interrupted: try a few supersteps, and if
            # that is not the end, begin again on the team.
            outcome = self._run(run, given, FEW_SUPERSTEPS, work)
            if outcome.ended != ENDINGS[1]:
                return outcome
        return self._run(run, given, limit, SMALL_WORK if limit is None else work * limit)

    def _run(self, run: Execution, given: dict[str, Any], limit: int | None, work: int) -> Outcome:
        workspace = self._take_workspace(run.num_threads)
        fields, along, initial, supplied = self._fields(given)
        vertex_fields, edge_fields, _, aggregates, _ = fields
        blocks = -(-self._binding.graph.num_vertices // BLOCK)
        partials = tuple(np.empty(blocks, array.dtype) for array in aggregates)
        shared = np.zeros(SHARED_WORDS, np.int64)
        shared[LISTED] = shared[ENDED] = -1
        run.launch(
            self._kernel,
            self._graph,
            fields,
            along,
            workspace.arrays,
            partials,
            initial,
            supplied,
            shared,
            np.uint32(workspace.base),
            -1 if limit is None else limit,
            self._how,
            work=work,
        )
        supersteps = int(shared[SUPERSTEP])
        workspace.base += supersteps + 2
        self._free.append(workspace)  # not after an exception: messages may then be left in it
        found = self._binding.found
        return Outcome(
            dict(zip(found.vertex_fields, vertex_fields, strict=True)),
            {name: array for name, array in zip(found.edge_fields, edge_fields, strict=True) if name in found.edge_writes},
            {name: array[0].item() for name, array in zip(found.aggregators, aggregates, strict=True)},
            supersteps,
            ENDINGS[int(shared[ENDED])],
            self._notes(shared),
        )

    def _take_workspace(self, num_threads: int) -> Workspace:
        """A workspace that no other run uses now."""
        while self._free:
            workspace = self._free.pop()
            if workspace.base < LAST_STAMP and workspace.num_threads >= num_threads:
                return workspace
        identity = self._binding.found.combine.identity(self._message)
        return Workspace(self._binding.graph.num_vertices, identity, self._message, num_threads)

    def _fields(self, given: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        """The arrays of one run, as the kernel takes them."""
        binding, graph, found = self._binding, self._binding.graph, self._binding.found
        starts = [initial_vertex_value(binding, name, given) for name in found.vertex_fields]
        supplied = tuple(isinstance(start, np.ndarray) for start in starts)
        vertex_fields = tuple(
            start.copy() if isinstance(start, np.ndarray) else np.empty(graph.num_vertices, start.dtype)
            for start in starts
        )
        initial = tuple(
            start.dtype.type(0) if isinstance(start, np.ndarray) else start for start in starts
        )
        edge_fields, along_out, along_in = [], [], []
        for name in found.edge_fields:
            start = initial_edge_value(binding, name, given)
            everywhere = np.broadcast_to(start, (graph.num_arcs,))
            edge_fields.append(everywhere.copy() if name in found.edge_writes else everywhere)
            along_out.append(edge_fields[-1])
            along_in.append(self._in_order_of_in_edges(name, start, edge_fields[-1]))
        aggregates = tuple(np.zeros(1, dtype) for dtype in binding.aggregates.values())
        parameters = tuple(parameter_values(binding, given).values())
        fields = (vertex_fields, tuple(edge_fields), parameters, aggregates, self._degrees)
        return fields, (tuple(along_out), tuple(along_in)), initial, supplied

    def _in_order_of_in_edges(self, name: str, start: Any, field: np.ndarray) -> np.ndarray:
        """An edge field that is only read, as pulling reads it."""
        graph = self._binding.graph
        if name in self._binding.found.edge_writes or not isinstance(start, np.ndarray) or not self._how[1]:
            return field
        if start is graph.weights:
            return graph.in_weights
        return field[graph.in_arcs]

    @staticmethod
    def _notes(shared: np.ndarray) -> tuple[str, ...]:
        forms = [f"{int(shared[FORMS + form])} {name}" for form, name in enumerate(FORM_NAMES) if shared[FORMS + form]]
        return (f"supersteps: {', '.join(forms)}",) if forms else ()


def _unsigned(array: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers, which numba indexes without a test for negative ones."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))
