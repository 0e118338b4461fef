"""Programs and their helpers in files: edits are seen, what is compiled is kept, sources are the ones imported."""

import importlib.util
import linecache
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from program_cases import Plain, line_of, refused

import edgewise as ew
from edgewise.errors import ProgramError
from edgewise.kernels.cache import kept, kernel
from edgewise.program.inspect import inspect_program

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def test_damaged_files_of_compiled_code_are_written_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path))

    def load(function_key):
        cached = kernel(_add_one, key=function_key)
        assert cached(1) == 2

    def ask():
        return kept("what", __name__, lambda: b"that")

    load("key")
    assert ask() == b"that"
    files = sorted(tmp_path.glob("*.code"))
    assert len(files) == 2
    for damage in (lambda _: b"", lambda data: data[:-5], lambda data: data[:40] + b"~" + data[41:]):
        whole = {file: file.read_bytes() for file in files}
        for file in files:
            file.write_bytes(damage(whole[file]))
        load("key")
        assert ask() == b"that"
        assert all(file.read_bytes() != damage(whole[file]) for file in files)


def _add_one(value):
    return value + 1


def test_compiled_code_of_a_module_that_cannot_be_imported_is_compiled_anew(tmp_path):
    """As that of a program that was loaded from its file by a path, in a later process."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "apart.py").write_text("def amount(value):\n    return value + 1\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import importlib.util, numba\n"
        "from edgewise.kernels.cache import kernel\n"
        "spec = importlib.util.spec_from_file_location('apart', 'folder/apart.py')\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "amount = numba.njit(module.amount)\n"
        "def outer(value):\n"
        "    return amount(value)\n"
        "print(kernel(outer, key='key')(1))\n"
    )
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.stdout == "2\n", done.stderr


EDITED = """
import sys
import numpy as np
import edgewise as ew
from helper import amount

OFFSET = {offset}

class Edited(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return amount(OFFSET)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message + {inside}
        return ew.HALT

result = ew.run(Edited(), ew.Graph.from_csr([0, 1, 1], [1]))
print(result.value[1], result.compile_seconds < 0.5)
"""


@pytest.mark.more
def test_edits_of_the_users_files_are_seen_and_unchanged_files_start_warm(tmp_path):
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache")}

    def value(offset, inside, helper):
        (tmp_path / "helper.py").write_text(f"def amount(x):\n    return x * {helper}\n")
        (tmp_path / "edited.py").write_text(EDITED.format(offset=offset, inside=inside))
        command = [sys.executable, "-B", str(tmp_path / "edited.py")]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout.split()

    assert value(1, 0, 1)[0] == "1"
    assert value(1, 0, 1) == ["1", "True"]
    assert value(3, 0, 5)[0] == "15"


def test_the_key_tells_every_edit(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def key(offset, inside, helper):
        (tmp_path / "helper.py").write_text(f"def amount(x):\n    return x * {helper}\n")
        source = EDITED.format(offset=offset, inside=inside).partition("result =")[0]
        (tmp_path / "edited.py").write_text(source)
        for name in ("helper", "edited"):
            sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()
        return inspect_program(importlib.import_module("edited").Edited).key

    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        keys = [key(1, 0, 1), key(3, 0, 1), key(1, 7, 1), key(1, 0, 5)]
        assert None not in keys
        assert len(set(keys)) == 4
        assert key(1, 0, 1) == keys[0]
    finally:
        sys.dont_write_bytecode = before
        for name in ("helper", "edited"):  # other tests have modules of these names
            sys.modules.pop(name, None)


REFERRING = """
import enum
from collections import namedtuple
import numba
import edgewise as ew

class Mode(enum.IntEnum):
    A = {member}

Pair = namedtuple("Pair", {fields})
PAIR = Pair(1, 2)
NESTED = {nested}

def inner(x):
    return x

def amount(x, k={default}):
    return inner(x) + k

@numba.njit{options}
def other(x, k={compiled_default}):
    return x + k

class Referring(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return amount(1) + other(1) + Mode.A.value

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message + PAIR.b + len(NESTED[0])
        return ew.HALT
"""
REFERRED = {
    "member": 1,
    "fields": "('a', 'b')",
    "nested": "((1, 2), (3, 4, 5))",
    "default": 1,
    "compiled_default": 1,
    "options": "",
}


def referring(folder, number, **changed):
    """The program above in a file of its own, with some of its values changed."""
    path = folder / f"referring{number}.py"
    path.write_text(REFERRING.format(**{**REFERRED, **changed}))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module.Referring


def test_the_key_tells_defaults_enumerations_and_tuples_and_the_program_runs_with_them(tmp_path):
    _, program = referring(tmp_path, 0)
    assert ew.run(program, ew.Graph.from_edges([0], [1])).value[1] == 2 + 2 + 1 + 2 + 2
    changes = [
        {"member": 2},
        {"fields": "('b', 'a')"},
        {"nested": "((1, 2, 3), (4, 5))"},
        {"default": 2},
        {"compiled_default": 2},
        {"options": "(fastmath=True)"},
    ]
    programs = [program, *(referring(tmp_path, i + 1, **change)[1] for i, change in enumerate(changes))]
    keys = [inspect_program(each).key.replace(each.__module__, "") for each in programs]
    assert len(set(keys)) == len(keys)


def test_a_file_that_is_edited_after_the_import_changes_nothing(tmp_path):
    path, program = referring(tmp_path, 0)
    before = inspect_program(program)
    path.write_text(path.read_text().replace("amount(1)", "amount(edge.index)"))
    after = inspect_program(program)
    assert (after.key, after.edge_reads) == (before.key, set())


def test_a_source_that_is_not_what_was_imported_is_refused(tmp_path):
    path = tmp_path / "late.py"
    indented = textwrap.indent(REFERRING[REFERRING.index("class Ref") :], "    ")
    late = f"import edgewise as ew\ndef make():\n{indented}    return Referring\n"
    path.write_text(late)
    spec = importlib.util.spec_from_file_location("late", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text(late.replace("amount(1)", "amount(2)"))
    with pytest.raises(ProgramError, match=r"edge_compute in late.py, line 8: its file was edited after"):
        inspect_program(module.make())


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_helpers_that_call_each_other_are_refused():
    class Recursive(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return even(edge.source)

    refused(
        Recursive,
        f"even in test_program_files.py, line {line_of(even, 'def even')}: it calls itself by way of",
    )


def test_a_module_is_no_value():
    class Passing(Plain):
        @staticmethod
        def edge_compute(edge, state):
            module = np
            return module.sqrt(edge.source)

    refused(
        Passing,
        f"line {line_of(Passing.edge_compute, 'module = np')}",
        "np is a module, which is no value here",
    )
