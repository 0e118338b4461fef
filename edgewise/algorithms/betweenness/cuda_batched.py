"""Brandes' accumulation of dependencies on a GPU: a batch of sources at a time, level by level for all of them at once.

A vertex has a value for each source of the batch, side by side, and a mask of the sources that have it on the level
that is being expanded, as in MS-BFS. There are two forms of a level.

*push*
    Arcs of listed vertices set bits of the masks of what they lead to, and list it. Then listed vertices add up the
    numbers of paths of their in-neighbours.
*pull*
    Each vertex that some source has not reached adds up the numbers of paths of its in-neighbours, for these sources. A
    source whose sum is not 0 has reached it. This form is for levels at which pushing would look at most arcs, too.

On the way back the listed vertices of each level, the deepest first, add up the shares ``(1 + dependency) / paths`` of
their out-neighbours on the next level, and write their own in place of the numbers of paths.

Rows are added up by `edgewise.primitives.row_sums`, in an order that depends on the graph and the batch alone; a
vertex's dependencies are added level by level, the deepest first, and within a level in the order of sources. So the
same call gives the same bits, which differ from the CPU's by rounding.

Where counts leave the range of float64, the batch goes on with powers from the level that it has reached. The batches
after it in the same call have powers from the start: see `cuda_path_counts`.

References. Brandes, Journal of Mathematical Sociology 25 (2001); Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper,
Neumann and Vo, "The More the Merrier: Efficient Multi-Source Graph Traversal", VLDB 2015 (masks); Sariyüce, Kaya, Saule
and Çatalyürek, "Betweenness centrality on GPUs and heterogeneous architectures", GPGPU 2013 (several sources at once).
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.betweenness.cuda_batch import (
    CONTROL,
    COUNTED,
    COUNTS,
    DONE,
    EDGES,
    ENDED,
    FORMS,
    FOUND,
    HOST,
    KNOWN,
    LONG_ROWS,
    TOO_LARGE,
    UNFINISHED,
    Batch,
    Block,
    Level,
    Numbers,
    State,
    add_ends,
    add_to_count,
    begin_batch,
    flush,
    forget,
    hand_in_counts,
    has_long_rows,
    next_pass,
    push,
    push_long,
)
from edgewise.algorithms.betweenness.cuda_batched_writes import make_write_paths, make_write_shares
from edgewise.algorithms.betweenness.cuda_path_counts import FIRST, LARGE, SMALL, make_plus
from edgewise.algorithms.betweenness.memory import batch_bytes, widest
from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, offset_dtype
from edgewise.execution import Execution
from edgewise.graph import Arrays, Graph
from edgewise.kernels.cuda.arguments import Int64s, type_of
from edgewise.kernels.cuda.device import (
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    WARP,
    WARPS,
    block_barrier,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    inlined,
    lane,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    PROGRESS,
    copy_of,
    empty,
    fits,
    signals,
    wait,
    written_forms,
    zeros,
)
from edgewise.primitives.control import TURNS, turns_after
from edgewise.primitives.deal import degree
from edgewise.primitives.direction import BATCH_RATIO, pays_to_pull
from edgewise.primitives.row_sums import (
    LONG,
    SHARED_SUMS,
    SummedRows,
    Worklist,
    make_sums,
    turn_of_lane,
)
from edgewise.primitives.warp_buffers import BOX_WORDS

FORM_NAMES = ("pushed", "pulled")
_pays_to_pull = inlined(pays_to_pull)


class Accumulation(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph.
        state, numbers: see there.
        sources: different vertices, shape (num_sources,).
        n, m, num_sources: vertices, arcs, sources.
        done: how many sources are in the sums already. The host is told how many are in the end.
        shift: 1 << shift sources at a time.
        endpoints: whether paths count for their ends, too.
        has_long: whether there are long rows.
        depth, edges, unfinished: the level that the first batch has reached without powers, see `search`; 0 if it is
            not begun.
    """

    graph: GraphOnGpu
    state: State
    numbers: Numbers
    sources: Int64s
    n: int
    m: int
    num_sources: int
    done: int
    shift: int
    endpoints: bool
    has_long: bool
    depth: int
    edges: int
    unfinished: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Accumulation, offset=offsets),)


@device_function
def _worklist_of(numbers: Any, here: Any, state: Any, block: Any) -> Any:
    """The worklist of the pass whose words begin at `here`."""
    word = here + LONG_ROWS
    return Worklist(numbers.long_rows, state.control, word, block.sums, block.powers, block.taken)


def _make_pull(add_paths: Any, add_long_paths: Any) -> Any:
    """A device function that finds a level by pulling."""

    @device_function
    def pull_short(batch, level, rows, worklist, context):
        """Let every vertex that some source has not reached add up paths. Long rows go to the worklist."""
        _, _, _, _, block = context
        for first in range(thread_index() - lane(), batch.n, num_threads()):
            v, start, length, wanted = first + lane(), np.int64(0), np.int64(0), np.uint32(0)
            if v < batch.n:
                wanted = np.uint32(batch.full & ~rows.masks[level.reached + v])
                if wanted != 0:
                    start, length = np.int64(rows.offsets[v]), degree(v, rows.offsets)
            add_to_count(length, UNFINISHED, block)
            add_paths(v, start, length, wanted, length > 0, rows, worklist, context)

    @inlined
    def pull(batch, level, rows, worklist, context, generation):
        """Let every vertex that some source has not reached add up paths. Returns the barrier's turn."""
        pull_short(batch, level, rows, worklist, context)
        if batch.has_long:
            generation = grid_barrier(worklist.control, generation)
            add_long_paths(rows, worklist, context)
        return generation

    return pull


def _make_count_paths(add_paths: Any, add_long_paths: Any) -> Any:
    """A device function that counts the paths to a level that was found by pushing."""

    @device_function
    def count_short(begin, end, state, level, rows, worklist, context):
        """Let vertices that were found add up paths. Long rows go to the worklist."""
        warp, warps = thread_index() // WARP, num_threads() // WARP
        for first in range(begin + warp, end, warps * WARP):
            i = first + turn_of_lane(rows.shift) * warps
            v, start, length, wanted = np.int64(0), np.int64(0), np.int64(0), np.uint32(0)
            if i < end:
                v = np.int64(state.listed[i])
                start, length = np.int64(rows.offsets[v]), degree(v, rows.offsets)
                wanted = state.masks[level.after + v]
                state.listed_masks[i] = wanted
                state.masks[level.reached + v] = np.uint32(state.masks[level.reached + v] | wanted)
            add_paths(v, start, length, wanted, i < end, rows, worklist, context)

    @inlined
    def count_paths(begin, end, state, level, rows, worklist, has_long, context, generation):
        """Let vertices that were found add up paths. Returns the barrier's turn."""
        count_short(begin, end, state, level, rows, worklist, context)
        if has_long:
            generation = grid_barrier(state.control, generation)
            add_long_paths(rows, worklist, context)
        return generation

    return count_paths


@inlined
def _push_all(begin, end, graph, state, level, worklist, has_long, block, generation):
    """Look along the arcs of the vertices listed from `begin` to `end`. Returns the barrier's turn."""
    push(begin, end, graph, state, level, worklist, block)
    if has_long:
        generation = grid_barrier(state.control, generation)
        push_long(graph, state, level, worklist, block)
    return generation


def _make_search(with_powers: bool, plus: Any) -> Any:
    """A device function that finds the levels of a batch and counts paths: the way there."""
    add_paths, add_long_paths = make_sums(with_powers, plus, make_write_paths(with_powers))
    pull = _make_pull(add_paths, add_long_paths)
    count_paths = _make_count_paths(add_paths, add_long_paths)

    @device_function
    def search(depth, edges, unfinished, graph, state, numbers, batch, block, passes, generation):
        """Find the levels and numbers of paths of a batch.

        Args:
            depth: the deepest level that is known.
            edges, unfinished: out-edges of that level, and in-edges of vertices that some source had not reached.
            graph, state, numbers, batch, block: see the kernel.
            passes, generation: passes, and the barrier's turn.

        Returns:
            The deepest level, how many were pushed and pulled, whether the run is to end, passes and the barrier's
            turn.
        """
        n, control, has_long = batch.n, state.control, batch.has_long
        begin, end = state.starts[depth], state.starts[depth + 1]
        pushed, pulled, stopped = np.int64(0), np.int64(0), False
        while end > begin and not stopped:
            passes, here = next_pass(passes, state)
            forget(n, depth - 1, depth, state)
            pulls = _pays_to_pull(edges, unfinished + n, BATCH_RATIO)
            after = turns_after(depth)[0] * n
            level = Level(here, after, 3 * n, end, pulls)
            now = np.uint64(depth % TURNS * n)
            into = (graph.in_offsets, graph.in_sources)
            rows = SummedRows(*into, state.masks, now, numbers.values, numbers.powers, batch.shift)
            worklist = _worklist_of(numbers, here, state, block)
            context = (graph.offsets, batch, state, level, block)
            if pulls:
                pulled += 1
                generation = pull(batch, level, rows, worklist, context, generation)
            else:
                pushed += 1
                generation = _push_all(begin, end, graph, state, level, worklist, has_long, block, generation)
            flush(block, (graph.offsets, state, level, block))
            hand_in_counts(here, block, control)
            generation = grid_barrier(control, generation)
            found, edges = control[here + FOUND], control[here + COUNTED + EDGES]
            stopped = control[here + TOO_LARGE] != 0 or control[here + ENDED] != 0
            if pulls:
                unfinished = control[here + COUNTED + UNFINISHED]
            else:
                passes, here = next_pass(passes, state)
                level = Level(here, after, 3 * n, end, pulls)
                worklist = _worklist_of(numbers, here, state, block)
                context = (graph.offsets, batch, state, level, block)
                last = end + found
                generation = count_paths(
                    end, last, state, level, rows, worklist, has_long, context, generation
                )
                generation = grid_barrier(control, generation)
                stopped = stopped or control[here + TOO_LARGE] != 0 or control[here + ENDED] != 0
            begin, end, depth = end, end + found, depth + 1
            if thread_index() == 0:
                state.starts[depth + 1] = end
        if thread_index() == 0 and stopped:
            state.host[KNOWN] = depth
            state.host[KNOWN + 1] = edges
            state.host[KNOWN + 2] = unfinished
        return depth - 1, pushed, pulled, stopped, passes, generation

    return search


def _make_go_back(with_powers: bool, plus: Any) -> Any:
    """A device function that adds up the dependencies of a batch: the way back."""
    add_shares, add_long_shares = make_sums(with_powers, plus, make_write_shares(with_powers))

    @device_function
    def go_back(deepest, graph, state, numbers, batch, block, passes, generation):
        """Add up the dependencies of a batch. Returns whether the run is to end, passes and the barrier's turn."""
        n, control, context, stopped = batch.n, state.control, (state.totals, batch.ends), False
        warp, warps, depth = thread_index() // WARP, num_threads() // WARP, deepest
        while depth > 0 and not stopped:
            passes, here = next_pass(passes, state)
            forget(n, depth + 2, deepest, state)
            now, mine, end = np.uint64(turns_after(depth)[0] * n), depth % TURNS * n, state.starts[depth + 1]
            out = (graph.offsets, graph.targets)
            rows = SummedRows(*out, state.masks, now, numbers.values, numbers.powers, batch.shift)
            worklist = _worklist_of(numbers, here, state, block)
            for first in range(state.starts[depth] + warp, end, warps * WARP):
                i = first + turn_of_lane(batch.shift) * warps
                v, start, length, wanted = np.int64(0), np.int64(0), np.int64(0), np.uint32(0)
                if i < end:
                    v, wanted = np.int64(state.listed[i]), state.listed_masks[i]
                    start, length = np.int64(graph.offsets[v]), degree(v, graph.offsets)
                    state.masks[mine + v] = wanted
                add_shares(v, start, length, wanted, i < end, rows, worklist, context)
            if batch.has_long:
                generation = grid_barrier(control, generation)
                add_long_shares(rows, worklist, context)
            generation = grid_barrier(control, generation)
            stopped = control[here + ENDED] != 0
            depth -= 1
        return stopped, passes, generation

    return go_back


@device_function
def _give_powers(batch: Any, numbers: Any) -> None:
    """Give powers to numbers of paths that had none."""
    for i in range(thread_index(), batch.n << batch.shift, num_threads()):
        is_large = numbers.values[i] > LARGE
        numbers.powers[i] = is_large
        if is_large:
            numbers.values[i] *= SMALL


def make_kernel(with_powers: bool) -> Any:
    """The kernel for counts with or without powers."""
    first_count, plus = 1.0 if with_powers else FIRST, make_plus(with_powers)
    search, go_back = _make_search(with_powers, plus), _make_go_back(with_powers, plus)

    def brandes_kernel(it):
        """Add up the dependencies of sources; see the module, and `Accumulation`."""
        graph, state, numbers, sources, n, m = it.graph, it.state, it.numbers, it.sources, it.n, it.m
        num_sources, done, shift, endpoints = it.num_sources, it.done, it.shift, it.endpoints
        depth, edges, unfinished = it.depth, it.edges, it.unfinished
        boxes = cuda.shared.array(BOX_WORDS, UINT32)
        held = cuda.shared.array(WARPS, UINT32)
        counts = cuda.shared.array(COUNTS, INT64)
        sums = cuda.shared.array(SHARED_SUMS, FLOAT64)
        powers = cuda.shared.array(SHARED_SUMS, INT32)
        taken = cuda.shared.array(1, INT64)
        block = Block(boxes, held, counts, sums, powers, taken)
        for i in range(block_thread(), WARPS, block_size()):
            held[i] = 0
        for i in range(block_thread(), COUNTS, block_size()):
            counts[i] = 0
        block_barrier()
        generation, passes, stopped = np.int64(0), np.int64(0), False
        pushed, pulled, ends = np.int64(0), np.int64(0), 1.0 if endpoints else 0.0
        while done < num_sources and not stopped:
            used = min(np.int64(1) << shift, num_sources - done)
            batch = Batch(n, m, shift, done, used, np.uint32((np.int64(1) << used) - 1), it.has_long, ends)
            me = thread_index()
            if depth == 0:
                edges, unfinished = np.int64(0), m
                if with_powers and me < used:
                    numbers.powers[sources[done + me] << shift | me] = 0
                generation = begin_batch(batch, state, numbers.values, sources, first_count, generation)
            elif with_powers:
                _give_powers(batch, numbers)
                generation = grid_barrier(state.control, generation)
            found = search(depth, edges, unfinished, graph, state, numbers, batch, block, passes, generation)
            deepest, more, others, stopped, passes, generation = found
            depth = np.int64(0)
            pushed += more
            pulled += others
            if not stopped:
                gone = go_back(deepest, graph, state, numbers, batch, block, passes, generation)
                stopped, passes, generation = gone
            if not stopped:
                if endpoints:
                    generation = add_ends(batch, state, sources, generation)
                done += used
            if me == 0:
                state.host[PROGRESS] = done
        if thread_index() == 0:
            state.host[DONE] = done
            state.host[FORMS] = pushed
            state.host[FORMS + 1] = pulled

    return brandes_kernel


@functools.cache
def _kernel(offsets: np.dtype, with_powers: bool) -> Kernel:
    return fixed_kernel(make_kernel, signature(offsets), with_powers)


def sources_at_a_time(graph: Graph, num_sources: int, memory_limit: int | None) -> int:
    """A power of two, at most the lanes of a warp, no more than there is memory for beside the graph."""
    n, m = graph.num_vertices, graph.num_arcs
    room = batch_bytes(n, m, WARP)
    if memory_limit is not None:
        room = min(room, memory_limit - graph.gpu.there(Arrays.BOTH_WAYS))
    width = widest(n, m, num_sources, room)
    while width > 1 and not fits(batch_bytes(n, m, width)):
        width //= 2
    return width


def accumulate(
    graph: Graph,
    sources: np.ndarray,
    done: int,
    width: int,
    step: int,
    endpoints: bool,
    total: Any,
    run: Execution,
) -> Iterator[int]:
    """Add the dependencies of sources to sums; how many sources these are over, after each `step` more.

    Args:
        graph: in-edges are made if it has none.
        sources: vertices, int64, of which some were done before.
        done: how many.
        width: how many sources to do at a time: see `sources_at_a_time`.
        step: how many sources to do in one launch.
        endpoints: whether paths count for their ends, too.
        total: float64 on the GPU, shape (n,).
        run: the run that this is.
    """
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu = graph_on_gpu(graph, run)
    has_long = graph.gpu.kept(has_long_rows)
    masks, listed, listed_masks = (empty(length, np.uint32) for length in (4 * n, n * width, n * width))
    starts, d_sources = empty(n + 2, np.int64), copy_of(sources)
    values, long_rows = empty(n * width, np.float64), empty(m // LONG + 1, np.int64)
    kernel_of, shift = functools.partial(_kernel, offset_dtype(on_gpu)), width.bit_length() - 1
    forms, had_powers = np.zeros(len(FORM_NAMES), np.int64), 0
    while done < len(sources):
        end, known = min(done + step, len(sources)), [0, 0, m]
        for with_powers in (False, True):
            control, host = zeros(CONTROL.size, np.int64), signals(HOST.size)
            host[PROGRESS] = done
            powers = empty(n * width if with_powers else 1, np.int32)
            state = State(masks, listed, listed_masks, starts, total, control, host)
            arrays = (on_gpu, state, Numbers(values, powers, long_rows), d_sources)
            given = Accumulation(*arrays, n, m, end, done, shift, endpoints, has_long, *known)
            kernel_of(with_powers).start([given])
            wait(host, run.progress)
            forms += host[FORMS : FORMS + len(forms)]
            done = int(host[DONE])
            if done == end:
                break
            known = host[KNOWN:].tolist()
            had_powers += end - done
        yield done
    if had_powers:
        run.explain(f"counts of paths left float64: {had_powers:,} sources had powers, too")
    run.explain(f"sources on the GPU: {width} at a time; levels: {written_forms(forms, FORM_NAMES)}")
