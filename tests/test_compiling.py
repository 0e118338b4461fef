"""Kernels hold what they need and nothing else, give the same answers, and are found again by other processes."""

import ast
import importlib
import os
import signal
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import compiler

from edgewise.kernels import cache
from edgewise.kernels.cache import device_function, kernel, program_function
from edgewise.kernels.cpu.pipeline import FunctionLibrary, KernelLibrary

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def weighed(values, i):
    return max(values[i], 0.5) ** 2 + np.sqrt(abs(values[i]))


def parity(n):
    return 1 if n % 2 == 0 else -1


def whole(total, count):
    while count > 0:
        total, count = total / 2, count - 1
    return total, count


def total_with(make, make_inner):
    """The same kernel, its functions compiled by `make_inner` and itself by `make`."""
    value, sign, rest = (make_inner(function) for function in (weighed, parity, whole))

    def total(values):
        found = 0.0
        for i in range(len(values)):
            found += value(values, i) * sign(i % 7)
        return rest(found, 3)

    return make(total)


def plain(function):
    return numba.njit(function, **cache.KERNEL_OPTIONS)


def test_answers_are_those_of_the_compiler_that_kernels_do_without():
    values = np.random.default_rng(1).normal(size=100)
    expected = total_with(plain, plain)(values)
    for inner in (device_function, program_function, kernel, plain):
        assert total_with(lambda made: kernel(made, key=None), inner)(values) == expected


def test_a_function_that_only_kernels_call_is_not_translated_and_not_linked_with_what_it_calls():
    @device_function
    def inner(x):
        return x + 1

    @device_function
    def outer(x):
        return inner(x) * 2

    arguments = (numba.int64,)
    outer.compile(arguments)
    library = outer.overloads[arguments].library
    assert isinstance(library, FunctionLibrary) and inner.overloads[arguments].library in library.behind
    (name,) = (function.name for function in library._final_module.functions if not function.is_declaration)
    assert name == outer.overloads[arguments].fndesc.llvm_func_name
    assert not library._codegen._engine.is_symbol_defined(name)
    assert not list(library._final_module.global_variables)


def test_what_it_calls_is_in_the_kernel_once_and_python_cannot_reach_the_function_alone():
    @device_function
    def shared(x):
        return x * 3

    @device_function
    def one(x):
        return shared(x) + 1

    @kernel(key=None)
    def both(x):
        return one(x) + shared(x)

    assert both(5) == 31
    with pytest.raises(TypeError, match="shared is for kernels only"):
        shared(5)


def test_a_function_that_the_first_of_two_callers_does_not_need_after_all_is_linked_for_the_second():
    @program_function
    def leaf(x):
        return x * 3

    @program_function
    def first(x, size):
        return leaf(x) if size > 5 else x

    @program_function
    def second(x):
        return leaf(x) + 1

    @kernel(key=None)
    def both(x):
        return first(x, 1) + second(x)

    assert both(5) == 5 + 16


def test_a_function_is_compiled_once_for_all_constants_unless_a_user_wrote_it():
    def step(x, size):
        return x + size

    own, users = device_function(step), program_function(step)

    @kernel(key=None)
    def walk(x):
        return own(own(x, 1), 2) + users(users(x, 1), 2)

    assert walk(4) == 14
    assert len(own.overloads) == 1 and len(users.overloads) == 2


def test_new_declarations_are_noticed():
    """Contexts are asked once for each kernel, not for each function."""

    def marker(x):
        return x

    @device_function
    def inner(x):
        return marker(x) + 1

    with pytest.raises(numba.TypingError):
        kernel(lambda x: inner(x), key=None)(1)
    numba.extending.overload(marker)(lambda x: lambda x: x * 10)

    @device_function
    def again(x):
        return marker(x) + 1

    assert kernel(lambda x: again(x), key=None)(1) == 11


def test_every_pass_of_numba_is_kept():
    from edgewise.kernels.cpu.pipeline import LowerFunction, _passes_to, _Start

    theirs = [
        kind.__name__ for kind, _ in compiler.DefaultPassBuilder.define_nopython_pipeline(_Start).passes
    ]
    ours = [type(each).__name__ for each, _, _ in _passes_to(LowerFunction)._passes]
    assert ours == ["LowerFunction" if name == "NativeLowering" else name for name in theirs]


PROGRAM = """
import sys
import time
import numpy as np
import edgewise as ew
from edgewise.kernels.cpu import pipeline
from helper import amount

class Reach(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return amount(edge.source)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT

def counted(original, compiled=[0]):
    def define(self):
        compiled[0] += 1
        return original(self)
    return define, compiled

pipeline.KernelCompiler.define_pipelines, compiled = counted(pipeline.KernelCompiler.define_pipelines)
result = ew.run(Reach, ew.Graph.from_csr([0, 1, 2, 2], [1, 2]), device="cpu")
print(*result.value, compiled[0])
"""


@pytest.mark.more
def test_another_process_compiles_nothing_until_a_helper_in_another_file_is_edited(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}

    def values_and_compiled(amount):
        (tmp_path / "helper.py").write_text(f"def amount(v):\n    return v + {amount}\n")
        command = [sys.executable, "-B", "program.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        *values, compiled = map(int, done.stdout.split())
        return values, compiled

    first, again, edited = (values_and_compiled(amount) for amount in (5, 5, 100))
    assert first[0] == again[0] == [0, 5, 6] and edited[0] == [0, 100, 101]
    assert first[1] > 0 and again[1] == 0 and edited[1] > 0


def test_a_program_that_was_loaded_by_a_path_starts_warm_in_another_process(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("def amount(v):\n    return v + 5\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import importlib.util\n"
        "spec = importlib.util.spec_from_file_location('program', 'folder/program.py')\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
    )
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.split())
    assert told[0][:3] == told[1][:3] == ["0", "5", "6"]
    assert int(told[0][3]) > 0 and told[1][3] == "0"


TWIN = """
import edgewise as ew

class {name}(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return {message}

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT
"""
RUN_TWINS = """
import sys
import time
import edgewise as ew
from edgewise.kernels.cpu import pipeline
from importlib import import_module

compiled = []
define = pipeline.KernelCompiler.define_pipelines
pipeline.KernelCompiler.define_pipelines = lambda self: compiled.append(self) or define(self)
graph = ew.Graph.from_csr([0, 1, 2, 3, 4], [1, 2, 0, 0])
for module, name in (word.split(".") for word in sys.argv[1:]):
    print(*ew.run(getattr(import_module(module), name), graph, device="cpu").value)
print(len(compiled))
"""


@pytest.mark.more
def test_programs_that_different_processes_compiled_do_not_run_each_others_code(tmp_path):
    twins = {"one.Twin": "1", "square.Twin": "edge.source * edge.source", "last.Other": "edge.source - 7"}
    for place, message in twins.items():
        module, name = place.split(".")
        (tmp_path / f"{module}.py").write_text(TWIN.format(name=name, message=message))
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}

    def printed(*places):
        command = [sys.executable, "-c", RUN_TWINS, *places]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    for place in twins:  # each in a process of its own, where functions get the same numbers
        printed(place)
    assert printed(*twins) == ["2 1 1 0", "13 0 1 0", "-9 -7 -6 0", "0"]


def test_a_kernel_that_was_loaded_is_part_of_another_that_is_compiled(tmp_path):
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}

    def printed(script):
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed("import numpy as np; from edgewise.kernels.mixing import mix64; mix64(np.uint64(1))")
    draw = "import edgewise as ew; print(*ew.generate.uniform(50, 100, seed=1).targets)"
    with_loaded = printed(draw)
    environment["EDGEWISE_CACHE_DIR"] = str(tmp_path / "other")
    assert with_loaded == printed(draw) and len(with_loaded.split()) == 100


def test_gpu_code_holds_each_function_once():
    gpu = pytest.importorskip(
        "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
    )
    from numba.cuda import compiler as cuda_compiler

    from edgewise.kernels.cuda.arguments import array
    from edgewise.kernels.cuda.compile import _compiling_for

    @gpu.device_function
    def shared(x):
        return x * np.float32(3)

    @gpu.device_function
    def one(x):
        return shared(x) + np.float32(1)

    def code(values):
        values[0] = one(values[1]) + shared(values[2]) + one(values[3])

    signature = (array(np.dtype(np.float32)),)
    with _compiling_for((9, 0)):
        library, _ = cuda_compiler._compile_pyfunc_with_fixup(
            code, signature, device=False, abi="numba", cc=(9, 0)
        )
    defined = [f.name for module in library.modules for f in module.functions if not f.is_declaration]
    assert len(defined) == len(set(defined)) == 3


@pytest.mark.parametrize(
    "name",
    [
        "edgewise.engine.cpu.kernel",
        "edgewise.engine.cpu.best_first",
        "edgewise.algorithms.bfs.cpu_traverse",
        "edgewise.algorithms.pagerank.cpu_iterate",
        "edgewise.io.tokens",
        "benchmarks.papers.merge_sort",
    ],
)
def test_a_change_of_any_file_that_a_kernel_is_made_of_changes_its_key(name):
    """Also of one of which only constants are imported."""
    importlib.import_module(name)
    behind = cache._sources_behind(name, True).keys()
    assert name in behind
    for module in sorted(behind):
        for node in ast.parse(Path(sys.modules[module].__file__).read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith(("edgewise.", "benchmarks.")):
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & sys.modules.keys()
                assert (whole or {node.module}) <= behind, module


def test_modules_that_are_loaded_later_change_no_key(monkeypatch):
    """A package has its own modules once they are loaded, such as those for a GPU."""
    package = importlib.import_module("edgewise.kernels")
    before = cache._sources_behind("edgewise.kernels.mixing", True)
    later = types.ModuleType("edgewise.kernels.later")
    later.__file__ = __file__
    monkeypatch.setitem(sys.modules, later.__name__, later)
    monkeypatch.setattr(package, "later", later, raising=False)
    assert cache._sources_behind("edgewise.kernels.mixing", True) == before


def test_what_is_compiled_within_a_compilation_is_counted_once():
    started = time.perf_counter(), cache.compile_seconds()
    with cache.counted_as_compiling():
        for _ in range(3):
            with cache.counted_as_compiling():
                time.sleep(0.02)
    spent, counted = time.perf_counter() - started[0], cache.compile_seconds() - started[1]
    assert 0.06 <= counted <= spent


@pytest.fixture
def interrupted_handover(monkeypatch, tmp_path):
    """Ctrl-C is pressed in the function by which LLVM hands the code of a kernel over."""
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path / "cache"))

    def press(library, compiled):
        vars(library)["_compiled"] = compiled
        if compiled:
            signal.raise_signal(signal.SIGINT)

    handed_over = property(lambda library: vars(library)["_compiled"], press)
    monkeypatch.setattr(KernelLibrary, "_compiled", handed_over, raising=False)


def test_ctrl_c_waits_until_a_kernel_is_compiled(interrupted_handover):
    @kernel
    def inner(x):
        return x + 1

    @kernel
    def outer(x):
        return inner(x) * 2

    with pytest.raises(KeyboardInterrupt):
        outer(3)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert outer(3) == 8 and len(outer.signatures) == len(inner.signatures) == 1


def test_a_handler_of_ctrl_c_is_called_once_and_stays(interrupted_handover):
    came = []

    def handler(number, frame):
        came.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        assert kernel(key=None)(lambda x: x + 3)(4) == 7
        assert came == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert kernel(key=None)(lambda x: x + 4)(4) == 8
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_kernels_are_compiled_in_other_threads():
    compiled = kernel(key=None)(lambda x: x + 5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(compiled, 4).result() == 9
