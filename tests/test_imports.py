"""The order of the parts: imports only go down the list, and optional packages stay optional."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "edgewise"

#: From the bottom up. Parts on one line may not import each other; modules inside a folder may.
ORDER = [
    {"early", "numeric", "text"},
    {"errors", "progress"},
    {"memory", "whole", "convert"},
    {"kernels"},
    {"program"},
    {"primitives"},
    {"layout"},
    {"schedule"},
    {"graph"},
    {"io", "generate"},
    {"balance"},
    {"explain"},
    {"execution"},
    {"result"},
    {"edge_result", "vertex_result"},
    {"path_result"},
    {"engine"},
    {"building"},
    {"program_result"},
    {"run"},
    {"distributed"},
    {"algorithms"},
    {"moved"},
    {"approx"},
    {"__init__"},
    {"nx"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}

#: Packages, and the parts that may import them.
DOORS = {
    "cuda": ("kernels",),
    "cupy": ("kernels",),
    "numba.cuda": ("kernels",),
    "numba_cuda": ("kernels",),
    "networkx": ("convert", "nx"),
    "torch": ("engine",),
    "typer": ("cli",),
}
ALGORITHM_DOORS = ("cpu", "cuda", "program", "ranks", "verify")
NOT_LOADED = (
    "cuda",
    "cupy",
    "networkx",
    "numba.cuda",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "torch",
    "typer",
)
#: The functions that import a module by a name that is text, and the files that name modules of edgewise so.
IMPORTING = ("import_module", "__import__")
IMPORT_BY_TEXT = ("kernels/door.py", "algorithms/common/dispatch.py")
#: The folders of engines; the files beside them, and what lies in `lowering`, are for all engines.
ENGINES = [f"edgewise.engine.{path.parent.name}" for path in sorted(PACKAGE.glob("engine/*/program.py"))]


def modules(*folders: str) -> list[Path]:
    """The files in folders; without any, those of the package."""
    return [path for folder in folders or ("edgewise",) for path in sorted((ROOT / folder).rglob("*.py"))]


def for_each(paths: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Run a test for each of these files, all together: to pytest, thousands of tests are longer than what they do."""

    def of_one(test: Callable[[Path], None]) -> Callable[[], None]:
        def of_all() -> None:
            assert paths
            for path in paths:
                test(path)

        of_all.__doc__ = test.__doc__
        return of_all

    return of_one


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, which several tests look at."""
    return ast.parse(path.read_text(encoding="utf-8"))


def part_of(path: Path) -> str:
    """The part that a module belongs to: the folder or file right under the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


#: Functions whose first argument names a function of an algorithm, or is one.
NAMING = ("Form", "memory_by")


def forms(path: Path) -> Iterator[tuple[int, str]]:
    """What a file names for `dispatch` to import, the strings in calls of `NAMING`, with its line."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMING:
            match node.args[:1]:
                case [ast.Constant(value=str(name))]:
                    yield node.lineno, f"edgewise.algorithms.{name}"
                case [ast.Name()]:
                    pass
                case _:
                    raise AssertionError(f"{path}:{node.lineno}: give a function, or its name as a string")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a file is imported: all that lies below a node but the bodies of functions."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield inner
            yield from statements(inner)


@functools.cache
def imported_names(path: Path, at_once: bool = False) -> list[tuple[int, str]]:
    """Every absolute name that a file imports, with its line: at any depth and by `dispatch`, or just when it is
    imported itself."""
    found = [] if at_once else list(forms(path))
    for node in statements(parsed(path)) if at_once else ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by the full name"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is that of a package, or of something in it."""
    return f"{name}.".startswith(f"{package}.")


def imported_part(name: str) -> str | None:
    """The part of edgewise that an imported name stands for; None for other packages."""
    package, _, rest = name.partition(".")
    if package != "edgewise":
        return None
    part = rest.partition(".")[0]
    is_module = (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file()
    return part if part and is_module else "__init__"


@for_each(modules())
def test_imports_only_go_down(path: Path) -> None:
    part = part_of(path)
    assert part in RANK, f"{part} has no place in the order of parts: add it to ORDER"
    for line, name in imported_names(path):
        target = imported_part(name)
        if target is not None and target != part:
            assert target in RANK, f"{target} has no place in the order of parts: add it to ORDER"
            assert RANK[target] < RANK[part], f"{path}:{line}: {part} imports {target}, which is not below it"


@for_each(modules())
def test_packages_that_few_parts_import(path: Path) -> None:
    for line, name in imported_names(path):
        for package, doors in DOORS.items():
            assert not is_within(name, package) or part_of(path) in doors, (
                f"{path}:{line}: only {', '.join(doors)} may import {package}"
            )


@for_each(modules())
def test_forms_are_functions(path: Path) -> None:
    for line, name in forms(path):
        module, _, function = name.rpartition(".")
        body = parsed(ROOT / f"{module.replace('.', '/')}.py").body
        defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert function in defined, f"{path}:{line}: {module} has no function {function}"


def module_name(path: Path) -> str:
    """The dotted name of a module; of a package's `__init__` that of the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@for_each(modules())
def test_two_files_import_by_text(path: Path) -> None:
    """Other files import modules of edgewise by statements, which is what these tests look at.

    What they import by a text is another package, and the text is a constant.
    """
    if path.relative_to(PACKAGE).as_posix() in IMPORT_BY_TEXT:
        return
    of_others = set()
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                of_others |= set() if is_within(name, "edgewise") or name.startswith(".") else {function}
            case ast.alias(name=name, asname=str(other)):
                assert name not in IMPORTING, f"{path}:{node.lineno}: {name} is named {other}"
            case ast.Name(id=name) | ast.Attribute(attr=name):
                by_text = name in IMPORTING and node not in of_others
                assert not by_text, f"{path}:{node.lineno}: use an import statement"


def imported_modules(path: Path, known: set[str], at_once: bool = False) -> set[str]:
    """The modules among the known ones that a file imports, see `imported_names`."""
    names = {name for _, name in imported_names(path, at_once)}
    return {name if name in known else name.rpartition(".")[0] for name in names} & known


def needs_cuda(name: str) -> bool:
    """Whether a name stands for CUDA itself, or for something of ours that is imported only where CUDA is used."""
    parts = name.split(".")
    return parts[0] == "cupy" or any(part.startswith("cuda") or part.endswith("_cuda") for part in parts)


@pytest.mark.parametrize("folder", ["edgewise", "benchmarks"])
def test_no_module_imports_itself_through_others(folder: str) -> None:
    paths = {module_name(path): path for path in modules(folder)}
    order = TopologicalSorter({name: imported_modules(path, set(paths)) for name, path in paths.items()})
    order.prepare()  # CycleError names the modules


@for_each(modules())
def test_cpu_and_cuda_are_apart(path: Path) -> None:
    """What runs on the CPU imports nothing of a GPU, and nothing imports the package that it lies in."""
    name = module_name(path)
    inner = name.split(".")[2:]
    for line, imported in imported_names(path):
        if any(part.startswith("cpu") for part in inner):
            assert not needs_cuda(imported), f"{path}:{line}: {imported}"
        package = imported.rpartition(".")[0]
        inside = name.startswith(f"{package}.") and package.count(".") > 0
        is_module = (ROOT / imported.replace(".", "/")).with_suffix(".py").is_file()
        is_package = (ROOT / imported.replace(".", "/")).is_dir()
        assert not inside or is_module or is_package, f"{path}:{line}: imports its own package, {package}"


@for_each(modules("edgewise/engine"))
def test_engines_are_apart(path: Path) -> None:
    """Only what lies in the folder of an engine imports from it: neither another engine nor what engines share does.
    The engine of several ranks is made of the CPU's and the GPU's."""
    for line, imported in imported_names(path):
        for folder in ENGINES:
            users = (folder, "edgewise.engine.distributed")
            outside = is_within(imported, folder) and not any(
                is_within(module_name(path), user) for user in users
            )
            assert not outside, f"{path}:{line}: {imported} is imported only inside {folder}"


@for_each(modules("edgewise/algorithms/common"))
def test_what_algorithms_share_imports_none_of_them(path: Path) -> None:
    for line, imported in imported_names(path):
        shared = is_within(imported, "edgewise.algorithms.common") or imported_part(imported) != "algorithms"
        assert shared, f"{path}:{line}: {imported} is of an algorithm"


@for_each(modules("edgewise", "benchmarks", "examples"))
def test_algorithms_are_entered_by_their_doors(path: Path) -> None:
    name = module_name(path)
    for line, imported in imported_names(path):
        parts = imported.split(".")
        if parts[:2] == ["edgewise", "algorithms"] and len(parts) > 3 and parts[2] != "common":
            door = (
                parts[3] in ALGORITHM_DOORS
                or not (PACKAGE / "algorithms" / parts[2] / f"{parts[3]}.py").is_file()
            )
            same = is_within(name, f"edgewise.algorithms.{parts[2]}")
            assert door or same, f"{path}:{line}: {imported} is no door of {parts[2]}"


@for_each(modules())
def test_helpers_belong_to_the_door_that_they_name(path: Path) -> None:
    """A file with the prefix of a door is imported only by that door and by files with the same prefix."""
    for line, imported in imported_names(path):
        parts = imported.split(".")
        helper = "/".join(parts[1:4]) + ".py"
        if parts[1:2] == ["algorithms"] and parts[2] != "common" and (PACKAGE / helper).is_file():
            door, _, rest = parts[3].partition("_")
            if rest and door in ALGORITHM_DOORS:
                user = path.stem.partition("_")[0]
                assert user == door, (
                    f"{path}:{line}: {helper} is for {door}; take the prefix off, or use {door}"
                )


def test_what_the_cpu_runs_needs_no_gpu() -> None:
    """No file for the CPU imports one for CUDA, or CUDA itself, through other files either.

    Functions may import what is for CUDA when they are called with something on a GPU, but those of algorithms may not:
    there, `dispatch` does that.
    """
    known = {module_name(path): path for path in modules()}
    at_once = {name: part_of(path) != "algorithms" for name, path in known.items()}
    uses = {name: imported_modules(path, set(known), at_once[name]) for name, path in known.items()}
    packages = {
        name: {other for _, other in imported_names(path, at_once[name]) if imported_part(other) is None}
        for name, path in known.items()
    }
    runs_on_cpu = [name for name in known if any(part.startswith("cpu") for part in name.split("."))]
    for first in ("edgewise.schedule", *runs_on_cpu):
        reached, waiting = {first}, [first]
        while waiting:
            name = waiting.pop()
            for_cuda = sorted(filter(needs_cuda, uses[name] | packages[name]))
            assert not for_cuda, f"{first} reaches {name}, which imports {for_cuda}"
            waiting += uses[name] - reached
            reached |= uses[name]


def test_the_page_of_rooms_names_all_from_the_top_down() -> None:
    page = (ROOT / "docs" / "design" / "rooms.md").read_text(encoding="utf-8")
    table = page[page.index("| room |") :].partition("\n\n")[0].splitlines()[2:]
    cells = [row.split("|")[1] for row in table]
    rooms = [room for cell in cells for room in re.findall(r"`(\w+)(?:/|\.py)`", cell)]
    assert sorted(rooms) == sorted(RANK)
    assert rooms == sorted(rooms, key=lambda room: -RANK[room])


def test_what_networkx_asks_when_it_is_imported_loads_nothing() -> None:
    """Not even edgewise, which would take a second: NetworkX asks all backends that are installed."""
    script = "import edgewise_networkx, sys; edgewise_networkx.get_info(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not {"edgewise", "networkx", "numba", "numpy"} & set(done.stdout.split())


def test_import_loads_no_optional_package() -> None:
    script = f"import edgewise, sys; print(*[name for name in {NOT_LOADED!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
