"""ew.random: the generator, the distributions, the same numbers everywhere, and what is refused."""

import math
import re

import battery
import numba
import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ProgramError
from edgewise.program import draws
from edgewise.run import Prepared

#: Counter, key and result of Random123's known answers for philox4x32 with 10 rounds, as 64-bit halves.
KNOWN = {
    "zeros": ((0, 0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ((-1, 0xFFFFFFFF, 0xFFFFFFFF), -1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": (
        (0x85A308D3243F6A88, 0x13198A2E, 0x03707344),
        0x299F31D0A4093822,
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("how", [lambda function: function, numba.njit], ids=["Python", "compiled"])
def test_the_generator_gives_the_known_answers(name, how):
    (v, superstep, number), seed, expected = KNOWN[name]
    v, seed = (x - 2**64 if x >= 2**63 else x for x in (v, seed))
    assert " ".join(f"{word:08x}" for word in how(draws.philox)(v, seed, superstep, number)) == expected


class Numbers(ew.Program):
    """Three numbers of each kind for each vertex, drawn where vertices are computed."""

    uniform = ew.vertex("float64")
    again = ew.vertex("float64")
    die = ew.vertex("int64")
    normal = ew.vertex("float64")
    started = ew.vertex("float64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def initialize(v, state):
        state.started[v] = ew.random(v, state)
        return True

    @staticmethod
    def edge_compute(edge, state):
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        state.uniform[v] = ew.random(v, state)
        for _ in range(3):
            state.again[v] = ew.random.uniform(v, state)
        state.die[v] = ew.random.integers(v, state, 1, 7)
        state.normal[v] = ew.random.normal(v, state)
        return False


LONE = ew.Graph.from_edges([0], [1], num_vertices=40_000)


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


def test_numbers_are_spread_as_they_should_be():
    drawn = ew.run(Numbers(), LONE, device="cpu", seed=1)
    n = LONE.num_vertices
    five = 5 / math.sqrt(n)
    for values in (drawn.uniform, drawn.again, drawn.started):
        assert values.min() >= 0
        assert values.max() < 1
        counts = np.histogram(values, 100, (0, 1))[0]
        assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 99 + 5 * math.sqrt(2 * 99)
    counts = np.bincount(drawn.die, minlength=7)
    assert counts[0] == 0
    assert len(counts) == 7
    assert ((counts[1:] - n / 6) ** 2 / (n / 6)).sum() < 5 + 5 * math.sqrt(2 * 5)
    moments = [(drawn.normal**k).mean() for k in range(1, 5)]
    for got, expected, deviation in zip(moments, (0, 1, 0, 3), (1, 2**0.5, 15**0.5, 96**0.5), strict=True):
        assert abs(got - expected) < five * deviation
    below = [(drawn.normal < z).mean() for z in (-2, -1, 0, 1, 2)]
    exact = [(1 + math.erf(z / math.sqrt(2))) / 2 for z in (-2, -1, 0, 1, 2)]
    assert np.abs(np.array(below) - exact).max() < five / 2
    every = [drawn.uniform, drawn.again, drawn.started, drawn.die, drawn.normal]
    assert max(correlation(a, b) for i, a in enumerate(every) for b in every[:i]) < five
    assert max(correlation(a[1:], a[:-1]) for a in every) < five


def test_seeds_decide_and_nothing_else():
    fields = ("uniform", "again", "die", "normal", "started")
    first, same, other = (ew.run(Numbers(), LONE, device="cpu", seed=seed) for seed in (5, 5, 6))
    without, zero = ew.run(Numbers(), LONE, device="cpu"), ew.run(Numbers(), LONE, device="cpu", seed=0)
    for name in fields:
        np.testing.assert_array_equal(first.fields[name], same.fields[name])
        np.testing.assert_array_equal(without.fields[name], zero.fields[name])
        assert correlation(first.fields[name], other.fields[name]) < 0.03
    for schedule in battery.SCHEDULES.values():
        drawn = Prepared(Numbers, LONE, "cpu", schedule)(seed=5)
        for name in fields:
            np.testing.assert_array_equal(drawn.fields[name], first.fields[name])


def test_the_reference_draws_the_same_numbers():
    few = ew.Graph.from_edges([0, 3], [1, 2], num_vertices=300)
    prepared = Prepared(Numbers, few, "cpu")
    for seed in (0, -1, 2**63 - 1):
        expected = prepared.reference({"seed": seed}, 1).vertex_fields
        for name, values in prepared(seed=seed).fields.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=name)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (3, -3), (7, 7)])
def test_an_empty_range_gives_its_lower_end(low, high):
    assert draws.draw_integers(1, 2, 3, 4, low, high) == low


def test_a_wide_range_is_reached_everywhere():
    low, high = -(2**62), 2**62 - 1
    values = np.array([draws.draw_integers(v, 0, 0, 0, low, high) for v in range(2000)])
    assert np.histogram(values, 4, (low, high))[0].min() > 400


def test_few_values_are_remainders_of_63_bits():
    for v in range(200):
        high, low, *_ = draws.philox(v, 1, 2, 3)
        assert draws.draw_integers(v, 1, 2, 3, -5, 95) == ((high >> 1) << 32 | low) % 100 - 5


class Bounded(ew.Program):
    """Integers between bounds that are parameters."""

    low, high = ew.parameter("int64"), ew.parameter("int64")
    drawn = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        state.drawn[v] = ew.random.integers(v, state, state.low, state.high)
        return False


FEW = ew.Graph.from_edges([0], [1], num_vertices=2000)


WIDE = [(-(2**62), 2**62 - 1), (0, 2**63 - 1), (-1, 2**63 - 2), (0, 3 * 2**61), (-(2**61), 2**62)]
WIDER = [(-(2**63), 2**63 - 1), (-(2**62), 2**62), (-1, 2**63 - 1), (-(2**63), 1)]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(("low", "high"), [*WIDE, *WIDER])
def test_integers_of_a_wide_range_are_drawn_from_all_of_it(low, high, device):
    checked, compiled = (
        ew.run(Bounded(low=low, high=high), FEW, device=device, seed=1, check=check)
        for check in (True, False)
    )
    drawn = compiled.drawn.tolist()
    assert drawn == checked.drawn.tolist()
    assert compiled.verify(FEW)
    assert all(low <= value < high for value in drawn)
    counts = np.bincount([(value - low) * 10 // (high - low) for value in drawn], minlength=10)
    assert ((counts - len(drawn) / 10) ** 2 / (len(drawn) / 10)).sum() < 9 + 5 * math.sqrt(2 * 9)


class Conditions(ew.Program):
    """Draws in the conditions of while, if and for, and beside each other."""

    rounds = ew.vertex("int64")
    sum = ew.vertex("float64")
    combine = ew.SUM
    max_supersteps = 2

    @staticmethod
    def edge_compute(edge, state):
        return ew.random(edge.index, state) + ew.random(edge.index, state)

    @staticmethod
    def vertex_compute(v, message, state):
        while ew.random(v, state) < 0.8:
            state.rounds[v] += 1
        for _ in range(ew.random.integers(v, state, 0, 4)):
            if ew.random(v, state) < 0.5 and ew.random(v, state) < 0.9:
                state.sum[v] += ew.random(v, state) - ew.random(v, state)
        state.sum[v] += message
        return True


def test_draws_in_conditions_and_expressions_are_counted_alike():
    graph = ew.generate.rmat(6, 4, seed=1)
    prepared = Prepared(Conditions, graph, "cpu")
    expected, got = prepared.reference({"seed": 9}, 2).vertex_fields, prepared(seed=9)
    np.testing.assert_array_equal(got.rounds, expected["rounds"])
    np.testing.assert_allclose(got.sum, expected["sum"], rtol=1e-12, atol=1e-12)
    assert abs(got.rounds.mean() / 2 - 4) < 2.5


NAMES = """
from edgewise import random as rnd
unif, die, normal = ew.random.uniform, rnd.integers, rnd.normal
"""


def test_draws_may_have_names_of_their_own(tmp_path):
    long = "ew.random.uniform(v, state) + ew.random.integers(v, state, 0, 6) + ew.random.normal(v, state)"
    short = "unif(v, state) + die(v, state, 0, 6) + normal(v, state)"
    end = "\n        return False"
    expected = ew.run(made(tmp_path, f"state.value[v] = {long}{end}"), FEW, seed=3, check=True).value
    program = made(tmp_path, f"state.value[v] = {short}{end}", before=NAMES)
    for check in (False, True):
        got = ew.run(program, FEW, device="cpu", seed=3, check=check).value
        np.testing.assert_array_equal(got, expected)


def test_so_may_what_is_refused(tmp_path):
    for body, text in {
        "unif(v)": "got unif(v), expected unif(v, state)",
        "die(v, state)": "got die(v, state), expected die(v, state, low, high)",
        "die(v, state, 6, 0)": "expected integers low and high of 64 bits, of which high is the larger",
        f"die(v, state, v, {2**63})": "expected integers low and high of 64 bits",
        "unif": "draw by unif(v, state)",
        "helper(v)": "a helper may not draw by unif",
    }.items():
        helper = "\ndef helper(v):\n    return unif(v, v)\n"
        program = made(tmp_path, f"state.value[v] = {body}\n        return False", before=NAMES + helper)
        with pytest.raises(ProgramError, match=re.escape(text)):
            ew.run(program(), LONE)


BODIES = {
    "ew.random()": "expected ew.random(v, state)",
    "ew.random(v)": "expected ew.random(v, state)",
    "ew.random(v, v)": "expected ew.random(v, state)",
    "ew.random(v, state=state)": "expected ew.random(v, state)",
    "ew.random.integers(v, state, 5)": "expected ew.random.integers(v, state, low, high)",
    "ew.random.normal": "draw by ew.random.normal(v, state)",
    "ew.random": "draw by ew.random(v, state)",
    "ew.random.choice(v, state)": "ew.random has no 'choice'; it has uniform, integers, normal",
}


@pytest.mark.parametrize("expression", BODIES)
def test_a_draw_that_is_written_otherwise_is_refused(tmp_path, expression):
    program = made(tmp_path, f"state.value[v] = {expression}\n        return False")
    with pytest.raises(ProgramError, match=re.escape(BODIES[expression])):
        ew.run(program(), LONE)


def test_a_while_loop_with_else_may_not_draw_in_its_condition(tmp_path):
    loop = "while ew.random(v, state) < 0.5:\n            pass\n        else:\n            pass\n        return False"
    with pytest.raises(ProgramError, match="may have no else"):
        ew.run(made(tmp_path, loop)(), LONE)


def test_a_program_whose_schedule_is_free_may_not_draw(tmp_path):
    program = made(
        tmp_path, "state.value[v] = ew.random(v, state)\n        return False\n\n    asynchronous = True"
    )
    with pytest.raises(ProgramError, match="asynchronous"):
        ew.run(program(), LONE)


def test_outside_of_programs_there_is_nothing_to_draw():
    for draw in (ew.random, ew.random.uniform, ew.random.normal):
        with pytest.raises(ProgramError, match=r"numpy\.random"):
            draw(0, None)
    with pytest.raises(ProgramError, match=r"numpy\.random"):
        ew.random.integers(0, None, 1, 2)


@pytest.mark.parametrize("seed", [True, 1.0, "1"])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(ProgramError, match="expected an integer"):
        ew.run(Numbers(), LONE, seed=seed)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_of_more_than_64_bits_is_refused(seed):
    with pytest.raises(ProgramError, match="seed"):
        ew.run(Numbers(), LONE, seed=seed)


def test_a_seed_where_nothing_is_random_is_refused(tmp_path):
    with pytest.raises(ProgramError, match=r"draws no random numbers \(ew\.random\)"):
        ew.run(made(tmp_path, "return False")(), LONE, seed=1)


def made(folder, body, before=""):
    """A program with this body of vertex_compute."""
    text = f"""
import edgewise as ew
{before}
class Made(ew.Program):
    value = ew.vertex("float64")
    combine = ew.SUM

    def edge_compute(edge, state):
        return 1.0

    def vertex_compute(v, message, state):
        {body}
"""
    path = folder / "made.py"
    path.write_text(text)
    scope = {"__name__": "made"}
    exec(compile(text, str(path), "exec"), scope)
    return scope["Made"]
