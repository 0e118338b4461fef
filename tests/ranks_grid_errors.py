"""A script for ranks in a grid: an error of edgewise on one of them, before any of its exchanges, ends the run on all.

Each rank gets that error, and the next run has the right answer.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from ranks_calls import check_endless

import edgewise as ew
from edgewise.engine.distributed.group import _REFUSES, Group, connect
from edgewise.errors import ParameterError

IN_GRID = ew.Ranks(grid=True)
#: An error may be longer than what ranks send each other at once.
LONG = "x" * 3000


class Sources(ew.Program):
    """In each superstep there is an exchange in rows, and one in columns."""

    value = ew.vertex("int64", init=1000)
    combine = ew.MIN
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] - 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = min(message, state.value[v])
        return ew.ACTIVE


class Targets(Sources):
    """There is a second exchange in columns."""

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] - 1 - state.value[edge.target] % 2


class Totals(Targets):
    """There are two in rows, and two in columns."""

    @ew.aggregator(ew.SUM)
    @staticmethod
    def total(v, state):
        return state.value[v]


@contextmanager
def refusing(number: int | None) -> Iterator[None]:
    """While this is entered, this rank refuses to take part in its exchange of this number."""
    numbers, exchange = itertools.count(), Group._exchange

    def refuse(group: Group, parts: Any, word: int, flags: int) -> Any:
        if not flags & _REFUSES and next(numbers) == number:
            raise ParameterError(f"exchange {number}: {LONG}")
        return exchange(group, parts, word, flags)

    Group._exchange = refuse
    try:
        yield
    finally:
        Group._exchange = exchange


def check_told(program: type[ew.Program]) -> int:
    """How many exchanges of a run ended in an error that all ranks got: of one rank, or of two by turns."""
    group, expected = connect(), None
    for number in itertools.count():
        refusing_ranks = {number % group.size, (number + number // 2 % 2) % group.size}
        graph = ew.generate.rmat(6, 8, seed=3)  # what is laid out for it is laid out in each run
        try:
            with refusing(number if group.rank in refusing_ranks else None):
                whole = ew.run(program(), graph, distributed=IN_GRID).gather()
        except ParameterError as error:
            texts = [f"rank {rank}: exchange {number}: {LONG}" for rank in refusing_ranks]
            texts += [f"exchange {number}: {LONG}"] * (group.rank in refusing_ranks)
            assert str(error) in texts, (number, str(error)[:100])
            continue
        expected = ew.run(program(), graph, device="cpu")
        np.testing.assert_array_equal(whole.value, expected.value)
        assert whole.aggregates == expected.aggregates
        return number
    raise AssertionError("there is no end")


def main() -> None:
    for program, in_superstep in ((Sources, 2), (Targets, 3), (Totals, 4)):
        told = check_told(program)
        assert told > 3 * in_superstep, (program, told)
    check_endless(connect(), IN_GRID)
    if connect().rank == 0:
        print("errors are told to all ranks of a grid", flush=True)


if __name__ == "__main__":
    main()
