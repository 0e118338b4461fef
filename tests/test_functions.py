"""What the functions of a program may do: helpers and variables under any name, values that are there or fixed."""

import sys
import textwrap

import pytest
from function_cases import CYCLE, refusal

import edgewise as ew
from edgewise.errors import ProgramError


def test_functions_are_told_apart_whatever_is_freed_meanwhile(monkeypatch):
    from edgewise.engine.lowering import compiled

    class Counts(ew.Program):
        """Its aggregators use `state.count`, so that each is compiled from a copy of the function."""

        count = ew.vertex("int64", init=1)
        combine = ew.SUM
        max_supersteps = 1

        @ew.aggregator(ew.SUM)
        @staticmethod
        def a(v, state):
            return state.count[v]

        @ew.aggregator(ew.SUM)
        @staticmethod
        def b(v, state):
            return 10 * state.count[v]

        @ew.aggregator(ew.SUM)
        @staticmethod
        def c(v, state):
            return 100 * state.count[v]

        @staticmethod
        def edge_compute(edge, state):
            return 1

        @staticmethod
        def vertex_compute(v, message, state):
            return ew.HALT

    monkeypatch.setattr(compiled, "id", lambda each: 1, raising=False)  # the address of what was freed, again
    assert ew.run(Counts, CYCLE, device="cpu").aggregates == {"a": 3, "b": 30, "c": 300}


@pytest.mark.parametrize("check", [False, True])
def test_helpers_may_have_any_name_beside_draws(make, check):
    names = ("draw_uniform", "draw_integers", "draw_normal", "_numbers_drawn")
    before = "\n".join(f"def {name}(a):\n    return 7.0 * a" for name in names)
    called = " + ".join(f"{name}(1.0)" for name in names)
    body = f"state.x[v] = {called} + ew.random(v, state) + 0 * ew.random.integers(v, state, 0, 3)"
    result = ew.run(make(body, before=before), CYCLE, device="cpu", check=check)
    assert all(28 <= x < 29 for x in result.x)
    assert result.verify(CYCLE)


def test_variables_may_have_any_name_beside_draws(make):
    body, names = "", ("draw_uniform", "_numbers_drawn", "numbers_drawn")
    for name in names:
        body += f"{name} = 0\na = ew.random(v, state)\n{name} = 0\n"
        body += f"state.x[v] += a - ew.random(v, state) + 0 * {name}\n"
    for check in (False, True):
        result = ew.run(make(body), CYCLE, device="cpu", check=check)
        assert all(result.x != 0)
        assert result.verify(CYCLE)


@pytest.mark.parametrize(
    ("helpers", "body", "line"),
    [
        ("import numba, numpy as np\n@numba.njit\ndef noise():\n    return np.random.random()", "noise()", 4),
        (
            "import numba, numpy as np\ndef noise():\n    lib = np\n    return lib.random.random()",
            "noise()",
            3,
        ),
        ("import random\ndef noise():\n    return 1 * random.random()", "noise()", 3),
        (
            "import numpy as np\ndef inner():\n    return np.random.rand()\ndef noise():\n    return inner()",
            "noise()",
            3,
        ),
    ],
)
def test_draws_without_a_seed_are_refused_in_helpers_with_their_line(make, helpers, body, line):
    text = refusal(make(f"state.x[v] = {body}", helpers=helpers))
    assert f"in func_helpers.py, line {line}: " in text
    assert "whatever the seed" in text or "is a module, which is no value" in text


STATEMENTS = {
    "try": "try:\n        return 1 // x\n    except Exception:\n        return -5",
    "raise": "if x > 5:\n        raise ValueError\n    return x",
    "assert": "assert x < 5\n    return x",
    "with": "with x:\n        return x",
    "yield": "yield x",
    "import": "import math\n    return x",
    "def": "def inner(y):\n        return y\n    return inner(x)",
    "lambda": "return (lambda y: y)(x)",
}


@pytest.mark.parametrize("keyword", STATEMENTS)
@pytest.mark.parametrize("decorator", ["", "@numba.njit\n"], ids=["plain", "compiled"])
def test_what_is_refused_in_functions_is_refused_in_helpers(make, keyword, decorator):
    helpers = f"import numba\n\n{decorator}def safe(x):\n    {STATEMENTS[keyword]}\n"
    text = refusal(make("state.x[v] = outer(v)", helpers=helpers, before="def outer(x):\n    return safe(x)"))
    assert text.startswith("safe in func_helpers.py, line ")
    assert f"'{keyword}' cannot be used inside a program's function, or a helper" in text
    line = 5 if decorator else 4
    assert f"line {line + (keyword == 'raise')}: " in text


UNASSIGNED = {
    "if": "if message > 1:\n    best = message\nstate.x[v] = best",
    "else": "if message > 1:\n    a = 1.0\nelse:\n    best = 2.0\nstate.x[v] = best",
    "for": "for i in range(v):\n    best = i\nstate.x[v] = best",
    "its variable": "for best in range(v):\n    pass\nstate.x[v] = best",
    "while": "while state.x[v] > 3:\n    best = 1.0\nstate.x[v] = best",
    "while its condition": "i = 0\nwhile i < 3 and (i < 1 or best > 0):\n"
    "    i += 1\n    if i > 1:\n        best = 1.0",
    "break": "while True:\n    if v > 1:\n        break\n"
    "    best = 1.0\n    if v > 0:\n        break\nstate.x[v] = best",
    "continue": "for i in range(3):\n    if v > i:\n        continue\n    best = 1.0\nstate.x[v] = best",
    "match": "match v:\n    case 0:\n        best = 1.0\n    case 1:\n        best = 2.0\nstate.x[v] = best",
    "augmented": "best += message\nstate.x[v] = best",
    "a later round": "for i in range(3):\n    if i > 0:\n"
    "        state.x[v] = best\n    if v > 1:\n        best = 1.0",
    "del": "best = 1.0\ndel best\nstate.x[v] = best",
    "del in the round before": "best = 1.0\nfor i in range(v):\n    state.x[v] = best\n    del best",
    "del before the condition": "best = 1.0\nwhile best > 0:\n    if v > 1:\n        del best",
    "unpacked": "for each in (*(1.0, 2.0)[:v],):\n    best = each\nstate.x[v] = best",
    "another range": "for i in span(3):\n    best = i\nstate.x[v] = best",
    "a flag": "known, sum = False, 0.0\nfor i in range(3):\n    if known:\n        sum += best\n"
    "    best, known = i, True\nstate.x[v] = sum",
    "if expression": "if message > 1:\n    best = message\nstate.x[v] = best if message > 1 else 0.0",
}


@pytest.mark.parametrize("case", UNASSIGNED)
@pytest.mark.parametrize("where", ["function", "helper"])
def test_a_variable_that_may_have_no_value_is_refused(make, case, where):
    body, span = UNASSIGNED[case], "def span(n):\n    return range(n - 3)\n"
    if where == "function":
        text = refusal(make(body, before=span))
    else:
        body = body.replace("state.x[v]", "x")
        helper = f"{span}def found(v, message):\n    x = 0.0\n{textwrap.indent(body, '    ')}\n    return x\n"
        text = refusal(make("state.x[v] = found(v, message)", helpers=helper))
        assert text.startswith("found in func_helpers.py, line ")
    assert "'best' may have no value here" in text


ASSIGNED = {
    "before the branch": "best = 0.0\nif message > 1:\n    best = message\nstate.x[v] = best",
    "in both branches": "if message > 1:\n    best = message\nelse:\n    best = 0.0\nstate.x[v] = best",
    "or it returns": "if message > 1:\n    best = message\nelse:\n    return ew.HALT\nstate.x[v] = best",
    "or it goes on": "for i in range(v):\n    if i > 1:\n        best = 1.0\n"
    "    else:\n        continue\n    state.x[v] = best",
    "in a fixed loop": "for i in range(3):\n    best = i\nstate.x[v] = best + i",
    "in a tuple": "for each in (1.0, 2.0):\n    best = each\nstate.x[v] = best",
    "in an endless loop": "while True:\n    best = 1.0\n    if v >= 0:\n        break\nstate.x[v] = best",
    "in each case": "match v:\n    case 0:\n        best = 1.0\n"
    "    case _:\n        best = 2.0\nstate.x[v] = best",
    "by a pattern": "match v:\n    case best:\n        state.x[v] = best",
    "in an else": "for i in range(v):\n    if i > 5:\n        best = 1.0\n"
    "        break\nelse:\n    best = 2.0\nstate.x[v] = best",
    "by unpacking": "best, other = 1.0, 2.0\nstate.x[v] = best + other",
    "by augmenting": "best = 1.0\nfor i in range(v):\n    best += i\nstate.x[v] = best",
    "before del in each round": "for i in range(v):\n    best = 1.0\n    state.x[v] = best\n    del best",
}


@pytest.mark.parametrize("case", ASSIGNED)
def test_a_variable_that_has_a_value_is_not(make, case):
    assert ew.run(make(ASSIGNED[case]), CYCLE, device="cpu", check=True).supersteps == 1


def test_variables_that_have_a_value_are_compiled(make):
    """Each case as a helper, all in one program."""
    helpers = ""
    for number, body in enumerate(ASSIGNED.values()):
        body = textwrap.indent(body.replace("state.x[v]", "x").replace("ew.HALT", "x"), "    ")
        helpers += f"def case_{number}(v, message):\n    x = 0.0\n{body}\n    return x\n"
    calls = " + ".join(f"{2**number} * case_{number}(v, message)" for number in range(len(ASSIGNED)))
    result = ew.run(make(f"state.x[v] = {calls}", before=helpers), CYCLE, device="cpu")
    assert result.supersteps == 1
    assert result.verify(CYCLE)


WHY = {
    "if message > 1:\n    best = 1.0\nstate.x[v] = best": "it is assigned only on some of the paths that lead here",
    UNASSIGNED[
        "a flag"
    ]: "in the first round of the loop it has none, for it is assigned only further on in a round; "
    "assign it before the loop",
    "state.x[v] = best\nbest = 1.0": "it is assigned only after this",
}


@pytest.mark.parametrize("body", WHY)
def test_it_is_said_why_a_variable_may_have_no_value(make, body):
    assert WHY[body] in refusal(make(body))


OUTSIDE = """
ROUNDS, STEPS, PAIRS, NONE = 3, (1.0, 2.0), np.arange(6.0).reshape(3, 2), ()
class Config(typing.NamedTuple):
    rounds: int
    offsets: tuple
CONFIG = Config(2, (4, 5))
def counted(v):
    for i in range(ROUNDS):
        best = i
    return best + v
"""
FIXED = {
    "range(ROUNDS)": 2,
    "range(1, -ROUNDS + 5)": 1,
    "range(func_helpers.LIMIT)": 6,
    "range(len(STEPS) * 2)": 3,
    "range(PAIRS.shape[0] // 2)": 0,
    "range(CONFIG.rounds)": 1,
    "STEPS": 2,
    "CONFIG.offsets": 5,
    "PAIRS[0, :]": None,
    "PAIRS": None,
}


def test_loops_over_what_is_fixed_outside_have_a_round(make):
    loops = [each for each, last in FIXED.items() if last is not None]
    lines = [f"for i{k} in {loop}:\n    b{k} = i{k}" for k, loop in enumerate(loops)]
    lines += [
        "for a, b in zip(STEPS, enumerate(STEPS)):\n    last = b[1]",
        "for row in PAIRS:\n    end = row[1]",
    ]
    total = " + ".join(["last", "end", "counted(v)", *(f"b{k}" for k in range(len(loops)))])
    body = "\n".join([*lines, f"state.x[v] = {total}"])
    program = make(body, before="import typing\n" + OUTSIDE, helpers="LIMIT = 7")
    expected = [2 + 5 + (2 + v) + sum(last for last in FIXED.values() if last is not None) for v in range(3)]
    for check in (False, True):
        assert ew.run(program, CYCLE, device="cpu", check=check).x.tolist() == expected


EMPTY = [
    "NONE",
    "range(ROUNDS - 3)",
    "range(ROUNDS // len(NONE))",
    "zip(STEPS, NONE)",
    "range(CONFIG.rounds, 2)",
]
EMPTY += ["range(v)", "range(ROUNDS, v)", "STEPS[v:]", "range(len(message))"]


@pytest.mark.parametrize("loop", EMPTY)
def test_loops_over_what_is_not_or_is_empty_may_have_none(make, loop):
    program = make(f"for i in {loop}:\n    best = i\nstate.x[v] = best", before="import typing\n" + OUTSIDE)
    assert "'best' may have no value here" in refusal(program)


def test_a_variable_of_the_same_name_is_not_fixed(make):
    body = "ROUNDS = v\nfor i in range(ROUNDS):\n    best = i\nstate.x[v] = best"
    assert "'best' may have no value here" in refusal(make(body, before="ROUNDS = 3"))
    body = "for i in range(3):\n    best = i\nstate.x[v] = best"
    assert "'best' may have no value here" in refusal(make(body, before="def range(n):\n    return (1,)[n:]"))


def test_fixed_values_of_what_numba_compiles_are_fixed_too(make):
    loop = "for i in range(ROUNDS):\n        best = i\n    return best"
    helpers = f"import numba\nROUNDS = 3\n@numba.njit\ndef f(v):\n    {loop}\n"
    assert ew.run(make("state.x[v] = f(v)", helpers=helpers), CYCLE, device="cpu").x.tolist() == [2] * 3


NESTED = """
    import numba
    OFFSET = 3
    @numba.njit
    def inner(v):
        return v + OFFSET
    @numba.njit({signature})
    def outer(v):
        return inner(v) + 10 * OFFSET
    def plain(v):
        return outer(v)
"""


@pytest.mark.parametrize(
    "signature",
    ["", *(pytest.param(each, marks=pytest.mark.more) for each in ("'int64(int64)'", "fastmath=True"))],
)
def test_what_numba_compiled_before_has_the_values_of_now(make, signature):
    helpers = NESTED.format(signature=signature)
    program = make("state.n[v] = plain(0) + 100 * func_helpers.outer(0)", helpers=helpers)
    module = sys.modules["func_helpers"]
    for offset in (3, 7, 3):
        module.OFFSET = offset
        for check in (False, True):
            result = ew.run(program, CYCLE, device="cpu", check=check)
            assert result.n.tolist() == [101 * 11 * offset] * 3
            assert result.verify(CYCLE)


@pytest.mark.more
def test_code_is_not_kept_under_values_that_it_does_not_have(make, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path / "cache"))
    body, helpers = "state.n[v] = func_helpers.outer(0)", NESTED.format(signature="")
    program = make(body, helpers=helpers)
    for offset in (3, 11):
        sys.modules["func_helpers"].OFFSET = offset
        ew.run(program, CYCLE, device="cpu")
    program = make(body, helpers=helpers.replace("OFFSET = 3", "OFFSET = 11"))
    assert ew.run(program, CYCLE, device="cpu").n.tolist() == [121] * 3


def test_fixed_values_are_looked_at_again_before_each_run(make):
    program = make("for i in range(ROUNDS):\n    best = i\nstate.x[v] = best", before="ROUNDS = 3")
    prepared = ew.prepare(program, CYCLE)
    assert ew.run(program, CYCLE, device="cpu").x.tolist() == [2] * 3
    module = sys.modules["func_program"]
    module.ROUNDS = 5
    assert ew.run(program, CYCLE, device="cpu").x.tolist() == [4] * 3
    module.ROUNDS = 0
    assert "'best' may have no value here" in refusal(program)
    with pytest.raises(ProgramError, match="has changed since it was prepared"):
        prepared()


def test_nor_are_other_values_compiled_where_something_else_cannot_be_told(make):
    before = "import numba.typed\nROUNDS = 3\nOTHER = numba.typed.List([1.0])\n"
    body = "for i in range(ROUNDS):\n    best = i\nstate.x[v] = best + OTHER[0]"
    prepared = ew.prepare(make(body, before=before), CYCLE)
    sys.modules["func_program"].ROUNDS = 0
    with pytest.raises(ProgramError, match="has changed since it was prepared"):
        prepared()
