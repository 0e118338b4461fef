"""The checker of the contract of work (`edgewise.balance`): every arc once, in a unit of its vertex, lanes together;
and what is put into an outbox comes out once.

Run in numba's simulator, it checks what one lane and one block do; tests/test_gpu_views.py runs it on a GPU.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from replicated import balance_for, replicated

from edgewise import schedule
from edgewise.balance.block import make_block_mapped
from edgewise.balance.columnar import make_columnar
from edgewise.balance.contract import CONTROL as STRATEGY_CONTROL
from edgewise.balance.contract import COUNTERS, WHOLE, Bodies
from edgewise.balance.grouped import make_grouped
from edgewise.balance.registry import strategy_of
from edgewise.engine.cuda.arguments import Arcs
from edgewise.engine.cuda.layout import lay_out
from edgewise.engine.cuda.rows import rows_of
from edgewise.graph import Graph
from edgewise.kernels.cuda import arguments as cuda_arguments
from edgewise.kernels.cuda import launch as cuda_launch
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import array, pointer
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    WARP,
    WARPS,
    atomic_add,
    block_barrier,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.layout.slots_cuda import LayoutArrays
from edgewise.primitives.by_degree import SCRATCH, make_binned
from edgewise.primitives.deal import TALLY_WORDS, list_pieces, make_deal, make_walk, most_pieces
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes, make_outbox

VIEWS = {f"{lanes} lanes": make_grouped(lanes) for lanes in (1, 2, 4, 8, 16, 32)}
VIEWS |= {"block": make_block_mapped, "binned": make_binned}
OTHERS = ("pieces", "dealt", "outbox", "layout")
STRATEGIES = {
    "auto": "auto",
    "thread": schedule.ThreadMapped(),
    "virtual warp": schedule.WarpMapped(8),
    "block for each": schedule.BlockMapped(),
    "by degree": schedule.Binned(),
    "edge-based": schedule.EdgeBased(),
    "edge by edge": schedule.EdgeBased(chunking=False),
    "decomposition": schedule.WorkloadDecomposition(),
    "merge path": schedule.MergePath(),
    "splitting": schedule.NodeSplitting(),
    "splitting at 1": schedule.NodeSplitting(1),
    "splitting at 7": schedule.NodeSplitting(7),
    "hierarchy": schedule.HierarchicalProcessing(),
    "hierarchy by 3": schedule.HierarchicalProcessing(3),
    "hierarchy of 2": schedule.HierarchicalProcessing(5, depth=2),
    "hierarchy of 0": schedule.HierarchicalProcessing(depth=0),
    "slots": replicated,
}
NAMES = (*VIEWS, *OTHERS, *STRATEGIES)
#: Degrees at which a view may change its mind, and others.
DEGREES = (2049, 0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 2047, 2048, 5000)
#: Words of `control`: pieces, units with lanes that disagree, arcs of another vertex; what strategies count in.
CONTROL = STRATEGY_CONTROL.more()
PIECES, APART, STRANGE, COUNTER = (CONTROL.take(), CONTROL.take(), CONTROL.take(), CONTROL.take(COUNTERS))
BOXES = 2
WORDS_OF_BOXES, HELD = BOXES * BOX_WORDS, BOXES * WARPS


@device_function
def see(v, k, offsets, visits, control):
    """Note that an arc was visited as one of a vertex."""
    atomic_add(visits, k, np.uint32(1))
    if not np.int64(offsets[v]) <= k < np.int64(offsets[v + 1]):
        atomic_add(control, STRANGE, 1)


@device_function
def arcs_of(i, count, vertices, offsets):
    """The vertex of a lane and where its arcs begin and end; none beyond the last."""
    if i >= count:
        return np.int64(0), np.int64(0), np.int64(0)
    v = np.int64(vertices[i])
    return v, np.int64(offsets[v]), np.int64(offsets[v + 1])


def make_view_kernel(make, listed):
    """A kernel that notes what a view does with vertices in two ranges."""

    @device_function
    def body(v, first, end, step, lanes, context):
        offsets, visits, control = context
        if lanes > WARP:
            block_barrier()  # hangs where not all threads of the block are here
            if lanes != block_size():
                atomic_add(control, APART, 1)
        place = lane() % min(lanes, np.int64(WARP))
        if shuffle(v, lane() - place) != v:  # hangs where not all lanes of the warp are here
            atomic_add(control, APART, 1)
        for k in range(first, end, step):
            see(v, k, offsets, visits, control)

    each = make(body, listed)

    def view_kernel(offsets, vertices, count, visits, control, pieces):
        scratch = cuda.shared.array(SCRATCH, UINT32)
        middle = count // 3
        each(vertices, np.int64(0), middle, offsets, scratch, (offsets, visits, control))
        each(vertices, middle, count, offsets, scratch, (offsets, visits, control))

    return view_kernel


def make_dealing_kernel(with_pieces):
    """A kernel that notes what dealing arcs out does, of listed pieces or of a warp's vertices."""

    @device_function
    def visit(takes, v, key, k, context):
        offsets, visits, control = context
        if shuffle(np.int64(1), 0) != 1 or (takes and key != 7 * v):  # the shuffle hangs as above
            atomic_add(control, APART, 1)
        if takes:
            see(v, k, offsets, visits, control)
        return np.int64(takes), np.int64(0)

    @device_function
    def key_of(v, context):
        return 7 * v

    walk, deal = make_walk(visit, key=key_of), make_deal(visit, key=True)

    def dealing_kernel(offsets, vertices, count, visits, control, pieces):
        context, seen, degrees = (offsets, visits, control), np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), count, num_threads()):
            i = begin + lane()
            v, start, end = arcs_of(i, count, vertices, offsets)
            degrees += end - start
            if with_pieces:
                list_pieces(v, i < count, pieces, control, PIECES, offsets)
            else:
                seen += deal(v, start, end - start, 7 * v, context)[0]
        if with_pieces:
            grid_barrier(control, np.int64(0))
            seen += walk(pieces, control[PIECES], offsets, context)[0]
        atomic_add(control, STRANGE, seen)
        atomic_add(control, STRANGE, -degrees)

    return dealing_kernel


def make_outbox_kernel():
    """A kernel that puts two of three arcs into two outboxes, and notes what comes out of them."""

    @device_function
    def note(k, wanted, context):
        visits, control = context
        if shuffle(np.int64(1), 0) != 1:  # hangs where not all lanes of the warp are here
            atomic_add(control, APART, 1)
        if wanted:
            atomic_add(visits, k, np.uint32(1))
        return np.int64(wanted)

    boxes = [make_outbox(box, note) for box in range(BOXES)]
    (put, flush), (put_other, flush_other) = boxes

    @device_function
    def visit(takes, v, key, k, context):
        block, noted = context
        seen = put(k, takes and k % 3 == 0, block, noted) + put_other(k, takes and k % 3 == 1, block, noted)
        return seen + note(k, takes and k % 3 == 2, noted), np.int64(0)

    deal = make_deal(visit)

    def outbox_kernel(offsets, vertices, count, visits, control, pieces):
        words = cuda.shared.array(WORDS_OF_BOXES, UINT32)
        held = cuda.shared.array(HELD, UINT32)
        block, noted, seen, degrees = Boxes(words, held), (visits, control), np.int64(0), np.int64(0)
        for i in range(block_thread(), HELD, block_size()):
            held[i] = 0
        block_barrier()
        for begin in range(thread_index() - lane(), count, num_threads()):
            v, start, end = arcs_of(begin + lane(), count, vertices, offsets)
            degrees += end - start
            seen += deal(v, start, end - start, np.int64(0), (block, noted))[0]
        seen += flush(block, noted) + flush_other(block, noted)
        atomic_add(control, STRANGE, seen)
        atomic_add(control, STRANGE, -degrees)

    return outbox_kernel


class Visiting(NamedTuple):
    """What a kernel takes that notes what a strategy does.

    Attributes:
        vertices, num: those to send, and how many.
        low, high: the range of those that gather.
        visits: of each arc.
        gathered, parts: arcs that were gathered over, of each vertex and of each part.
        plan: the strategy's arrays.
    """

    graph: Arcs
    vertices: cuda_arguments.Uint32s
    num: int
    low: int
    high: int
    visits: cuda_arguments.AtomicUint32s
    gathered: cuda_arguments.AtomicInt64s
    parts: cuda_arguments.AtomicInt64s
    control: cuda_arguments.AtomicInt64s
    plan: Annotated[Any, cuda_arguments.Elements("plan")]


class Run(NamedTuple):
    """What a strategy asks of a run."""

    graph: Any
    plan: Any
    control: Any
    tally: Any
    scratch: Any


def make_strategy_kernel(balance, pulls):
    """A kernel that notes what a strategy does: for listed vertices, or gathering over the in-edges of a range.

    Of gathered units it adds up the arcs for each vertex, those of parts when they are joined.
    """

    @device_function
    def scatter(v, first, end, step, lanes, context):
        offsets, visits, control = context[:3]
        if shuffle(np.int64(1), 0) != 1:  # hangs where not all lanes of the warp are here
            atomic_add(control, APART, 1)
        for k in range(first, end, step):
            see(v, k, offsets, visits, control)

    @device_function
    def visit(takes, v, key, k, context):
        scatter(v if takes else np.int64(-1), k, k + 1 if takes else k, np.int64(1), np.int64(1), context)
        return np.int64(0), np.int64(0)

    @device_function
    def gather(v, first, end, step, lanes, part, context):
        scatter(v, first, end, step, lanes, context)
        arcs, (gathered, parts) = max((end - first + step - 1) // step, np.int64(0)), context[3:]
        if v >= 0 and part >= 0:
            atomic_add(parts, part, arcs)
        elif v >= 0:
            atomic_add(gathered, v, arcs)

    @device_function
    def join(v, first, end, context):
        gathered, parts = context[3:]
        if shuffle(v, 0) != v:
            atomic_add(context[2], APART, 1)
        if lane() == 0:
            for part in range(first, end):
                atomic_add(gathered, v, parts[part])

    @device_function
    def add(takes, v, k, context):
        gather(v if takes else np.int64(-1), k, k + 1 if takes else k, 1, 1, np.int64(WHOLE), context)

    bodies = Bodies(visit, scatter, gather, join, add)
    list_units, push_all, pull_all = strategy_of(balance).make(bodies)

    def strategy_kernel(it):
        graph, vertices, count, control, degrees = it.graph, it.vertices, it.num, it.control, np.int64(0)
        tally = cuda.shared.array(TALLY_WORDS, INT64)
        scratch = cuda.shared.array(SCRATCH, UINT32)
        run = Run(graph, it.plan, control, tally, scratch)
        offsets = graph.in_offsets if pulls else graph.offsets
        context = (offsets, it.visits, control, it.gathered, it.parts)
        if pulls:
            pull_all(it.low, it.high, np.int64(0), context, run)
        else:
            for begin in range(thread_index() - lane(), count, num_threads()):
                i, v = begin + lane(), np.int64(0)
                if i < count:
                    v = np.int64(vertices[i])
                    degrees -= np.int64(offsets[v + 1]) - np.int64(offsets[v])
                degrees += list_units(v, i < count, COUNTER, run)
            atomic_add(control, STRANGE, degrees)
            generation = grid_barrier(control, np.int64(0))
            push_all(vertices, count, COUNTER, generation, context, run)

    return strategy_kernel


def check_strategy(choice, degrees):
    """Check a strategy on a graph whose vertices have these out-degrees, and on the reversed graph, gathering."""
    xp, n = cuda_memory.cupy(), len(degrees)
    own = np.repeat(np.arange(n), degrees)
    other = np.random.default_rng(1).integers(0, n, len(own))
    for pulls in (False, True):
        graph = Graph.from_edges(*((other, own) if pulls else (own, other)), num_vertices=n)
        graph.make_in_edges()
        balance = balance_for(graph, choice)
        strategy = strategy_of(balance)
        offsets = np.dtype(f"u{graph.stored.offsets.itemsize}")
        plan_type = cuda_arguments.type_of(strategy.arrays, offset=offsets)
        kinds = (cuda_arguments.type_of(Visiting, offset=offsets, plan=plan_type),)
        kernel = cuda_launch.fixed_kernel(make_strategy_kernel, kinds, balance, pulls)
        plan = strategy.prepare(rows_of(graph), True, True)
        there = graph.gpu
        rows = [there.offsets, there.targets, there.in_offsets, there.in_sources, there.offsets]
        begins = graph.in_offsets if pulls else graph.offsets
        for vertices in ranges(n) if pulls else lists(n):
            visits, gathered, control = (
                xp.zeros(len(own), np.uint32),
                xp.zeros(n, np.int64),
                xp.zeros(CONTROL.size, np.int64),
            )
            parts = xp.zeros(max(1, plan.num_parts), np.int64)
            listed, mine = xp.asarray(vertices.astype(np.uint32)), plan.of_run(xp.empty)
            low, high = (vertices[0], vertices[-1] + 1) if pulls and len(vertices) else (0, 0)
            arguments = (listed, len(vertices), int(low), int(high), visits, gathered, parts, control, mine)
            kernel.start([Visiting(Arcs(*rows), *arguments)])
            expected = np.zeros(len(own), int)
            for v in vertices:
                expected[begins[v] : begins[v + 1]] = 1
            np.testing.assert_array_equal(
                cuda_memory.host_copy(visits), expected, err_msg=f"{balance} {pulls}"
            )
            control = cuda_memory.host_copy(control)
            assert control[APART] == control[STRANGE] == 0, f"{balance} {pulls}: {control}"
            if pulls:
                totals = np.where(np.isin(np.arange(n), vertices), degrees, 0)
                np.testing.assert_array_equal(cuda_memory.host_copy(gathered), totals, err_msg=str(balance))


class LaidOutVisiting(NamedTuple):
    """What a kernel takes that notes which arcs of a layout are gathered over; rows low to high - 1 gather."""

    layout: LayoutArrays
    arcs: cuda_arguments.Uint32s
    low: int
    high: int
    visits: cuda_arguments.AtomicUint32s
    owners: cuda_arguments.Uint32s
    control: cuda_arguments.AtomicInt64s


def make_layout_kernel():
    """A kernel that notes what a lane for each row, or more, does with a range of rows."""

    @device_function
    def gather(v, first, end, step, lanes, part, it):
        if shuffle(np.int64(1), 0) != 1 or part != WHOLE:  # the shuffle hangs as above
            atomic_add(it.control, APART, 1)
        for k in range(first, end, step):
            arc = np.int64(it.arcs[k])
            atomic_add(it.visits, arc, np.uint32(1))
            if it.owners[arc] != v:
                atomic_add(it.control, STRANGE, 1)

    gather_all = make_columnar(gather)

    def layout_kernel(it):
        gather_all(it.low, it.high, np.int64(0), it, it)

    return layout_kernel


def check_layout(degrees):
    """Check how a layout's rows are shared out, on a graph whose vertices have these in-degrees."""
    xp, n = cuda_memory.cupy(), len(degrees)
    owners = np.repeat(np.arange(n), degrees)
    graph = Graph.from_edges(np.zeros(len(owners), int), owners, num_vertices=n)
    kernel = cuda_launch.fixed_kernel(make_layout_kernel(), (cuda_arguments.type_of(LaidOutVisiting),))
    for group_size, split in ((1, False), (4, False), (32, True)):
        layout = schedule.Layout(sort="linear", group_size=group_size, split=split)
        laid_out = lay_out(graph, layout, False, True)
        units, rows, arcs = laid_out.units, laid_out.rows, laid_out.arcs
        owners, order = xp.asarray(graph.targets.astype(np.uint32)), cuda_memory.host_copy(units.vertices)
        for each in ranges(n):
            low, high = (int(each[0]), int(each[-1]) + 1) if len(each) else (0, 0)
            visits, control = xp.zeros(graph.num_arcs, np.uint32), xp.zeros(CONTROL.size, np.int64)
            kernel.start([LaidOutVisiting(rows, arcs, low, high, visits, owners, control)])
            expected = np.isin(graph.targets, order[low:high])
            np.testing.assert_array_equal(cuda_memory.host_copy(visits), expected, err_msg=str(layout))
            assert cuda_memory.host_copy(control)[[APART, STRANGE]].tolist() == [0, 0], layout


def signature():
    """The types of the kernels' arguments."""
    vertex, word = np.dtype(np.uint32), np.dtype(np.int64)
    return (pointer(vertex), pointer(vertex), INT64, array(vertex), array(word), pointer(word))


def lists(num_vertices):
    """Vertices to visit: all, none, one, some in any order."""
    random = np.random.default_rng(1)
    yield np.arange(num_vertices)
    yield np.arange(0)
    yield np.array([num_vertices // 3])
    yield random.permutation(num_vertices)[: num_vertices // 2]


def ranges(num_vertices):
    """Vertices to visit that are neighbours: all, none, one, the first third and the others."""
    third = num_vertices // 3
    for low, high in ((0, num_vertices), (0, 0), (third, third + 1), (0, third), (third, num_vertices)):
        yield np.arange(low, high)


def check(name, degrees):
    """Check one way of giving arcs out, on a graph whose vertices have these degrees."""
    if name in STRATEGIES:
        check_strategy(STRATEGIES[name], degrees)
        return
    if name == "layout":
        check_layout(degrees)
        return
    xp, n = cuda_memory.cupy(), len(degrees)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)
    m = int(offsets[-1])
    for listed in (True, False) if name in VIEWS else (True,):
        if name in VIEWS:
            kernel = cuda_launch.fixed_kernel(make_view_kernel, signature(), VIEWS[name], listed)
        elif name == "outbox":
            kernel = cuda_launch.fixed_kernel(make_outbox_kernel(), signature())
        else:
            kernel = cuda_launch.fixed_kernel(make_dealing_kernel, signature(), name == "pieces")
        for vertices in lists(n) if listed else [np.arange(n)]:
            visits, control = xp.zeros(m, np.uint32), xp.zeros(CONTROL.size, np.int64)
            on_gpu = [xp.asarray(values.astype(np.uint32)) for values in (offsets, vertices)]
            pieces = xp.empty(most_pieces(n, m), np.int64)
            kernel.start(
                [*on_gpu, len(vertices), cuda_arguments.words(visits), cuda_arguments.words(control), pieces]
            )
            expected = np.zeros(m, int)
            for v in vertices:
                expected[offsets[v] : offsets[v + 1]] = 1
            np.testing.assert_array_equal(cuda_memory.host_copy(visits), expected, err_msg=name)
            control = cuda_memory.host_copy(control)
            assert control[APART] == 0, f"{name}: lanes of a unit were not together"
            assert control[STRANGE] == 0, f"{name}: an arc was visited as one of another vertex"


def main():
    """Print the name of each view that keeps the contract; the exit code is 1 where one does not."""
    from simulator import pretend

    pretend()
    for name in NAMES:
        few = (0, 1, 2, 17, 65, 3) if name in STRATEGIES else DEGREES[1:12]
        check(name, DEGREES[:8] if name in ("binned", "layout") else few)
        print(name, flush=True)


if __name__ == "__main__":
    main()
