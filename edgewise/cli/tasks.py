"""Tasks that the command line can run by name: the algorithms, and a program in a user's file."""

import ast
import contextlib
import importlib.util
import inspect
import math
import re
import sys
import traceback
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any

import numpy as np

import edgewise
from edgewise import generate
from edgewise.errors import GraphError, MemoryLimitError, ProgramError
from edgewise.execution import check_limit
from edgewise.graph import Graph, VertexId, VertexIds
from edgewise.kernels.door import cuda_problem
from edgewise.memory import Step
from edgewise.program.declare import REQUIRED, VERTEX, EdgeField, Parameter, Program, VertexField, is_required
from edgewise.program_result import ProgramResult
from edgewise.result import Result
from edgewise.text import shown, written

#: Parameters for how a run is carried out; these have command-line options of their own.
_NOT_PARAMETERS = {"graph", "device", "schedule", "progress", "memory_limit", "distributed"}
#: Those of programs alone.
_OF_PROGRAMS = {"checkpoint", "every"}
_OF_RUN = ("max_supersteps", "check", "seed")
_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


#: Parameters by name, still text; a list has the ids of an option that may be given several times.
Given = Mapping[str, str | list[str]]


@dataclass(frozen=True)
class Task:
    """Something to run on a graph.

    Attributes:
        name: for messages and results.
        function: called with a graph, the parameters and the options of a run.
        result: the class of its result.
        parameters: names that may be given.
        required: parameters that must be given.
        vertices: parameters that take the id of a vertex.
        several: those of them that take several ids, too.
        booleans: parameters that are true or false.
        elsewhere: for names that NetworkX has for parameters, what to give instead.
    """

    name: str
    function: Callable[..., Result]
    result: type[Result]
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    vertices: tuple[str, ...]
    several: tuple[str, ...]
    booleans: tuple[str, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's."""
        return self.result is ProgramResult

    def arguments(self, graph: Graph, given: Given) -> dict[str, Any]:
        """The parameters as values: vertices as ids of the graph, the rest as Python literals or strings."""
        return {name: self._argument(graph, name, text) for name, text in given.items()}

    def _argument(self, graph: Graph, name: str, text: str | list[str]) -> Any:
        if isinstance(text, list):
            ids = [vertex_id(graph, each) for each in text]
            return ids if len(ids) > 1 else ids[0]
        if name in self.several:
            return vertex_ids(graph, text)
        return vertex_id(graph, text) if name in self.vertices else _value(name, text, name in self.booleans)

    def check_names(self, given: Given) -> None:
        """Refuse parameters that the task does not have, several values for one, and the lack of one that it needs."""
        _refuse_unknown(self.name, given, self.parameters, self.elsewhere)
        for name, text in given.items():
            if isinstance(text, list) and len(text) > 1 and name not in self.several:
                raise ProgramError(f"{self.name} takes one {name}; {len(text)} were given")
        for name in self.required:
            if name not in given:
                option = "--source ID" if name == "source" else f"--set {name}=VALUE"
                raise ProgramError(f"{self.name} needs {name}: give {option}")


def keywords(name: str, function: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The keyword arguments of a function from texts.

    Raises:
        ProgramError: a keyword that the function does not have, or the lack of one that it needs.
    """
    declared = _declared(function)
    _refuse_unknown(name, texts, tuple(declared))
    for parameter in declared.values():
        if parameter.default is parameter.empty and parameter.name not in texts:
            raise ProgramError(f"{name} needs {parameter.name}: give --set {parameter.name}=VALUE")
    return {key: _value(key, text, _is_boolean(declared[key])) for key, text in texts.items()}


def _refuse_unknown(
    name: str, given: Iterable[str], known: tuple[str, ...], elsewhere: Mapping[str, str] | None = None
) -> None:
    for each in given:
        if each not in known and each in (elsewhere or {}):
            instead = re.sub(r"\b(?=\w+=)", "--set ", (elsewhere or {})[each])
            raise ProgramError(f"{name} has no parameter {shown(each)}, as NetworkX has; expected {instead}")
        if each not in known:
            raise ProgramError(f"{name} has no parameter {shown(each)}; it has {', '.join(known) or 'none'}")


def _declared(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function that say what to do, not how, by name."""
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if name not in _NOT_PARAMETERS}


def find_task(name: str) -> Task:
    """The algorithm of this name, or the program in a file: ``my_program.py:MyProgram``.

    Raises:
        ProgramError: there is neither; the message lists the names that exist.
    """
    if ":" in name or name.endswith(".py"):
        return _program_task(name)
    return find_algorithm(name)


def algorithms() -> dict[str, Callable[..., Result]]:
    """The algorithms by the names of their results: the functions of `edgewise` that return a result."""
    exported = [getattr(edgewise, name) for name in edgewise.__all__]
    functions = [each for each in exported if inspect.isfunction(each)]
    return {
        kind.algorithm: each for each in functions if (kind := _result_of(each)) not in (None, ProgramResult)
    }


def _result_of(function: Callable[..., Any]) -> type[Result] | None:
    """The class of the result that a function returns, if it returns one."""
    kind = inspect.signature(function).return_annotation
    return kind if isinstance(kind, type) and issubclass(kind, Result) else None


def find_algorithm(name: str) -> Task:
    """The algorithm of this name, or of that of its function in `edgewise`.

    Raises:
        ProgramError: there is none; the message lists them.
    """
    known = algorithms()
    exported = vars(edgewise)
    by_name = known | {each: exported[each] for each in edgewise.__all__ if exported[each] in known.values()}
    if name not in by_name:
        raise ProgramError(
            f"there is no algorithm {shown(name)}; there are {', '.join(known)}. A program of your own is run by its "
            "file and class: my_program.py:MyProgram"
        )
    function = by_name[name]
    declared = _declared(function)
    required = tuple(p.name for p in declared.values() if p.default is p.empty)
    booleans = tuple(p.name for p in declared.values() if _is_boolean(p))
    kind = inspect.signature(function).return_annotation
    several = tuple(p.name for p in declared.values() if p.annotation == VertexIds)
    vertices = tuple(p.name for p in declared.values() if p.annotation == VertexId)
    return Task(
        kind.algorithm,
        function,
        kind,
        tuple(declared),
        required,
        (*vertices, *several),
        several,
        booleans,
        vars(function).get("names_elsewhere", {}),
    )


def _program_task(name: str) -> Task:
    path, _, class_name = name.rpartition(":") if ":" in name else (name, "", "")
    program = _find_program(Path(path), class_name)
    declared = {
        key: value
        for key in dir(program)
        if isinstance(value := inspect.getattr_static(program, key), Parameter)
    }

    def run(graph: Graph, **values: Any) -> Result:
        _check_arrays(program, graph)
        of_run = {*_OF_RUN, *_NOT_PARAMETERS, *_OF_PROGRAMS} - set(declared)
        options = {key: values.pop(key) for key in list(values) if key in of_run}
        found: Result = edgewise.run(program(**values), graph, **options)
        return found

    return Task(
        program.__name__,
        run,
        ProgramResult,
        tuple(dict.fromkeys((*declared, *_OF_RUN))),
        tuple(key for key, value in declared.items() if is_required(value)),
        tuple(key for key, value in declared.items() if value.dtype is VERTEX),
        (),
        ("check", *(key for key, value in declared.items() if _holds_boolean(value))),
    )


def _check_arrays(program: type[Program], graph: Graph) -> None:
    """Refuse a program that needs arrays, which no command line gives, beyond the graph's edge attributes."""
    for name in dir(program):
        declared = inspect.getattr_static(program, name)
        if not isinstance(declared, EdgeField | VertexField) or declared.init is not REQUIRED:
            continue
        if isinstance(declared, VertexField):
            raise ProgramError(
                f"{program.__name__} needs {name}, an array with a value for each vertex, which no option gives; run "
                f"the program in Python, {program.__name__}({name}=...)"
            )
        if name not in graph.edge_attributes:
            raise ProgramError(
                f"{program.__name__} needs {name}, an edge attribute, which the graph does not have: only .edgewise "
                "files keep such. Make the graph in Python, by Graph.from_edges(..., "
                f"edge_attributes={{{name!r}: values}}) or from a data frame; write it by "
                'graph.save("graph.edgewise"), and give that file here'
            )


def _find_program(path: Path, class_name: str) -> type[Program]:
    """The class of this name in a file; without a name, the only one there."""
    if not path.is_file():
        raise ProgramError(f"there is no file {path}; expected my_program.py:MyProgram")
    module = _load(path)
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Program) and value.__module__ == module.__name__
    }
    if class_name in found:
        return found[class_name]
    if not class_name and len(found) == 1:
        return next(iter(found.values()))
    listed = ", ".join(found) or "none"
    wanted = f"no program {class_name!r}" if class_name else "no single program"
    raise ProgramError(f"{path} has {wanted}; the subclasses of edgewise.Program in it are: {listed}")


def _load(path: Path) -> ModuleType:
    """A user's file as a module, which may import its neighbours."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ProgramError(f"{path} is no Python file; expected my_program.py:MyProgram")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ProgramError(f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file can raise any class of its own, or end Python
        where = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__}: {written(error)}"
        raise ProgramError(f"{where.filename}:{where.lineno}: {problem}") from error
    return module


def find_generator(name: str) -> Callable[..., Graph]:
    """The generator of this name in `edgewise.generate`."""
    known = {
        key: value
        for key, value in vars(generate).items()
        if inspect.isfunction(value) and value.__module__ == generate.__name__ and not key.startswith("_")
    }
    if name not in known:
        raise ProgramError(f"there is no generator {shown(name)}; there are {', '.join(known)}")
    return known[name]


def parse_parameters(settings: Sequence[str] | None, sources: Sequence[str] | None) -> Given:
    """What ``--set`` and ``--source`` give, as parameters by name. Raises ProgramError for one that is given twice."""
    given: dict[str, str | list[str]] = dict(parse_settings("--set", settings))
    if sources and "source" in given:
        raise ProgramError("source is given twice: by --source, and by --set source=...")
    if sources:
        given["source"] = list(sources)
    return given


def parse_settings(option: str, settings: Sequence[str] | None) -> dict[str, str]:
    """``["damping=0.9"]`` as parameters by name, still text. Raises ProgramError for one that is given twice."""
    texts: dict[str, str] = {}
    for setting in settings or ():
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise ProgramError(f"{option} {shown(setting)}; expected NAME=VALUE, such as damping=0.9")
        if name in texts:
            raise ProgramError(f"{option} {name}=... is given twice; expected one value for each name")
        texts[name] = text
    return texts


def _is_boolean(parameter: inspect.Parameter) -> bool:
    """Whether a function takes True or False for a parameter, and nothing else but None."""
    kinds = set(typing.get_args(parameter.annotation)) or {parameter.annotation}
    return bool in kinds and kinds <= {bool, NoneType}


def _holds_boolean(parameter: Parameter) -> bool:
    """Whether a parameter of a program is true or false."""
    return parameter.dtype in (bool, np.bool_) or isinstance(parameter.default, bool)


def _value(name: str, text: str, boolean: bool) -> Any:
    """A text as a boolean, or as a Python literal or a string."""
    if not boolean or text == "None":
        return literal(text)
    if text.lower() not in _BOOLEANS:
        raise ProgramError(f"{name} is {shown(text)}; expected true or false")
    return _BOOLEANS[text.lower()]


def literal(text: str) -> Any:
    """A Python literal, or the text itself where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes, and of numbers next to words
            value = ast.literal_eval(text)
            repr(value)  # integers of too many digits cannot be named in messages
            return value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def vertex_id(graph: Graph, text: str) -> str | int:
    """A vertex as the graph would call it: a name, or an integer. What runs looks it up.

    Raises:
        GraphError: no integer, and the ids are integers.
    """
    if graph.has_names:
        return text
    try:
        return int(text)
    except ValueError:
        raise GraphError(f"the graph has no vertex {shown(text)}; its ids are integers") from None


def vertex_ids(graph: Graph, text: str) -> Any:
    """A vertex, see `vertex_id`, or several as Python writes a list: ``['Lyon', 'Nice']``, ``[0, 33]``. A text that
    is the name of a vertex is that vertex.

    Raises:
        GraphError: as `vertex_id`.
    """
    values = literal(text)
    if not isinstance(values, list | tuple | set) or (graph.has_names and text in graph):
        return vertex_id(graph, text)
    return [vertex_id(graph, each if isinstance(each, str) else written(each, repr)) for each in values]


@contextlib.contextmanager
def counting(name: str, limit: int | None, left: int | None) -> Iterator[None]:
    """While this is entered, refusals of memory name the limit of the command line, which counts ids that were read:
    `left` is what these leave of it.

    Raises:
        MemoryLimitError: in place of those.
    """
    try:
        yield
    except MemoryLimitError as refused:
        if limit is None or left is None or left == limit or math.isinf(refused.needed):
            raise
        whole, of_ids = int(refused.needed) + limit - left, limit - left
        raise MemoryLimitError(
            f"{name} needs {whole:,} bytes, {of_ids:,} of them for the ids of vertices; --memory-limit is {limit:,}. "
            "Raise it, or take fewer threads, if there are several"
        ) from None


def with_ids(line: str, of_ids: Step) -> str:
    """A line of an explanation, in which the memory limit that is enough counts ids, which are read before."""

    def counted(match: re.Match[str]) -> str:
        return f"--memory-limit {max(int(match[1]) + of_ids.kept, of_ids.most)} is enough"

    return re.sub(r"memory_limit=(\d+) is enough", counted, line)


def left_by_ids(graph: Graph, name: str, limit: int | None, device: str) -> int | None:
    """Read the ids of a graph in a file, with which the answer of a run is shown, and give what they leave of a limit:
    all of it where the run may be on a GPU, for then it is a limit of the GPU's memory.

    Raises:
        MemoryLimitError: they take more.
    """
    if limit is None or (device != "cpu" and cuda_problem() is None):
        return limit
    reading = graph.reading_ids()
    if reading.most:
        check_limit(f"{name}: reading the ids of vertices", limit, reading.most)
        _ = graph.vertices
    return limit - reading.kept
