"""Read a program's source before anything runs: what it declares, what it touches, and whether that is allowed.

The rules are those of the contract in `edgewise.program.declare`. Everything that can be decided from the source is
decided here, once for all engines, and is reported with the user's function and line.
"""

import ast
import inspect
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Number
from typing import Any

from numba.core.dispatcher import Dispatcher

from edgewise.errors import ProgramError
from edgewise.program.assigned import Paths
from edgewise.program.content import held, is_same
from edgewise.program.declarations import (
    EDGE_NAMES,
    HOOKS,
    PARAMETERS,
    STATE_ARRAYS,
    STATE_SCALARS,
    declarations,
    place_of,
    refusal,
)
from edgewise.program.declare import (
    Aggregator,
    Combiner,
    EdgeField,
    Fields,
    Parameter,
    Program,
    VertexField,
)
from edgewise.program.draws import draws_of, with_draws
from edgewise.program.helpers import check_body, check_helpers
from edgewise.program.key import program_key
from edgewise.program.source import UserFunction, all_references, source_of
from edgewise.text import shown


@dataclass(eq=False)
class Specification:
    """The specification of a program: what it declares and touches.

    Attributes:
        edge_writes: edge fields that edge_compute writes.
        vertex_writes: vertex fields that vertex_compute or resume writes.
        aggregate_reads: the names of ``state`` that each aggregator uses.
        state_reads: names of ``state`` that any function uses.
        edge_reads: names of ``edge`` that edge_compute uses.
        sends: whether edge_compute ever returns a message.
        sends_always: whether it returns a message on every path.
        draws: whether any function draws random numbers; the run's seed is a parameter then.
        folds_always: whether an aggregate is read elsewhere than in resume. If not, aggregates are evaluated only
            before resume is called and at the end: nobody can tell that from evaluating them after each superstep.
        key: a text that changes with the program's code and with anything that it refers to; None if it refers to
            something whose value cannot be told.
        watched: the parts of the key that can change while the program's class stays: how to look each up, and what it
            was.
        kept: what engines have made of the program, by keys of their own.
    """

    program: type[Program]
    vertex_fields: dict[str, VertexField] = field(default_factory=dict)
    edge_fields: dict[str, EdgeField] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    aggregators: dict[str, Aggregator] = field(default_factory=dict)
    functions: dict[str, UserFunction] = field(default_factory=dict)
    edge_writes: set[str] = field(default_factory=set)
    vertex_writes: set[str] = field(default_factory=set)
    aggregate_reads: dict[str, set[str]] = field(default_factory=dict)
    state_reads: set[str] = field(default_factory=set)
    edge_reads: set[str] = field(default_factory=set)
    sends: bool = True
    sends_always: bool = False
    draws: bool = False
    folds_always: bool = False
    key: str | None = None
    watched: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def is_current(self) -> bool:
        """Whether the program would be read the same now, as far as that can be told."""
        return self.key is not None and self.is_unchanged

    @property
    def is_unchanged(self) -> bool:
        """Whether neither the program's attributes nor what its functions refer to have been seen to change."""
        return all(is_same(look_up(), before) for look_up, before in self.watched)

    @property
    def declared(self) -> set[str]:
        """The names of all fields, parameters and aggregators."""
        return {*self.vertex_fields, *self.edge_fields, *self.parameters, *self.aggregators}

    @property
    def name(self) -> str:
        """The program's class name."""
        return self.program.__name__

    @property
    def combine(self) -> Combiner:
        """How messages are combined."""
        return self.program.combine

    @property
    def keeps_messages(self) -> bool:
        """Whether all messages are given to vertex_compute, not combined."""
        return self.combine.name == "MESSAGES"

    @property
    def message_fields(self) -> tuple[str, ...]:
        """The names of a message's fields; empty if a message is one value."""
        declared = self.program.message
        return tuple(declared.dtypes) if isinstance(declared, Fields) else ()

    @property
    def has_proceed(self) -> bool:
        """Whether the program itself decides when to end."""
        return self.program.proceed is not Program.proceed

    @property
    def has_resume(self) -> bool:
        """Whether vertices may be active again when none is."""
        return self.program.resume is not Program.resume

    @property
    def folds_late(self) -> bool:
        """Whether there are aggregates that are evaluated only before resume is called, and at the end."""
        return bool(self.aggregators) and not self.folds_always

    @property
    def best_first(self) -> bool:
        """Whether vertices may be computed in any order, those with the best messages first."""
        ordered = self.combine.name in ("MIN", "MAX")
        counted = self.has_proceed or self.has_resume or self.aggregators or self.edge_writes
        return self.program.asynchronous and ordered and not counted

    @property
    def takes_clusters(self) -> bool:
        """Whether, on a GPU, vertices may be computed by clusters, where there are no supersteps to be counted."""
        return self.best_first and "superstep" not in self.state_reads

    @property
    def edge_compute_is_harmless(self) -> bool:
        """Whether edge_compute may be called for arcs whose source is halted, and its answer dropped.

        It may not if it writes, loops, calls, or indexes anything other than by an end of the edge, or a name for one:
        what holds for the values of active vertices need not hold for those of halted ones.
        """
        function = self.functions["edge_compute"]
        edge = function.arguments[0]
        ends = {f"{edge}.source", f"{edge}.target", f"{edge}.index"}
        ends |= _names_for(ends, function.tree)
        for node in ast.walk(function.tree):
            if isinstance(node, ast.For | ast.While | ast.Call | ast.comprehension):
                return False
            if isinstance(node, ast.Subscript) and ast.unparse(node.slice) not in ends:
                return False
        return not self.edge_writes

    @cached_property
    def sends_alike(self) -> bool:
        """Whether an active vertex sends one message along all of its out-edges, which may be computed without an
        edge: edge_compute reads nothing of it but its source, and always returns a number."""
        if not (self.sends_always and self.edge_compute_is_harmless and self.edge_reads <= {"source"}):
            return False
        function = self.functions["edge_compute"]
        names = {node.attr for node in ast.walk(function.tree) if isinstance(node, ast.Attribute)}
        outside = (each.value for each in all_references(function.function))
        return not names & set(self.edge_fields) and all(isinstance(value, Number) for value in outside)

    @property
    def needs_arc_index(self) -> bool:
        """Whether edge_compute has to know an arc's position in CSR order."""
        return "index" in self.edge_reads or bool(self.edge_writes)


def _names_for(values: set[str], tree: ast.FunctionDef) -> set[str]:
    """The names that a function gives to one of these expressions, whatever is true, and to nothing else."""
    given = Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    return {
        each.targets[0].id
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and given[each.targets[0].id] == 1
        and ast.unparse(each.value) in values
    }


def specification(program: type[Program]) -> Specification:
    """The specification of a program by `inspect_program`, which the program keeps as long as it is current."""
    kept = vars(program).get(_KEPT) if isinstance(program, type) else None
    if not isinstance(kept, Specification) or not kept.is_current:
        kept = inspect_program(program)
        setattr(program, _KEPT, kept)
    return kept


#: The attribute of a program that holds its specification.
_KEPT = "_specification"


def inspect_program(program: type[Program]) -> Specification:
    """Read a program and check it against the contract.

    Raises:
        ProgramError: naming the function and line that breaks a rule.
    """
    if not (isinstance(program, type) and issubclass(program, Program)):
        raise ProgramError(
            f"got {shown(program)}, expected a subclass of edgewise.Program or an instance of one"
        )
    spec = Specification(program, **declarations(program)._asdict())
    for name in HOOKS:
        if name in ("edge_compute", "vertex_compute") and getattr(program, name) is getattr(Program, name):
            arguments = ", ".join(PARAMETERS[name])
            raise ProgramError(
                f"{place_of(program)}{spec.name} has no {name}; define: @staticmethod def {name}({arguments})"
            )
        spec.functions[name] = _user_function(name, inspect.getattr_static(program, name), PARAMETERS[name])
    for name, declared in spec.aggregators.items():
        spec.functions[name] = _user_function(name, declared.function, ("v", "state"))
    if spec.combine.name == "user":
        spec.functions["combine"] = _user_function("combine", spec.combine.function, ("a", "b"))
    _let_draw(spec)
    for name, function in spec.functions.items():
        check_helpers(function)
        _Checker(spec, function, role=name if name in PARAMETERS else "aggregator").check()
        if not function.source.is_current:
            raise ProgramError(
                f"{function.where()}: its file was edited after it was imported; import it again"
            )
    spec.key = program_key(spec)
    return spec


def _user_function(name: str, declared: Any, expected: tuple[str, ...]) -> UserFunction:
    """The function behind a class attribute, with its source."""
    function = declared.__func__ if isinstance(declared, staticmethod) else declared
    if isinstance(function, Dispatcher):
        function = function.py_func
    if not isinstance(function, types.FunctionType):
        raise ProgramError(f"{name} is {shown(declared)}; expected a function ({', '.join(expected)})")
    source = source_of(function)
    if source is None:
        code = function.__code__
        raise ProgramError(f"{name} in {code.co_filename}, line {code.co_firstlineno}: {_unreadable(code)}")
    user, tree = UserFunction(name, function, source), source.tree
    plain = not (tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults)
    swapped = any(
        name in expected and name != place for name, place in zip(user.arguments, expected, strict=False)
    )
    if len(user.arguments) != len(expected) or not plain or swapped:
        hint = " (make it a @staticmethod without self)" if user.arguments[:1] in (["self"], ["cls"]) else ""
        if hasattr(function, "__wrapped__"):
            hint = f" (it is what a decorator made of {name}; leave the decorator out)"
        raise ProgramError(
            f"{user.where()}: got the parameters ({ast.unparse(tree.args)}), expected "
            f"({', '.join(expected)}){hint}"
        )
    return user


def _unreadable(code: types.CodeType) -> str:
    """Why a function has no source that can be used, and what to do."""
    if code.co_name == "<lambda>":
        return "it is a lambda; write it with def"
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return "it is an async def; write it with def"
    if code.co_filename.startswith("<"):
        return (
            "its source cannot be read, for Python keeps no source of what is typed, piped or passed to it; define the "
            "program in a file or a notebook cell"
        )
    return (
        "its source cannot be read, for it is no def there; write it with def, in a file or a notebook cell"
    )


class _Checker:
    """The rules of the contract for one function."""

    def __init__(self, spec: Specification, function: UserFunction, role: str) -> None:
        self.spec = spec
        self.function = function
        self.role = role
        arguments = function.arguments
        self.state = None if role == "combine" else arguments[-1]
        self.edge = arguments[0] if role == "edge_compute" else None
        with_vertex = ("initialize", "vertex_compute", "resume", "aggregator")
        self.vertex = arguments[0] if role in with_vertex else None
        self.messages = arguments[1] if role == "vertex_compute" and spec.keeps_messages else None
        self.arrays = {*spec.vertex_fields, *spec.edge_fields, *STATE_ARRAYS}
        self.scalars = {*spec.parameters, *spec.aggregators, *STATE_SCALARS}

    def check(self) -> None:
        """Check every node; record what the function reads and writes."""
        paths = check_body(self.function)
        parents = {
            child: node for node in ast.walk(self.function.tree) for child in ast.iter_child_nodes(node)
        }
        body = [node for statement in self.function.tree.body for node in ast.walk(statement)]
        written = {name for node in body if (name := self._written_field(node)) is not None}
        self._check_returns(paths, written)
        for node in body:
            if isinstance(node, ast.Name):
                self._check_name(node, parents)
            if isinstance(node, ast.MatchAs) and node.name in self.function.arguments:
                raise self.function.refuse(node, f"'{node.name}' is a parameter and may not be assigned")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == self.state:
                    self._check_state(node, parents, written)
                elif node.value.id == self.edge:
                    self._check_edge(node)

    def _check_returns(self, paths: Paths, written: set[str]) -> None:
        tree = self.function.tree
        returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
        if self.role == "edge_compute":
            sent = [node.value is not None and not _is_none(node.value) for node in returns]
            none = any(_is_none(node) for statement in tree.body for node in ast.walk(statement))
            self.spec.sends, self.spec.sends_always = any(sent), paths.returns and all(sent) and not none
            if not returns and not written:
                raise self.function.refuse(
                    tree.body[-1],
                    "it returns nothing and writes no field; return a message, or None to send nothing",
                )
            return
        expected = {
            "initialize": "ACTIVE or HALT",
            "vertex_compute": "ACTIVE or HALT",
            "resume": "ACTIVE or HALT",
            "proceed": "True or False",
        }
        wanted = expected.get(self.role, "a value")
        for node in returns:
            if node.value is None or _is_none(node.value):
                raise self.function.refuse(node, f"it returns nothing here; return {wanted}")
        if not paths.returns:
            raise self.function.refuse(
                tree.body[-1], f"a path ends without a return; return {wanted} on every path"
            )

    def _check_name(self, node: ast.Name, parents: dict[ast.AST, ast.AST]) -> None:
        if (
            node.id in self.function.arguments
            and not isinstance(node.ctx, ast.Load)
            and self.role != "combine"
        ):
            raise self.function.refuse(node, f"'{node.id}' is a parameter and may not be assigned")
        whole = not isinstance(parents.get(node), ast.Attribute)
        if node.id == self.state and whole:
            raise self.function.refuse(node, f"'{node.id}' may only be used as {node.id}.name")
        if node.id == self.edge and whole:
            raise self.function.refuse(node, f"'{node.id}' may only be used as {node.id}.name")
        if node.id == self.messages:
            self._check_messages(node, parents)

    def _check_messages(self, node: ast.Name, parents: dict[ast.AST, ast.AST]) -> None:
        """Refuse methods of messages, and a length or order of messages with several fields, which only fields have."""
        names, array = self.spec.message_fields, parents[node]
        if names:
            if not isinstance(array, ast.Attribute) or array.attr not in names:
                known = ", ".join(f"{node.id}.{name}" for name in names)
                raise self.function.refuse(
                    array if isinstance(array, ast.Attribute) else node,
                    f"'{ast.unparse(array)}': messages have several fields here, each an array of its own: {known}; "
                    f"their number is len({node.id}.{names[0]})",
                )
            array = parents[array]
        if isinstance(array, ast.Attribute):
            raise self.function.refuse(
                array,
                f"'{ast.unparse(array)}': messages have no '{array.attr}'; use len(...), an index, a slice or a for "
                "loop. They may be sorted where they lie, by a loop",
            )

    def _check_edge(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            raise self.function.refuse(
                node,
                f"edge.{node.attr} may not be assigned; write {self.state}.{node.attr}[{self.edge}.index]",
            )
        known = (*EDGE_NAMES, *self.spec.edge_fields)
        if node.attr not in known:
            raise self.function.refuse(node, f"the edge has no '{node.attr}'; it has {', '.join(known)}")
        self.spec.edge_reads.add(node.attr)

    def _check_state(self, node: ast.Attribute, parents: dict[ast.AST, ast.AST], written: set[str]) -> None:
        name, spec = node.attr, self.spec
        if name not in self.arrays | self.scalars:
            known = ", ".join(sorted(self.arrays | self.scalars))
            raise self.function.refuse(node, f"the state has no '{name}'; it has {known}")
        spec.state_reads.add(name)
        if self.role == "aggregator":
            spec.aggregate_reads.setdefault(self.function.name, set()).add(name)
        spec.folds_always |= name in spec.aggregators and self.role != "resume"
        if self.role == "initialize" and name in spec.aggregators:
            raise self.function.refuse(
                node,
                f"state.{name} has no value yet: aggregates are evaluated after initialize, and after each superstep "
                "for the next",
            )
        if self.role == "aggregator" and name in spec.aggregators:
            raise self.function.refuse(
                node,
                f"state.{name} may not be read here: all aggregates are evaluated at the same time; read both in "
                "vertex_compute or proceed",
            )
        if name in self.scalars:
            if not isinstance(node.ctx, ast.Load):
                raise self.function.refuse(
                    node, f"state.{name} may not be assigned: it is one value for the whole run"
                )
            return
        parent = parents.get(node)
        if not (isinstance(parent, ast.Subscript) and parent.value is node):
            raise self.function.refuse(node, f"state.{name} may only be used as state.{name}[index]")
        if name in written:
            self._check_own_index(parent, name)

    def _written_field(self, node: ast.AST) -> str | None:
        """The field of state that a subscript writes, if it writes one."""
        if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Load):
            return None
        target = node.value
        if (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == self.state
        ):
            return target.attr
        return None

    def _check_own_index(self, node: ast.Subscript, name: str) -> None:
        """Refuse any use, at another index than the function's own, of a field that it writes."""
        spec, function = self.spec, self.function
        if self.role == "edge_compute":
            allowed, own = set(spec.edge_fields), f"{self.edge}.index"
            spec.edge_writes.add(name)
        elif self.role in ("initialize", "vertex_compute", "resume"):
            allowed, own = set(spec.vertex_fields), f"{self.vertex}"
            if self.role != "initialize":
                spec.vertex_writes.add(name)
        else:
            raise function.refuse(node, f"state.{name} may not be written here; only read")
        if name not in allowed:
            kinds = "edge fields" if self.role == "edge_compute" else "vertex fields"
            raise function.refuse(node, f"state.{name} may not be written here; {self.role} writes {kinds}")
        if ast.unparse(node.slice) != own:
            raise function.refuse(
                node,
                f"state.{name}[{ast.unparse(node.slice)}]: a field written here may only be used at [{own}]",
            )


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _let_draw(spec: Specification) -> None:
    """Replace the draws of a program: its functions then use the seed of the run and the superstep."""
    for place, (name, function) in enumerate(spec.functions.items()):
        if name == "combine" and draws_of(function.function):
            raise ProgramError(
                f"{function.where()}: a combiner may not draw random numbers, for it is called in no fixed order; draw "
                "in edge_compute or vertex_compute"
            )
        drawing, tree = with_draws(function.function, function.tree, place, function.refuse)
        if tree is not function.tree:
            if spec.program.asynchronous:
                raise ProgramError(
                    f"{function.where()}: an asynchronous program has no fixed supersteps, which the numbers of "
                    "ew.random depend on; leave out asynchronous = True"
                )
            if not spec.draws and "seed" in spec.declared:
                problem = ": this name is taken, for the program draws random numbers; choose another"
                raise refusal(spec.program, "seed", problem)
            # The function that draws has a copy of the globals.
            spec.watched += [(each.look_up, held(each.value)) for each in all_references(function.function)]
            source = function.source._replace(tree=tree)
            spec.functions[name] = replace(function, function=drawing, source=source)
            spec.parameters["seed"], spec.draws = Parameter("int64", 0), True
