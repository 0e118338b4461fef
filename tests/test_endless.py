"""A run that changes nothing any more, and goes on, says so once."""

import time
import warnings

import numpy as np
import pytest

import edgewise as ew
from edgewise.engine import endless
from edgewise.errors import ProgramWarning

#: A ring large enough that a run is given to a team of threads at once.
N = 40_000
RING = ew.Graph.from_edges(np.arange(N), (np.arange(N) + 1) % N)


class Stubborn(ew.Program):
    """Three vertices of every four stay active for ever; the fields come to rest at `rest`, if they do."""

    rest = ew.parameter("int64")
    value = ew.vertex("int64")
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        return v % 4 != 0

    @staticmethod
    def edge_compute(edge, state):
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        if state.value[v] < state.rest:
            state.value[v] += 1
        return True


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(endless, "FIRST_LOOK", 0.1)


def run_until_it_warns(program, **how):
    """The warning, which as an error ends the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProgramWarning)
        with pytest.raises(ProgramWarning) as caught:
            ew.run(program(rest=5), RING, **how)
    return str(caught.value)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_run_without_an_end_warns_with_the_number_of_active_vertices(device):
    text = run_until_it_warns(Stubborn, device=device)
    assert text.startswith("Stubborn: ")
    assert f" {3 * N // 4:,} vertices are active" in text


@pytest.mark.slow
def test_so_does_the_reference(monkeypatch):
    monkeypatch.setattr(endless, "FIRST_LOOK", 0.5)
    assert f" {3 * N // 4:,} vertices are active" in run_until_it_warns(Stubborn, check=True)


@pytest.mark.parametrize("check", [False, True])
def test_the_warning_says_what_was_seen_and_stands_at_the_users_call(monkeypatch, check):
    def shown(message, category, filename, *rest, **more):
        assert "its fields were the same at 3 looks, the last after " in str(message)
        raise Enough(filename)

    small = ew.Graph.from_edges([0, 1], [1, 2], num_vertices=4)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ProgramWarning)
        monkeypatch.setattr(warnings, "showwarning", shown)
        with pytest.raises(Enough) as caught:
            ew.run(Stubborn(rest=0), small, device="cpu", check=check)
    assert caught.value.args == (__file__,)


class Enough(Exception):
    """What ends a run that would go on."""


def until(seconds, told):
    """A progress function that ends a run after so long."""
    end = time.monotonic() + seconds

    def progress(done):
        told.append(done)
        if time.monotonic() > end:
            raise Enough

    return progress


def test_it_is_said_once_and_progress_is_told_as_ever():
    told = []
    with pytest.warns(ProgramWarning) as caught, pytest.raises(Enough):
        ew.run(Stubborn(rest=0), RING, device="cpu", progress=until(3, told))
    assert len(caught) == 1
    assert told == sorted(told)
    assert len(told) > 5


def test_fields_that_change_and_limits_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProgramWarning)
        with pytest.raises(Enough):
            ew.run(Stubborn(rest=2**62), RING, device="cpu", progress=until(2, []))
        with pytest.raises(Enough):
            ew.run(Stubborn(rest=0), RING, device="cpu", max_supersteps=2**40, progress=until(2, []))


def test_nothing_is_looked_at_before_its_time(monkeypatch):
    monkeypatch.setattr(endless, "FIRST_LOOK", 1000.0)
    looks = []
    watch = endless.Watch("Stubborn", lambda: looks.append("a look") or [], lambda superstep: 1, None)
    watch(1)
    assert not looks
