"""What schedules mean for programs: which way messages go, and the reason, on a CPU and on a GPU."""

import kept_messages
import numpy as np
import pytest
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.engine.delivery import FEW_ARCS, Delivery, decide
from edgewise.primitives import direction
from edgewise.program.inspect import inspect_program

AUTO, LAYOUT, MERGED = ew.Schedule(), ew.Layout(group_size=1), ew.Schedule(balance=ew.MergePath())
FLOAT, WORD, BOOL = (np.dtype(name) for name in ("float64", "int64", "bool"))
BY_FRONTIER = ("pulled when more than one in 3 edges sends, else pushed",)
SPARE = {"layout": ew.Layout(), "layout_is_spare": True}
IN_ORDER = ("pulled: float64 messages by SUM are combined in a fixed order",)
NO_OPERATION = ("pulled: int64 messages by PRODUCT have no atomic operation",)
ONE_DECIDES = ("pushed: one message decides what ANY gives",)
NO_IN_EDGES = ("pushed: the graph has no in-edges; edgewise.prepare makes them",)
THROUGH_BUFFER = ("messages went through a buffer",)
ALL_ASKED_FOR = ("through a message buffer: MESSAGES are not combined",)


class Product(ew.Program):
    """An integer product, in rounds."""

    value = ew.vertex("int64", init=1)
    combine = ew.PRODUCT

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT


#: Programs by what counts here, with the dtype of their messages.
KINDS = {
    "best first": (PROGRAMS["sssp"][0], FLOAT),
    "integer sums": (PROGRAMS["edge fields"][0], WORD),
    "float sums": (PROGRAMS["float sums"][0], FLOAT),
    "product": (Product, WORD),
    "search": (PROGRAMS["bfs"][0], BOOL),
    "all messages": (kept_messages.Median, np.dtype("int32")),
}


def decided(kind, schedule, in_edges, on_gpu):
    """The delivery of a program of this kind."""
    program, message = KINDS[kind]
    return decide(inspect_program(program), message, schedule, in_edges, on_gpu)


@pytest.mark.parametrize(
    ("kind", "schedule", "in_edges", "expected"),
    [
        ("integer sums", AUTO, False, Delivery(True, False, False)),
        ("integer sums", AUTO, True, Delivery(True, True, True)),
        ("integer sums", ew.Schedule(ew.Push()), True, Delivery(True, False, False)),
        ("integer sums", ew.Schedule(ew.Pull()), False, Delivery(False, True, True)),
        ("float sums", AUTO, False, Delivery(True, True, True)),
        ("float sums", ew.Schedule(ew.Push()), True, Delivery(True, False, False)),
        ("best first", AUTO, False, Delivery(True, False, False, best_first=True)),
        ("best first", ew.Schedule(ew.Pull()), False, Delivery(False, True, True)),
        (
            "best first",
            ew.Schedule(ew.Buffered()),
            True,
            Delivery(True, False, False, True, why=THROUGH_BUFFER),
        ),
        ("all messages", AUTO, True, Delivery(True, False, False, True, why=THROUGH_BUFFER)),
    ],
)
def test_deliveries_on_a_cpu(kind, schedule, in_edges, expected):
    assert decided(kind, schedule, in_edges, on_gpu=False) == expected


@pytest.mark.parametrize(
    ("kind", "schedule", "in_edges", "expected"),
    [
        ("integer sums", AUTO, False, Delivery(True, True, False, why=NO_IN_EDGES)),
        ("integer sums", AUTO, True, Delivery(True, True, True, why=BY_FRONTIER)),
        ("integer sums", ew.Schedule(ew.Push()), True, Delivery(True, False, False)),
        (
            "integer sums",
            ew.Schedule(ew.Pull()),
            True,
            Delivery(False, True, True, **SPARE),
        ),
        (
            "integer sums",
            ew.Schedule(layout=LAYOUT),
            False,
            Delivery(True, True, True, layout=LAYOUT, why=BY_FRONTIER),
        ),
        ("integer sums", MERGED, True, Delivery(True, True, True, balance=ew.MergePath(), why=BY_FRONTIER)),
        (
            "float sums",
            AUTO,
            False,
            Delivery(False, True, True, why=IN_ORDER, **SPARE),
        ),
        ("float sums", MERGED, False, Delivery(False, True, True, balance=ew.MergePath(), why=IN_ORDER)),
        (
            "product",
            AUTO,
            False,
            Delivery(False, True, True, alike=True, why=NO_OPERATION, **SPARE),
        ),
        ("search", AUTO, True, Delivery(True, False, False, why=ONE_DECIDES)),
        ("search", ew.Schedule(ew.Push()), True, Delivery(True, False, False)),
        (
            "search",
            ew.Schedule(layout=LAYOUT),
            True,
            Delivery(True, True, True, layout=LAYOUT, why=BY_FRONTIER),
        ),
        ("best first", AUTO, True, Delivery(True, True, False, best_first=True, may_cluster=True)),
        ("best first", MERGED, True, Delivery(True, True, True, balance=ew.MergePath(), why=BY_FRONTIER)),
        (
            "best first",
            ew.Schedule(balance=ew.Clustered()),
            True,
            Delivery(True, False, False, best_first=True, by_clusters=ew.Clustered()),
        ),
        (
            "best first",
            ew.Schedule(ew.Pull()),
            True,
            Delivery(False, True, True, **SPARE),
        ),
        (
            "float sums",
            ew.Schedule(ew.Buffered(), balance=ew.EdgeBased()),
            True,
            Delivery(True, False, False, True, layout=ew.Layout(), balance=ew.EdgeBased()),
        ),
        (
            "all messages",
            ew.Schedule(layout=LAYOUT),
            True,
            Delivery(True, False, False, True, layout=LAYOUT, why=ALL_ASKED_FOR),
        ),
    ],
)
def test_deliveries_on_a_gpu(kind, schedule, in_edges, expected):
    assert decided(kind, schedule, in_edges, on_gpu=True) == expected


def test_only_a_layout_that_nobody_asked_for_is_spare():
    for kind, schedule, expected in (
        ("float sums", AUTO, True),
        ("product", AUTO, True),
        ("float sums", ew.Schedule(layout=LAYOUT), False),
        ("float sums", MERGED, False),
        ("integer sums", AUTO, False),
        ("all messages", AUTO, False),
    ):
        way = decided(kind, schedule, True, on_gpu=True)
        assert way.layout_is_spare == expected
        assert way.at_once(FEW_ARCS) == way
        assert way.at_once(FEW_ARCS - 1) == way._replace(takes_longer=expected)
    found = decided("float sums", AUTO, True, on_gpu=True).without_layout()
    assert found == Delivery(False, True, True, why=(*IN_ORDER, "there was no room for a layout"))
    found = decided("float sums", AUTO, True, on_gpu=True).at_once(FEW_ARCS - 1).by_merge_path()
    why = (*IN_ORDER, "no layout for a run on fewer than 1,048,576 edges; edgewise.prepare makes one")
    assert found == Delivery(False, True, True, balance=ew.MergePath(), why=why)
    found = decided("float sums", AUTO, True, on_gpu=True).at_once(FEW_ARCS - 1).by_threads()
    why = (*IN_ORDER, "a thread for each vertex: none has more than 48 in-edges")
    assert found == Delivery(False, True, True, balance=ew.ThreadMapped(), why=why)


@pytest.mark.parametrize("send", ["slots", "edges"])
def test_who_writes_into_a_buffer_is_said(send):
    for kind in ("float sums", "all messages"):
        found = decided(kind, ew.Schedule(ew.Buffered(send)), True, on_gpu=True)
        assert found.buffered and found.by_edges == (send == "edges") and not found.fused


@pytest.mark.parametrize(
    ("kind", "schedule", "in_edges", "expected"),
    [
        ("integer sums", AUTO, True, direction.AUTO),
        ("integer sums", AUTO, False, direction.PUSH),
        ("integer sums", ew.Schedule(ew.Push()), True, direction.PUSH),
        ("integer sums", ew.Schedule(ew.Pull()), True, direction.PULL),
        ("all messages", AUTO, True, direction.PUSH),
    ],
)
def test_one_direction_is_what_all_supersteps_take(kind, schedule, in_edges, expected):
    assert decided(kind, schedule, in_edges, on_gpu=False).direction == expected
