"""Change places of the algorithms and engines, one at a time, and see whether tests notice: `make mutants`.

A mutant is the library with one change: another comparison, + for -, `or` for `and`, max for min, a number one higher,
a statement left out. A seed chooses them, of each file one before any has two. Each is tried in a copy of the
repository by the tests of its file; tests that fail, hang or crash have caught it. What only speed, memory or messages
depend on is left out: see `SPEED` and `SPEED_OF`. Files for GPUs are left out too, for those tests need a GPU or the
simulator.

Mutants that no test can tell from the library stand in mutants.toml, with the reason. Results are kept in the folder,
so that a run goes on where it was stopped; what is asked anew is what the change of a file or of its tests may alter.
"""

import argparse
import ast
import contextlib
import copy
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SEED, COUNT, ENOUGH = 2026, 60, 55
#: Seconds that a test may take, and all tests of a mutant. Tests that take longer all in all have told nothing.
OF_TEST, OF_MUTANT = 60, 900

_BETWEENNESS = ("test_betweenness.py", "test_edge_betweenness.py")
_PROGRAM = ("test_program.py", "test_program_runs.py", "test_program_files.py")
_ENGINES = ("test_engines.py", "test_engines_fields.py")
_PROGRAMS = (*_ENGINES, "test_pieces.py", *_PROGRAM)
_DECLARED = ("test_declarations.py", "test_declarations_combiners.py", "test_declarations_aggregates.py")
_FUNCTIONS = ("test_functions.py", "test_functions_refused.py")
_RANKS = ("test_pagerank.py", "test_pagerank_verify.py")
#: What files are changed, by the beginnings of their names in edgewise/, and their tests, of which the first that is
#: likely to fail and fast comes first. The first beginning that fits counts.
TESTS: dict[str, tuple[str, ...]] = {
    "algorithms/betweenness/checkpoint": ("test_checkpoint.py",),
    "algorithms/betweenness/cpu": _BETWEENNESS,
    "algorithms/betweenness/cpu_path_counts": _BETWEENNESS,
    "algorithms/betweenness/edges": ("test_edge_betweenness.py", "test_checkpoint.py", "test_arguments.py"),
    "algorithms/betweenness/verify": (*_BETWEENNESS, "test_verified_arrays.py"),
    "algorithms/betweenness": (*_BETWEENNESS, "test_checkpoint.py", "test_arguments.py"),
    "algorithms/bfs/cpu": ("test_bfs.py", "test_scc.py"),
    "algorithms/bfs": ("test_bfs.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/closeness": ("test_closeness.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/common/derived": ("test_verified_arrays.py",),
    "algorithms/common/dijkstra": (*_BETWEENNESS, "test_closeness.py"),
    "algorithms/common/distribution": (*_RANKS, "test_power.py", "test_given_values.py"),
    "algorithms/common/gather": (*_RANKS, "test_power.py"),
    "algorithms/common/largest": ("test_connected_components.py", "test_mst.py"),
    "algorithms/common/lengths": ("test_sssp.py", *_BETWEENNESS),
    "algorithms/common/numbers": (*_RANKS, "test_sssp.py"),
    "algorithms/common/power": ("test_power.py",),
    "algorithms/common/sources": (*_BETWEENNESS, "test_closeness.py"),
    "algorithms/components": ("test_connected_components.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/eigenvector": ("test_power.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/hits": ("test_power.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/katz": ("test_power.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/core_numbers": ("test_core_numbers.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/mst": ("test_mst.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/pagerank": (*_RANKS, "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/scc": ("test_scc.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/sssp/cpu": ("test_sssp.py",),
    "algorithms/sssp": ("test_sssp.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/topological": ("test_topological.py", "test_verified_arrays.py", "test_arguments.py"),
    "algorithms/triangles": ("test_triangles.py", "test_verified_arrays.py", "test_arguments.py"),
    "building": ("test_building.py", "test_building_faults.py"),
    "engine/contract": (*_PROGRAM, "test_result.py"),
    "engine/cpu/messages": ("test_buffered.py", *_PROGRAMS),
    "engine/cpu/program": (*_PROGRAMS, "test_buffered.py", "test_resume.py", "test_memory_limit.py"),
    "engine/cpu/workspace": (*_PROGRAMS, "test_buffered.py", "test_resume.py"),
    "engine/cpu": _PROGRAMS,
    "engine/delivery": ("test_delivery.py", *_PROGRAMS),
    "engine/endless": ("test_endless.py",),
    "engine/lowering/accessors": _PROGRAMS,
    "engine/lowering/binding": (
        "test_given_values.py",
        *_PROGRAM,
        "test_kept_programs.py",
        "test_memory_limit.py",
    ),
    "engine/lowering/compiled": (*_PROGRAM, *_DECLARED),
    "engine/lowering/constants": ("test_given_values.py", *_PROGRAMS),
    "engine/lowering/message_buffer": ("test_buffered.py",),
    "engine/overflow": (*_FUNCTIONS, *_PROGRAM),
    "engine/reference": (*_PROGRAM, *_ENGINES, "test_pieces.py", *_FUNCTIONS),
    "graph/file": (
        "test_graph_file.py",
        "test_graph_file_refused.py",
        "test_graph_file_changes.py",
        "test_file_pages.py",
    ),
    "graph/resident": ("test_placement.py",),
    "layout/bucket_sort": ("test_bucket_sort.py", "test_layouts.py"),
    "layout": ("test_layouts.py", "test_packed.py"),
}
#: Files for GPUs whose names do not say so.
FOR_GPUS = ("algorithms/mst/forest_edges.py", "algorithms/mst/lightest.py")
#: Functions, calls, arguments and variables that decide how fast a run is, how much memory it takes or what it says.
SPEED = re.compile(
    r"_*(.*_)?(bytes|work|cost|memory|rounds|explain|compare|log|report|notes|seconds|progress|looks?)(_.*)?"
    r"|empty|zeros|prefetch|no_vectors|spin_pause|cancelled|claim|budget|nbytes|laying_out|.*gpu.*|auto_delta|__str__"
)
#: Names of the same kind in one file.
SPEED_OF = {
    "algorithms/bfs/cpu_push.py": "_out_edges",
    "algorithms/bfs/cpu_state.py": "_empty_at",
    "algorithms/components/cpu_connect.py": "_meet",
    "algorithms/mst/cpu.py": "arcs|make_in_edges",
    "engine/cpu/best_first_lists.py": "is_short",
    "engine/cpu/program.py": "_carry_out",
    "layout/slots.py": "arranging",
}

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(NamedTuple):
    """One change: the file in edgewise/, the line and its text, where in the file, the old text and the new one."""

    file: str
    line: int
    text: str
    begin: int
    end: int
    old: str
    new: str

    @property
    def change(self) -> str:
        """What says in mutants.toml which one it is; lines move."""
        return f"{self.text}: {' '.join(self.old.split())} -> {self.new}"

    def __str__(self) -> str:
        return f"edgewise/{self.file}:{self.line}: {self.change}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """The node with one change of its own, for each that there is."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if type(operator) in COMPARISONS:
                other = copy.deepcopy(node)
                other.ops[i] = COMPARISONS[type(operator)]()
                yield other
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        other = "max" if node.func.id == "min" else "min"
        yield ast.Call(ast.Name(other), node.args, node.keywords)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.AugAssign | ast.Break | ast.Continue):
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and not any(isinstance(name, ast.Name) for name in node.targets):
        if not any(isinstance(name, ast.Tuple) for name in node.targets):
            yield ast.Pass()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def places(node: ast.AST, speed: re.Pattern[str]) -> Iterator[ast.AST]:
    """The nodes of a function's body whose change could be told from outside."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "args", "decorator_list") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not left_out(child, speed):
                yield child
                yield from places(child, speed)


def left_out(node: ast.AST, speed: re.Pattern[str]) -> bool:
    """Whether a part of a function is what no test looks at, or no test without a GPU reaches."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If):
        asked = ast.unparse(node.test)
        return "on_gpu" in asked or "as_program" in asked
    if isinstance(node, ast.Compare) and "_LOOK" in ast.unparse(node):
        return True
    if isinstance(node, ast.Expr):
        node = node.value
    named = {
        ast.FunctionDef: lambda: [node.name],
        ast.keyword: lambda: [node.arg or ""],
        ast.Call: lambda: [getattr(node.func, "id", getattr(node.func, "attr", ""))],
        ast.Assign: lambda: [
            name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
        ],
        ast.AugAssign: lambda: [getattr(node.target, "id", "")],
    }.get(type(node), list)()
    return any(speed.fullmatch(name) for name in named)


def mutants_of(file: str, text: str) -> list[Mutant]:
    """All mutants of a file."""
    speed = re.compile(f"{SPEED.pattern}|{SPEED_OF[file]}") if file in SPEED_OF else SPEED
    lines = text.encode().splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    tree, found = ast.parse(text), []
    tops = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {child for top in tops for child in ast.walk(top) if child is not top}
    for function in (top for top in tops if top not in inner and not left_out(top, speed)):
        for node in places(function, speed):
            for other in changed(node):
                begin = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                new = ast.unparse(ast.fix_missing_locations(other))
                new = new if isinstance(node, ast.stmt) else f"({new})"
                old = text.encode()[begin:end].decode()
                line = lines[node.lineno - 1].decode().strip()
                found.append(Mutant(file, node.lineno, line, begin, end, old, new))
    return found


def tests_of(file: str) -> tuple[str, ...]:
    """The tests of a file; none if it is not changed."""
    of_algorithms = file.startswith("algorithms/")
    if "cuda" in file or file in FOR_GPUS or (of_algorithms and "/program" in file):
        return ()
    return next((tests for name, tests in TESTS.items() if file.startswith(name)), ())


def chosen(seed: int, count: int, only: str = "") -> list[Mutant]:
    """The mutants that are tried: of each file whose name begins with `only` in turn, while it has more."""
    files = []
    for path in sorted((ROOT / "edgewise").rglob("*.py")):
        name = path.relative_to(ROOT / "edgewise").as_posix()
        if name.startswith(only) and tests_of(name):
            found = mutants_of(name, path.read_text(encoding="utf-8"))
            files.append(random.Random(f"{seed} {name}").sample(found, len(found)))
    random.Random(seed).shuffle(files)
    turns = max(map(len, files), default=0)
    return [found[turn] for turn in range(turns) for found in files if turn < len(found)][:count]


class Trial:
    """Copies of the repository as it is at the start, one for each job, in which mutants are tried; and the results."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder, self.kept = folder, folder / "results.json"
        self.results: dict[str, list[str]] = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.free, self.lock = list(range(jobs)), threading.Lock()
        left = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
        for job in range(jobs):
            shutil.rmtree(self.copy(job), ignore_errors=True)
            shutil.copytree(ROOT, self.copy(job), ignore=left)
        tried = (*(self.copy(0) / "edgewise").rglob("*.py"), *(self.copy(0) / "tests").glob("*.py"))
        self.content = {path.relative_to(self.copy(0)).as_posix(): path.read_bytes() for path in tried}

    def copy(self, job: int) -> Path:
        """The copy of a job. In the folder around it no other data lie."""
        return self.folder / f"copy-{job}" / "edgewise"

    def key(self, mutant: Mutant | None, tests: tuple[str, ...]) -> str:
        """What a result depends on, as far as it is looked at: the file and its tests."""
        digest = hashlib.sha256("\n".join(map(str, (mutant, *tests))).encode())
        for path in (*(f"tests/{test}" for test in tests), *([f"edgewise/{mutant.file}"] if mutant else [])):
            digest.update(self.content[path])
        return digest.hexdigest()

    def run(self, mutant: Mutant | None, tests: tuple[str, ...]) -> tuple[str, str]:
        """Whether a mutant was "caught" or "survived", and what was seen; None stands for the library as it is."""
        key = self.key(mutant, tests)
        if key not in self.results:
            with self.lock:
                job = self.free.pop()
            file = f"edgewise/{mutant.file if mutant else '__init__.py'}"
            path, text = self.copy(job) / file, self.content[file]
            if mutant is not None:
                path.write_bytes(text[: mutant.begin] + mutant.new.encode() + text[mutant.end :])
            found = self.tried(job, tests)
            path.write_bytes(text)
            with self.lock:
                self.free.append(job)
                if mutant is None and found[0] == "caught":  # to be mended
                    return found
                self.results[key] = list(found)
                self.kept.write_text(json.dumps(self.results, indent=1))
        outcome, seen = self.results[key]
        return outcome, seen

    def tried(self, job: int, tests: tuple[str, ...]) -> tuple[str, str]:
        """Run tests in a copy until one fails."""
        shutil.rmtree(self.copy(job) / ".hypothesis", ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow and not gpu"]
        command += [
            "--hypothesis-seed=0",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-o",
            "addopts=--strict-markers",
        ]
        command += [f"--timeout={OF_TEST}", "--timeout-method=thread"]
        command += [*(f"tests/{test}" for test in tests)]
        # Compiled code is kept under the content of its sources, so all mutants may share it.
        environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(self.folder / "compiled")}
        environment |= {"PYTHONPATH": str(self.copy(job)), "PYTHONDONTWRITEBYTECODE": "1"}
        started = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=self.copy(job),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                said, _ = running.communicate(timeout=OF_MUTANT)
            except subprocess.TimeoutExpired:
                said = None
            with contextlib.suppress(ProcessLookupError):  # what tests left running
                os.killpg(running.pid, signal.SIGKILL)
        if said is None:
            return "survived", f"no test failed in {OF_MUTANT} s"
        seconds = f"{time.monotonic() - started:.0f} s"
        if running.returncode == 0:
            return "survived", seconds
        if "+++ Timeout +++" in said:
            return "caught", f"{seconds}, a test hung"
        failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "caught", f"{seconds}, {failed[0][:150] if failed else f'exit code {running.returncode}'}"


def equivalents() -> dict[tuple[str, str], str]:
    """Why mutants cannot be told from the library, by file and change."""
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    return {(each["file"], each["change"]): each["reason"] for each in listed.get("equivalent", [])}


def main() -> int:
    """Try the mutants; 1 if fewer than `ENOUGH` are caught or listed as ones that no test can tell from the library."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--only", default="", help="the beginning of files' names in edgewise/")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants", help="copies and results")
    parser.add_argument("--list", action="store_true", help="only show which mutants there are")
    given = parser.parse_args()
    # Shells have what runs in the background ignore it, and tests of Ctrl-C would wait for it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mutants, known = chosen(given.seed, given.count, given.only), equivalents()
    if given.list:
        print(*mutants, sep="\n")
        return 0
    given.folder.mkdir(parents=True, exist_ok=True)
    trial = Trial(given.folder.resolve(), given.jobs)
    with ThreadPoolExecutor(given.jobs) as pool:
        whole = sorted({(test,) for mutant in mutants for test in tests_of(mutant.file)})
        for tests, (outcome, seen) in zip(
            whole, pool.map(lambda each: trial.run(None, each), whole), strict=True
        ):
            if outcome != "survived" or seen.startswith("no test"):
                print(f"{tests[0]} fails without a change: {seen}")
                return 1
        results = pool.map(lambda mutant: trial.run(mutant, tests_of(mutant.file)), mutants)
        survived = []
        for number, (mutant, (outcome, seen)) in enumerate(zip(mutants, results, strict=True), 1):
            print(f"{number:3} {outcome:8} {mutant} ({seen})", flush=True)
            if outcome == "survived":
                survived.append(mutant)
    for mutant in survived:
        print(
            f"\n{mutant}\n    {known.get((mutant.file, mutant.change), 'NOT LISTED in tests/mutants.toml')}"
        )
    unlisted = [mutant for mutant in survived if (mutant.file, mutant.change) not in known]
    caught = len(mutants) - len(survived)
    print(f"\n{caught} of {len(mutants)} caught; {len(survived)} survived, {len(unlisted)} of them unlisted")
    return int(len(mutants) - len(unlisted) < min(ENOUGH, len(mutants)))


if __name__ == "__main__":
    sys.exit(main())
