"""The contract of programs: what is refused before a run."""

import dataclasses
import sys
import textwrap

import numpy as np
import pytest
from program_cases import PATH, Plain, line_of, refused

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ProgramError, ScheduleError, VerificationError
from edgewise.program.declare import ALL, ANY, MAX, MIN, PRODUCT, SUM

LINE = {"edge": "edge_compute", "vertex": "vertex_compute"}


def test_a_program_without_its_functions_is_refused():
    class Empty(ew.Program):
        combine = ew.MIN

    refused(Empty, "Empty has no edge_compute", "@staticmethod")


def test_a_combiner_is_needed():
    class NoCombiner(Plain):
        combine = None  # type: ignore[assignment]

    refused(NoCombiner, "NoCombiner.combine", "ew.MIN")


def test_a_wrong_signature_is_refused():
    class WithSelf(Plain):
        def vertex_compute(self, v, message, state):
            return True

    refused(WithSelf, "vertex_compute", "test_program.py", "(self, v, message, state)", "@staticmethod")


def test_an_unknown_field_is_refused_with_its_line():
    class Unknown(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return state.valeu[edge.source]

    refused(Unknown, f"line {line_of(Unknown.edge_compute, 'valeu')}", "the state has no 'valeu'", "value")


def test_an_unknown_edge_name_is_refused():
    class Unknown(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return edge.length

    refused(Unknown, "the edge has no 'length'", "source, target, index, weight, mark")


def test_a_missing_return_is_refused():
    class Missing(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            if message > 3:
                return ew.ACTIVE

    refused(Missing, "vertex_compute", "a path ends without a return")

    class Bare(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            if message > 3:
                return
            return ew.HALT

    refused(Bare, "it returns nothing here", f"line {line_of(Bare.vertex_compute, 'return' + chr(10))}")


def test_an_edge_compute_without_a_return_is_refused_unless_it_writes():
    class Forgotten(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.value[edge.source] + 1

    line = line_of(Forgotten.edge_compute, "state.value")
    refused(Forgotten, f"line {line}", "it returns nothing and writes no field; return a message, or None")

    class Some(Plain):
        @staticmethod
        def edge_compute(edge, state):
            if edge.target == 1:
                return 1

    class Writing(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.mark[edge.index] = 1

    assert ew.run(Some, PATH, device="cpu").verify(PATH)
    assert ew.run(Writing, PATH, check=True).mark.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        (ew.SUM, None),
        (ew.ANY, "float32"),
        (ew.MESSAGES, None),
        pytest.param(ew.SUM, "float32", marks=pytest.mark.slow),
        pytest.param(ew.ANY, None, marks=pytest.mark.slow),
        pytest.param(ew.MESSAGES, "float32", marks=pytest.mark.slow),
    ],
)
def test_edges_may_never_send(combine, message):
    kind = message

    class Silent(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.mark[edge.index] = edge.weight

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] += 1
            return ew.ACTIVE

    silent = type("Silent", (Silent,), {"combine": combine, "message": kind})
    result = ew.run(silent, PATH)
    assert result.value.tolist() == [3, 3, 3, 3]
    assert result.mark.tolist() == [5, 6, 7]
    assert result.verify(PATH)


def test_edges_that_never_send_wake_nobody():
    class Silent(Plain):
        combine = ew.SUM

        @staticmethod
        def initialize(v, state):
            return v == 0

        @staticmethod
        def edge_compute(edge, state):
            return None

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] += 1
            return ew.HALT

    assert ew.run(Silent, PATH, device="cpu").value.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("state.value[v + 1] = 3", "may only be used at [v]"),
        ("state.mark[0] = 3", "vertex_compute writes vertex fields"),
        ("state.factor = 3", "may not be assigned"),
        ("field = state.value", "only be used as state.value[index]"),
        ("everything = state", "only be used as state.name"),
        ("v = 3", "'v' is a parameter"),
        ("match message:\n    case v: pass", "'v' is a parameter"),
        ("raise ValueError", "'raise' cannot be used"),
        ("assert message", "'assert' cannot be used"),
    ],
)
def test_statements_that_the_contract_forbids(tmp_path, statement, problem):
    statement = statement.replace("\n", "\n" + 20 * " ")
    (tmp_path / "broken.py").write_text(
        textwrap.dedent(
            f"""
            import edgewise as ew

            class Broken(ew.Program):
                value = ew.vertex("int32")
                mark = ew.edge("int32")
                factor = ew.parameter(int, default=2)
                combine = ew.SUM

                @staticmethod
                def edge_compute(edge, state):
                    return 1

                @staticmethod
                def vertex_compute(v, message, state):
                    state.value[v] = 1
                    {statement}
                    return False
            """
        )
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from broken import Broken

        with pytest.raises(ProgramError) as caught:
            ew.run(Broken(), PATH)
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["broken"]
    assert problem in str(caught.value)
    assert f"broken.py, line {17 + len(statement.splitlines()) - 1}" in str(caught.value)


def test_an_edge_may_not_write_a_vertex_field():
    class Writes(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.value[edge.target] = 3
            return 1

    refused(Writes, "edge_compute writes edge fields")


def test_what_numba_cannot_compile_is_refused_with_its_line():
    class Text(Plain):
        @staticmethod
        def edge_compute(edge, state):
            name = (1, *edge.source)
            return len(name)

    refused(Text, "edge_compute", f"line {line_of(Text.edge_compute, 'name =')}", "cannot compile")


def test_a_message_that_does_not_fit_is_refused():
    class Half(Plain):
        message = "int32"

        @staticmethod
        def edge_compute(edge, state):
            return state.value[edge.source] / 2

    refused(Half, "edge_compute", "float64", "a message is declared as int32")


def test_a_float_stored_into_an_integer_field_is_refused():
    class Half(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = message / 2
            return False

    refused(Half, f"line {line_of(Half.vertex_compute, 'message / 2')}", "a field of int32", "int()")


def test_a_vote_that_is_no_vote_is_refused():
    class Tuple(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            return 0.5

    refused(Tuple, "vertex_compute", "expected ACTIVE or HALT")


def test_infinity_inside_a_function_is_refused():
    class Infinite(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            return message == ew.INFINITY

    refused(Infinite, "vertex_compute", "INFINITY is only for init=")


def test_dtypes_that_do_not_exist_are_refused():
    class Wide(Plain):
        value = ew.vertex("float128")

    refused(Wide, "Wide.value", "float128", "int32, int64")

    class Fraction(Plain):
        value = ew.vertex("int32", init=0.5)

    refused(Fraction, "init=0.5", "int32")


def test_parameters_are_checked():
    refused(Plain, "Plain has no 'facter'", "factor", facter=3)
    refused(Plain, "expected an integer", factor=0.5)
    refused(Plain, "at most 64 bits", factor=2**70)
    refused(Plain, "shape (3,), expected (4,)", value=np.zeros(3, np.int32))
    refused(Plain, "an array of float64, expected int32", value=np.zeros(4))

    class Needs(Plain):
        start = ew.parameter(ew.VERTEX)

    refused(Needs, "Needs needs start")
    with pytest.raises(GraphError, match="99"):
        ew.run(Needs(start=99), PATH)


def test_weights_that_the_graph_lacks_are_refused():
    bare = ew.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(GraphError, match=r"Plain\.weight reads the weights of a graph that has none"):
        ew.run(Plain(), bare)


def test_what_is_no_program_is_refused():
    with pytest.raises(ProgramError, match="expected an instance"):
        ew.run("sssp", PATH)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="expected the class"):
        ew.prepare(Plain(), PATH)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="max_supersteps"):
        ew.run(Plain(), PATH, max_supersteps=-1)


def test_devices_schedules_and_memory_are_checked():
    with pytest.raises(ScheduleError, match="expected 'auto', 'cpu' or 'cuda'"):
        ew.run(Plain(), PATH, device="tpu")
    with pytest.raises(ScheduleError, match="num_threads"):
        ew.run(Plain(), PATH, schedule=ew.Schedule(num_threads=0))
    with pytest.raises(MemoryLimitError, match="the limit is 10"):
        ew.run(Plain(), PATH, memory_limit=10)


@pytest.mark.parametrize(
    "balance",
    [
        ew.ThreadMapped(),
        ew.WarpMapped(8),
        ew.BlockMapped(),
        ew.Binned(),
        ew.EdgeBased(chunking=False),
        ew.WorkloadDecomposition(),
        ew.MergePath(),
        ew.NodeSplitting(max_degree=9),
        ew.HierarchicalProcessing(depth=0),
        "warp",
        32,
        None,
    ],
)
def test_who_does_which_edges_is_for_a_gpu(balance):
    schedule = ew.Schedule(balance=balance)
    for start in (
        lambda: ew.run(Plain(), PATH, device="cpu", schedule=schedule),
        lambda: ew.bfs(PATH, 0, device="cpu", schedule=schedule),
        lambda: ew.sssp(PATH, 0, schedule=dataclasses.replace(schedule, num_threads=1)),
        lambda: ew.pagerank(PATH, device="cpu", schedule=schedule),
        lambda: ew.connected_components(PATH, device="cpu", schedule=schedule),
    ):
        with pytest.raises(
            ScheduleError, match=r"only runs on a GPU can be told|expected 'auto', or, on a GPU"
        ):
            start()


@pytest.mark.parametrize("lanes", [1, 3, 64, "8", None, 8.0])
def test_virtual_warps_have_a_power_of_two_of_lanes(lanes):
    with pytest.raises(ScheduleError, match="expected 2, 4, 8, 16 or 32"):
        ew.WarpMapped(lanes)


@pytest.mark.parametrize("value", [0, -1, 2.0, "many", None, True])
@pytest.mark.parametrize("name", ["max_degree", "bins"])
@pytest.mark.parametrize("kind", [ew.NodeSplitting, ew.HierarchicalProcessing])
def test_degrees_are_bounded_by_whole_numbers(kind, name, value):
    with pytest.raises(
        ScheduleError, match=f"{kind.__name__}: {name} is .*expected an integer of at least 1"
    ):
        kind(**{name: value})


def test_there_are_not_very_many_ranges_of_degrees():
    assert ew.NodeSplitting(bins=10**6).bins == 10**6
    with pytest.raises(ScheduleError, match="NodeSplitting: bins is 1000001; expected at most 1,000,000"):
        ew.NodeSplitting(bins=10**6 + 1)


@pytest.mark.parametrize("value", [-1, 2.0, "auto", False])
def test_sub_iterations_are_a_whole_number(value):
    with pytest.raises(ScheduleError, match=r"depth is .*expected None or an integer of at least 0"):
        ew.HierarchicalProcessing(depth=value)


def test_only_a_gpu_has_phases_and_memory_of_its_own():
    result = ew.run(Unmessaged(), PATH, device="cpu")
    assert result.phase_seconds == result.memory_bytes == {}


@pytest.mark.parametrize("value", [0, 1, None, "yes", np.array([1, 2])], ids=str)
def test_work_chunking_is_on_or_off_or_by_vertex(value):
    with pytest.raises(ScheduleError, match=r"chunking is .*expected True, False or 'vertex'"):
        ew.EdgeBased(chunking=value)


def test_combiners_have_their_identities():
    for combine in (MIN, MAX, SUM, PRODUCT, ANY, ALL):
        for dtype in map(np.dtype, ("bool", "int32", "int64", "float32", "float64")):
            identity = dtype.type(combine.identity(dtype))
            for value in (dtype.type(0), dtype.type(1)):
                if combine.name in ("ANY", "ALL") and dtype.kind != "b":
                    continue
                assert dtype.type(combine.function(identity, value)) == value, (combine.name, dtype)


class Unmessaged(ew.Program):
    """Vertex 0 is active without a message; it is told the identity."""

    seen = ew.vertex("int64", init=-1)
    combine = ew.MAX
    message = "int64"

    @staticmethod
    def initialize(v, state):
        return v == 0

    @staticmethod
    def edge_compute(edge, state):
        return 42

    @staticmethod
    def vertex_compute(v, message, state):
        state.seen[v] = message
        return ew.HALT


def test_no_message_is_the_identity_and_a_message_wakes():
    result = ew.run(Unmessaged(), PATH)
    assert result.seen.tolist() == [np.iinfo(np.int64).min, 42, -1, -1]
    assert result.supersteps == 1
    assert result.ended == "no vertex is active"
    assert result.verify(PATH)
    result.seen[2] = 5
    with pytest.raises(VerificationError, match="seen of vertex 2 is 5"):
        result.verify(PATH)
