"""Every kernel of the CUDA engine compiles for every architecture, which needs no GPU and says nothing of answers:
tests/simulate.py runs kernels in numba's simulator, tests/test_gpu.py on a GPU."""

import types
import weakref
from typing import NamedTuple

import kept_messages
import numpy as np
import pytest
import test_draws
from replicated import replicated
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.engine.delivery import decide
from edgewise.engine.lowering.binding import bind, parameter_values
from edgewise.engine.lowering.compiled import check_types, compiled_program
from edgewise.engine.lowering.constants import constant_arrays
from edgewise.program.inspect import inspect_program

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
gpu_host = pytest.importorskip("edgewise.kernels.cuda.memory")
gpu_arguments = pytest.importorskip("edgewise.kernels.cuda.arguments")
gpu_compile = pytest.importorskip("edgewise.kernels.cuda.compile")

#: Programs that between them use every part of the kernel; `make test-all` compiles the others, too.
ALL_PARTS = ("sssp", "edge fields", "logic and aggregates")
AUTOMATIC = ew.Schedule()
#: Rows in the order of vertices.
ANEW = ew.Layout(None)
OLDEST, NEWEST_MEASURED = (7, 5), (9, 0)


def machine_code(name, capability, form="SuperstepRuns", schedule=AUTOMATIC):
    """The kernel of a program, see `code_of`."""
    return code_of(*PROGRAMS[name], capability, form, schedule)


def code_of(program, values, capability, form="SuperstepRuns", schedule=AUTOMATIC, **how):
    """A program's kernel for weighted graphs, compiled anew, of one of the classes of `edgewise.engine.cuda.runs`, and
    with more that is said of its delivery."""
    from edgewise.engine.cuda import runs

    form = getattr(runs, form)
    found = inspect_program(program)
    binding = bind(found, ew.Graph.from_edges([0], [1], [2.5]))
    parameters = parameter_values(binding, values)
    message = check_types(compiled_program(found), binding, parameters)
    delivery = decide(found, message, schedule, True, True)._replace(**how)
    kernel = form.make_kernel(
        compiled_program(found, gpu.device_function),
        binding,
        message,
        constant_arrays(binding, {}, True, binding.graph).uniform,
        delivery,
    )
    return gpu_compile.compile_kernel(
        kernel, form.signature(binding, message, parameters, delivery), capability, None, form.threads
    )


EVERY_PROGRAM = [
    pytest.param(name, capability, marks=marks if name in ALL_PARTS or name in also else pytest.mark.slow)
    for capability, also, marks in (
        (NEWEST_MEASURED, ("pagerank", "user combiner"), ()),
        (OLDEST, (), pytest.mark.more),
    )
    for name in PROGRAMS
]


@pytest.mark.parametrize(("name", "capability"), EVERY_PROGRAM)
def test_every_program_compiles(name, capability):
    code = machine_code(name, capability)
    assert code.startswith(b"\x7fELF")
    assert b".text.kernel" in code


@pytest.mark.more
def test_programs_that_draw_compile():
    assert b".text.kernel" in code_of(test_draws.Numbers, {"seed": 1}, NEWEST_MEASURED)


@pytest.mark.parametrize("form", ["BestFirstRuns", "ClusterRuns"])
@pytest.mark.parametrize(("name", "capability"), [("sssp", NEWEST_MEASURED), ("components", OLDEST)])
def test_asynchronous_programs_compile(name, capability, form):
    assert b".text.kernel" in machine_code(name, capability, form)


@pytest.mark.parametrize(
    ("name", "capability", "schedule"),
    [
        ("bfs", NEWEST_MEASURED, ew.Schedule(ew.Pull(), balance=ew.BlockMapped())),
        ("bfs", NEWEST_MEASURED, ew.Schedule(balance=ew.NodeSplitting())),
        ("float sums", OLDEST, ew.Schedule(balance=ew.NodeSplitting())),
        ("bfs", (10, 0), ew.Schedule(balance=ew.EdgeBased())),
        ("bfs", OLDEST, ew.Schedule(balance=replicated(ew.generate.star(9)))),
        pytest.param(
            "logic and aggregates",
            (8, 0),
            ew.Schedule(ew.Pull(), balance=ew.WorkloadDecomposition()),
            marks=pytest.mark.more,
        ),
        pytest.param(
            "edge fields",
            (10, 0),
            ew.Schedule(balance=ew.EdgeBased(chunking=False)),
            marks=pytest.mark.more,
        ),
        pytest.param(
            "bfs", (12, 0), ew.Schedule(balance=ew.HierarchicalProcessing()), marks=pytest.mark.more
        ),
    ],
    ids=str,
)
def test_every_strategy_and_architecture_is_compiled_for(name, capability, schedule):
    assert b".text.kernel" in machine_code(name, capability, schedule=schedule)


@pytest.mark.parametrize(
    ("name", "capability", "schedule"),
    [
        ("median", OLDEST, AUTOMATIC),
        pytest.param("vote", NEWEST_MEASURED, ew.Schedule(balance=ew.EdgeBased()), marks=pytest.mark.slow),
        ("float sums", NEWEST_MEASURED, ew.Schedule(ew.Buffered(), balance=ew.ThreadMapped())),
        pytest.param(
            "median", NEWEST_MEASURED, ew.Schedule(ew.Buffered(send="edges")), marks=pytest.mark.more
        ),
    ],
    ids=str,
)
def test_message_buffers_compile(name, capability, schedule):
    program, values = PROGRAMS.get(name) or (kept_messages.PROGRAMS[name], {})
    assert b".text.kernel" in code_of(program, values, capability, schedule=schedule)


@pytest.mark.parametrize(
    ("name", "capability", "schedule"),
    [
        ("sssp", OLDEST, ew.Schedule(ew.Buffered("edges"), layout=ANEW)),
        pytest.param(
            "logic and aggregates",
            NEWEST_MEASURED,
            ew.Schedule(ew.Buffered("slots"), layout=ANEW),
            marks=pytest.mark.more,
        ),
        ("pagerank", OLDEST, ew.Schedule(layout=ANEW)),
        ("pagerank", NEWEST_MEASURED, ew.Schedule(balance=ew.ThreadMapped())),
    ],
    ids=str,
)
def test_rows_that_are_computed_where_they_are_gathered_compile(name, capability, schedule):
    assert b".text.kernel" in code_of(*PROGRAMS[name], capability, schedule=schedule, fused=True)


def test_a_gpu_that_cannot_be_used_is_refused_with_the_reason():
    problem = gpu_host.problem()
    if problem is None:
        pytest.skip("there is a GPU here")
    with pytest.raises(ew.errors.DeviceError, match="device='cuda'"):
        ew.run(PROGRAMS["components"][0], ew.Graph.from_edges([0], [1]), device="cuda")


class OnGpu:
    """An array of seven elements."""

    size, dtype = 7, np.dtype(np.int32)
    data = types.SimpleNamespace(ptr=4096)


class Lists(NamedTuple):
    counts: gpu_arguments.AtomicInt32s
    keys: gpu_arguments.Keys


class Given(NamedTuple):
    lists: Lists
    n: int
    width: float


def test_arguments_are_declared_once():
    """Their types, and what a launch passes for them."""
    kind = gpu_arguments.type_of(Given, key=np.dtype(np.uint64))
    assert kind.fields == Given._fields
    assert kind.types[0].instance_class is Lists
    assert [*map(str, kind.types[0].types), *map(str, kind.types[1:])] == [
        "array(int32, 1d, C)",
        "uint64*",
        "int64",
        "float64",
    ]
    given = Given(Lists(OnGpu(), OnGpu()), 3, 0.0)
    passed = [0, 0, 7, 4, 4096, 7, 4, 4096, 3, 0]
    assert [*gpu_arguments.words_of([given])] == [*gpu_arguments.packed(given)] == passed


def test_control_words_are_given_out_once():
    from edgewise.kernels.words import LINE
    from edgewise.primitives.control import control_words

    words = control_words()
    assert (words.take(), words.take(3), words.take_line(3), words.take()) == (1, 2, LINE, LINE + 3)
    further = words.more()
    assert (further.take_line(), words.size) == (2 * LINE, LINE + 4)
    assert (words.lines_size, further.lines_size) == (2 * LINE, 3 * LINE)
    assert further.take(LINE - 1) == 2 * LINE + 1 and further.lines_size == further.size == 3 * LINE


def test_the_words_of_an_array_keep_its_memory():
    """A pool gives memory to the next array once nobody has the one before."""
    values = OnGpu()
    passed, there = gpu_arguments.words(values), weakref.ref(values)
    del values
    assert there() is not None
    assert passed == (0, 0, 7, 4, 4096, 7, 4)
    assert [*gpu_arguments.words_of([passed, 3])] == [0, 0, 7, 4, 4096, 7, 4, 3]
