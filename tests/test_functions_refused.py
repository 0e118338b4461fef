"""What the functions of a program may not do, and what is said of it: in them, and in their helpers."""

import functools
import re
import textwrap

import numpy as np
import pytest
from function_cases import CYCLE, refusal
from numba.core import errors

import edgewise as ew
from edgewise.run import Prepared


def line_in(folder, text, file="func_program.py"):
    """Where a file says something, as messages have it."""
    lines = (folder / file).read_text().splitlines()
    return f"{file}, line {1 + next(i for i, line in enumerate(lines) if text in line)}"


class Returning(ew.Program):
    """Each function returns on all paths, in other forms."""

    left = ew.vertex("int64")
    sum = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 3

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def odd(v, state):
        while True:
            for i in range(10):
                if i > v:
                    break
            if i > v - 10:
                return state.left[v] % 2

    @staticmethod
    def initialize(v, state):
        match v % 3:
            case 0:
                state.left[v] = 5
                return ew.ACTIVE
            case 1 | 2 if v > 4:
                return ew.HALT
            case _:
                state.left[v] = 2
                return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.sum[v] += message
        for i in range(state.left[v]):
            if i * i > v:
                state.left[v] = i
                return ew.ACTIVE
        else:
            state.left[v] -= 1
            return state.left[v] > 0

    @staticmethod
    def proceed(state):
        while True:
            if state.odd > 100:
                return False
            elif state.superstep > 0:
                return True


def test_functions_that_return_on_all_paths_are_not_refused():
    graph = ew.Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0])
    got, checked = (ew.run(Returning, graph, device="cpu", check=check) for check in (False, True))
    assert got.verify(graph)
    assert got.left.tolist() == checked.left.tolist()
    assert got.aggregates == checked.aggregates


NO_RETURN = {
    "if": "if v > 1:\n    return ew.HALT",
    "match": "match v:\n    case 0:\n        return ew.HALT\n    case 1:\n        return ew.ACTIVE",
    "guard": "match v:\n    case _ if v > 0:\n        return ew.HALT",
    "break": "while True:\n    for i in range(3):\n        pass\n    if v > 1:\n        break",
    "while 0": "while 0:\n    return ew.HALT",
    "for": "for i in range(v):\n    return ew.HALT",
    "for else": "for i in range(v):\n    if i > 1:\n        break\nelse:\n    return ew.HALT",
    "fixed for": "for i in range(3):\n    return ew.HALT",
    "else of an endless loop": "while True:\n    if v > 1:\n        break\nelse:\n    return ew.HALT",
}


@pytest.mark.parametrize("case", NO_RETURN)
def test_a_path_that_ends_without_a_return_is_refused(make, case):
    text = refusal(make(NO_RETURN[case], end=""))
    assert "a path ends without a return; return ACTIVE or HALT on every path" in text


SOME = "return None if edge.source == 0 else 1.0"
RAISES = {
    "StopIteration": ("state.x[v] = min(message)", SOME, "ew.MESSAGES"),
    "ValueError": ("a, b = message", "return 1.0", "ew.MESSAGES"),
    "IndexError": ("state.x[v] = (1, 2)[v]", "return 1.0", "ew.SUM"),
    "ZeroDivisionError": ("state.x[v] = state.x[v] ** -1", "return 1.0", "ew.SUM"),
}


@pytest.mark.parametrize("error", RAISES)
@pytest.mark.parametrize("threads", [1, 2])
def test_errors_in_compiled_code_name_the_program_and_what_to_do(make, tmp_path, error, threads):
    body, edge, combine = RAISES[error]
    program = make(body, edge=edge, combine=combine)
    text = refusal(program, schedule=ew.Schedule(num_threads=threads))
    assert text.startswith(f"T: compiled code ended with {error}")
    assert "check=True" in text
    text = refusal(program, check=True)
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, body)}")


SQUARE = "def square(x):\n    return x * x % 1000003\n"


@pytest.mark.parametrize("decorator", ["", "import numba\n@numba.njit\n"], ids=["plain", "compiled"])
def test_check_reports_an_overflow_in_a_helper(make, tmp_path, decorator):
    program = make(
        "state.n[v] = outer(v)",
        helpers=decorator + SQUARE,
        before="def outer(v):\n    return square(2**40 + v)",
    )
    text = refusal(program, check=True)
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, 'state.n[v] = ')}: vertex 0: ")
    assert f"in square in {line_in(tmp_path, 'x * x', 'func_helpers.py')}: OverflowError" in text


@pytest.mark.parametrize(
    ("value", "beyond"),
    [
        ("v - 2**62 - (2**62 + 1)", "vertex 0: OverflowError: -9223372036854775809 does not fit in 64 bits"),
        ("v + 2**62 + (2**62 - 2)", "vertex 2: OverflowError: 9223372036854775808 does not fit in 64 bits"),
    ],
)
def test_check_allows_no_integers_beyond_64_bits(make, value, beyond):
    assert beyond in refusal(make(f"state.n[v] = ({value}) // 5"), check=True)


def test_check_allows_all_integers_of_64_bits(make):
    value = "(v - 2**62 - 2**62) // 5 + (v + 2**62 + (2**62 - 3)) // 7"
    for check in (False, True):
        result = ew.run(make(f"state.n[v] = {value}"), CYCLE, device="cpu", check=check)
        assert result.n.tolist() == [eval(value, {"v": v}) for v in range(3)]


@pytest.mark.parametrize(("dtype", "each"), [("int64", 2**62), ("int32", 2**30)])
def test_check_reports_the_overflow_of_an_aggregate(dtype, each):
    class Total(ew.Program):
        x = ew.vertex(dtype, init=each)
        combine = ew.SUM
        max_supersteps = 1

        @ew.aggregator(ew.SUM, dtype)
        @staticmethod
        def total(v, state):
            return state.x[v]

        @staticmethod
        def edge_compute(edge, state):
            return 1

        @staticmethod
        def vertex_compute(v, message, state):
            return ew.HALT

    text = refusal(Total, check=True)
    assert "total in test_functions_refused.py, line " in text
    assert f"the aggregate total of SUM becomes {2 * each}: " in text
    assert f"{2 * each} does not fit {dtype}" in text


TWICE = "def twice(x):\n    return 2 * x\n"
MISSPELT = {
    "state.x[v] = math.squareroot(message)": "math has no 'squareroot'",
    "state.x[v] = np.foo(v)": "np has no 'foo'; did you mean np.floor?",
    "return ew.SLEEP": "ew has no 'SLEEP'",
    "state.x[v] = ew.randon(v, state)": "ew has no 'randon'; did you mean ew.random?",
    "state.x[v] = ew.random.norml(v, state)": "ew.random has no 'norml'; did you mean ew.random.normal?",
    "state.x[v] = func_helpers.twise(v)": "func_helpers has no 'twise'; did you mean func_helpers.twice?",
    "state.x[v] = func_helpers.twice(v)": "write from func_helpers import twice",
}


@pytest.mark.parametrize("body", MISSPELT)
def test_a_part_that_a_module_does_not_have_is_named_with_its_line(make, tmp_path, body):
    text = refusal(make(body, helpers=TWICE))
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, body)}: ")
    assert MISSPELT[body] in text


def test_so_is_one_in_a_helper(make):
    text = refusal(
        make("state.x[v] = root(v)", helpers="import math\ndef root(x):\n    return math.sqroot(x)\n")
    )
    assert text == "root in func_helpers.py, line 3: math has no 'sqroot'; did you mean math.sqrt?"


ARRAY = "an array of messages cannot be used like that; of messages there are len(...), an index, a slice"
MISUSED = {
    "state.x[v] = message": ARRAY,
    "state.x[v] = message * 2": ARRAY,
    "state.x[v] = message[:]": ARRAY,
    "state.x[v] = sorted(message[:])[0]": "sorted(...) makes a list, which takes memory; sort by a loop",
    "m = message; m.sort()": ARRAY,
    "state.x[v] = len(set(message))": "it takes memory",
    "message.label = 3": "messages have no 'label'",
}


@pytest.mark.parametrize("body", MISUSED)
def test_what_messages_are_not_is_said_with_its_line(make, tmp_path, body):
    text = refusal(make(f"pass\n{body}", combine="ew.MESSAGES"))
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, body)}: ")
    assert MISUSED[body] in text


def test_check_refuses_methods_of_messages_under_another_name(make):
    program = make("m = message\nstate.x[v] = m.mean()", combine="ew.MESSAGES")
    assert "messages have no 'mean'; use len(...)" in refusal(program, check=True)


IN_HELPERS = {
    "m.sort()\n    return 1.0": ARRAY,
    "return [len(m), 2][0]": "a list cannot be made inside a program's function",
    "return len(f'{len(m)}')": "a string cannot be made inside a program's function",
}


@pytest.mark.parametrize("body", IN_HELPERS)
def test_what_compiled_code_cannot_do_is_said_with_the_line_of_the_helper(make, body):
    helper = f"def inside(m):\n    {body}\n"
    text = refusal(make("state.x[v] = inside(message)", helpers=helper, combine="ew.MESSAGES"))
    assert text.startswith("inside in func_helpers.py, line 2: ")
    assert IN_HELPERS[body] in text


MEMORY = "which takes no memory; use variables, a tuple, or a field"
SYNTAX = {
    "match (v, 1):\n    case (a, 1):\n        a": "a sequence pattern cannot be used",
    "match (v, 1):\n    case (a, *b):\n        a": "a sequence pattern cannot be used",
    "match v:\n    case int():\n        pass": "a class pattern cannot be used",
    "match v:\n    case {1: a}:\n        a": "a mapping pattern cannot be used",
    "a = sum(i for i in range(v))": "a generator expression cannot be used",
    "a = {1: v}": f"a dict cannot be made inside a program's function, {MEMORY}",
    "a = {i for i in range(v)}": f"a set cannot be made inside a program's function, {MEMORY}",
    "a = f'{v}'": f"a string cannot be made inside a program's function, {MEMORY}",
    "a, *b = (v, 1, 2)": "'*b' takes the rest as a list, which cannot be made here; name each value",
    "a = half(**{'x': v})": "'**' cannot be used",
    "a = type(v) is int": "type(...) gives another thing in compiled code; use isinstance(...)",
    "a = v\ndel a\nb = a": "'a' may have no value here: del removes it on a path that leads here",
    "a = LIST[0]": "LIST is a list, which may change; make it a tuple, or an array of NumPy",
    "a = DICT[1]": "it does not know DICT, of the type dict",
    "a = TUPLE[0][0]": "a value from outside holds what is no constant, such as a list",
    "a = any((v, 1))": "it does not know any, a function of Python",
    "a = math.fmod(v, 3)": "it does not know math.fmod",
    "a = ARRAY + 1": f"an array cannot be made inside a program's function, {MEMORY}",
    "a = v == 'x'": "'x': strings cannot be used in functions of a program, to which a vertex is an index",
    "a = v in (1, 'x')": "declare a parameter, name = ew.parameter(ew.VERTEX), and give the id to the program",
    "a = 1 if v in NAMES else 2": "NAMES: strings cannot be used",
    "match v:\n    case 'x':\n        a = 1": "'x': strings cannot be used",
    "a = named(v)": "'x': strings cannot be used",
    "a = unread(v)": "(DICT_MERGE) found",
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("body", SYNTAX)
def test_syntax_and_values_that_compiled_code_does_not_have(make, tmp_path, body, check):
    outside = "LIST, DICT, TUPLE, ARRAY = [1], {1: 2}, ([1],), np.arange(3)\ndef half(x):\n    return x / 2\n"
    outside += "unread = lambda v: half(**DICT)\nnamed = lambda v: v == 'x'\nNAMES = ('x', 'y')\n"
    for end in ("vertex_compute", "edge_compute"):
        if end == "edge_compute":
            program = make("pass", before=outside, edge=f"v = edge.source\n{body}\nreturn 1.0")
        else:
            program = make(body, before=outside)
        text = refusal(program, check=check)
        assert SYNTAX[body] in text and len(text) < 500
        assert re.match(rf"({end}|<lambda>) in func_program.py, line \d+: ", text)


class Coloured(errors._DummyColorScheme):
    """As numba writes its messages where colorama is installed."""

    def highlight(self, msg):
        return f"\x1b[1m{msg}\x1b[0m"

    code = errmsg = filename = indicate = reset = highlight


def test_colours_in_what_numba_says_are_left_out(make, monkeypatch):
    monkeypatch.setattr(errors, "_termcolor_inst", Coloured())
    assert "it does not know DICT, of the type dict" in refusal(make("a = DICT[1]", before="DICT = {1: 2}"))
    text = refusal(make(f"state.n[v] = v + {2**1000}"))
    assert "Int value is too large: 107" in text and "\x1b" not in text


def test_patterns_of_values_are_compiled(make):
    body = """
        match v:
            case 0 | 1 as low if low > 0:
                state.n[v] = 10
            case other:
                state.n[v] = other
    """
    for check in (False, True):
        assert ew.run(make(body), CYCLE, device="cpu", check=check).n.tolist() == [0, 10, 2]


def test_numbers_in_the_text_that_leave_64_bits_are_reported(make):
    program = make("state.n[v] = 2**70 % 3")  # Python makes no constant of 2**70
    assert f"OverflowError: {2**70} does not fit in 64 bits" in refusal(program, check=True)


def test_long_numbers_are_cut_in_what_numba_says(make):
    assert "an integer of 9,966 bits is too large" in refusal(make(f"state.n[v] = v + {'9' * 3000}"))
    text = refusal(make(f"state.n[v] = v + {2**1000}"))
    assert "Int value is too large: 107" in text and len(text) < 600


@pytest.mark.parametrize("check", [False, True])
def test_numbers_that_python_does_not_write_stand_in_messages(make, check):
    hexadecimal = make(f"state.n[v] = v + 0x{'f' * 6000}")
    assert "an integer of 24,000 bits is too large; compiled integers have 64" in refusal(
        hexadecimal, check=check
    )
    text = refusal(make("state.n[v] = v + BIG", before="BIG = 10**5000"), check=check)
    assert "BIG is, or holds, an integer that does not fit in 64 bits" in text


def test_most_errors_of_python_give_a_value_in_compiled_code(make):
    divided, root = "1 / (v - v)", "math.sqrt(-1.0 - v)"
    program = make(f"state.x[v] = {divided} if v == 0 else {root}")
    np.testing.assert_array_equal(ew.run(program, CYCLE, device="cpu").x, [np.inf, np.nan, np.nan])
    for value in (divided, root):
        assert "Error: " in refusal(make(f"state.x[v] = {value}"), check=True)


def test_a_step_of_0_ends_the_run(make):
    assert "T: compiled code ended with" in refusal(make("for i in range(0, 9, v - v):\n    pass"))


@pytest.mark.parametrize(("value", "what"), [("(1, 2)", "a tuple"), ("None", "None")])
def test_what_is_no_number_is_not_stored(make, tmp_path, value, what):
    text = refusal(make(f"state.n[v] = {value}"))
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, 'state.n[v] = ')}: ")
    assert f"{what} is stored into a field of int64; expected a number" in text


@pytest.mark.parametrize("edge", ["return None if edge.source > 0 else None", "x = None\nreturn x"])
def test_an_edge_that_never_sends_says_so_plainly(make, edge):
    assert "it never sends anything; return a number or a bool" in refusal(make("pass", edge=edge))


def test_lines_are_right_beside_draws(make, tmp_path):
    text = refusal(make("pass", edge="a = ew.random(edge, state)\nreturn a"))
    assert text.startswith(
        f"edge_compute in {line_in(tmp_path, 'a = ew.random')}: 'edge' may only be used as"
    )


REFUSED_HELPERS = {
    "def h(v, **kw):\n    return v": "may not have '**' or keyword-only parameters",
    "def h(v, *, k=2):\n    return v + k": "may not have '**' or keyword-only parameters",
    "def h(v):\n    return 1 if v < 2 else v * h(v - 1)": "h calls itself; write it with a loop",
    "import numba\n@numba.njit\ndef h(v):\n    return v and h(v - 1)": "h calls itself; write it with a loop",
    "class C:\n    def half(x):\n        return x / 2\ndef h(v):\n    return C.half(v)": "C.half cannot be used inside",
}


@pytest.mark.parametrize("helper", REFUSED_HELPERS)
@pytest.mark.parametrize("where", ["before", "helpers"])
def test_helpers_that_cannot_be_compiled_are_refused_in_words(make, helper, where):
    text = refusal(make("state.x[v] = h(v)", **{where: helper}))
    assert text.startswith(f"h in func_{'program' if where == 'before' else 'helpers'}.py, line ")
    assert REFUSED_HELPERS[helper] in text


def test_a_function_of_another_program_is_not_called(make, tmp_path):
    base = "class Base(ew.Program):\n    def vertex_compute(v, message, state):\n        return True\n"
    text = refusal(make("return Base.vertex_compute(v, message, state)", before=base))
    assert text.startswith(f"vertex_compute in {line_in(tmp_path, 'return Base.')}: ")
    assert "Base.vertex_compute is a function of a program, which no other can call" in text


def passed_on(function):
    @functools.wraps(function)
    def wrapper(*a):
        return function(*a)

    return wrapper


def test_what_is_no_def_is_told_what_it_is(make):
    program = make("pass")
    for name, value, expected in [
        ("edge_compute", lambda edge, state: 1.0, "it is a lambda; write it with def"),
        ("edge_compute", later, "it is an async def; write it with def"),
        ("edge_compute", passed_on(program.edge_compute), "got the parameters (*a), expected (edge, state)"),
        ("edge_compute", passed_on(program.edge_compute), "leave the decorator out"),
        ("combine", ew.combiner(drawing, identity=0), "a combiner may not draw random numbers"),
    ]:
        value = value if name == "combine" else staticmethod(value)
        assert expected in refusal(type("Changed", (program,), {name: value}))


def test_parameters_in_another_order_are_refused(make):
    def swapped(v, state, message):
        return ew.HALT

    changed = type("Changed", (make("pass"),), {"vertex_compute": staticmethod(swapped)})
    assert "got the parameters (v, state, message), expected (v, message, state)" in refusal(changed)


async def later(edge, state):
    return 1.0


def drawing(a, b):
    return a if ew.random(a, b) < 0.5 else b


DIFFERENT = {
    "state.x[v] = 2 ** -v": "2 ** -1: an integer to a negative power is an integer in compiled code",
    "a = v\na **= -1\nstate.x[v] = a": "0 ** -1: an integer to a negative power",
    "state.x[v] = ~(2 ** -v)": "2 ** -1: an integer to a negative power",
    "b = v > 0\nstate.x[v] = ~b": "~False: ~ of a bool is a bool in compiled code",
}


@pytest.mark.parametrize("body", DIFFERENT)
@pytest.mark.parametrize("where", ["function", "helper"])
def test_check_reports_what_python_computes_otherwise(make, body, where):
    options = {}
    if where == "helper":
        inner = textwrap.indent(body.replace("state.x[v] = ", "return "), "    ")
        options, body_ = {"helpers": f"def h(v):\n{inner}\n"}, "state.x[v] = h(v)"
    else:
        body_ = body
    assert DIFFERENT[body] in refusal(make(body_, **options), check=True)


AGREES = {
    "np.int32(2**31 - 1) + np.int32(1)": [2**31] * 3,
    "np.uint32(v) - 1": [-1, 0, 1],
    "-2**63": [-(2**63)] * 3,
    "~v": [-1, -2, -3],
    "2 ** v": [1, 2, 4],
    "one(v)": [1, 0, -1],
}


def test_compiled_code_check_and_verify_agree(make):
    """Each expression in a field of its own."""
    numbers = range(len(AGREES))
    body = "\n".join(f"state.field_{i}[v] = {value}" for i, value in zip(numbers, AGREES, strict=True))
    base = make(body, helpers="import numpy as np\ndef one(v):\n    return 1 - np.uint8(v)\n")
    program = type("T", (base,), {f"field_{i}": ew.vertex("int64") for i in numbers})
    for check in (False, True):
        result = ew.run(program, CYCLE, device="cpu", check=check)
        assert [result.fields[f"field_{i}"].tolist() for i in numbers] == list(AGREES.values())
        assert result.verify(CYCLE)


def test_a_checked_run_says_so_and_makes_no_engine(make, monkeypatch):
    monkeypatch.setattr(Prepared, "_made", None)
    for device in ("auto", "cpu"):
        explained = ew.run(make("pass"), CYCLE, device=device, check=True).explain()
        assert "in plain Python, with everything checked" in explained
        assert "CPU" not in explained
