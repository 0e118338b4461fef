"""Fixtures of several test files: graphs and programs in files of their own."""

import importlib
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

TOWNS = """# from to km
Lyon Paris 460
Paris Lille 220
Lyon Nice 470
Nice Lyon 470
Metz Metz 1
"""

PROGRAM = """
import enum
import math
import numba
import numpy as np
import edgewise as ew
import func_helpers
from func_helpers import *
{before}

class T(ew.Program):
    x = ew.vertex("float64")
    n = ew.vertex("int64")
    combine = {combine}
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
{edge}

    @staticmethod
    def vertex_compute(v, message, state):
{body}
{end}
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """A file of this text."""

    def make(text: str | bytes, name: str = "graph.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A program in a file of its own, with this body of vertex_compute, and helpers in another file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def made(body, *, before="", helpers="", edge="return 1.0", combine="ew.SUM", end="return ew.HALT"):
        for name in ("func_program", "func_helpers"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        (tmp_path / "func_helpers.py").write_text(textwrap.dedent(helpers))
        text = PROGRAM.format(
            before=textwrap.dedent(before),
            combine=combine,
            edge=textwrap.indent(textwrap.dedent(edge), " " * 8),
            body=textwrap.indent(textwrap.dedent(body), " " * 8),
            end=textwrap.indent(end, " " * 8),
        )
        (tmp_path / "func_program.py").write_text(text)
        return importlib.import_module("func_program").T

    yield made
    for name in ("func_program", "func_helpers"):
        sys.modules.pop(name, None)


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    path = tmp_path / "towns.txt"
    path.write_text(TOWNS)
    return path
