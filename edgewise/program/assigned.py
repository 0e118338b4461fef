"""The paths through a function: variables that may have no value where it reads them, and ends without a return.

Python raises UnboundLocalError where a variable has no value; compiled code reads whatever lies in memory. So a
variable has to be assigned on every path to where it is read. A loop may have no round, unless it is ``while True`` or
over what compilation fixes: a tuple written in the function or outside of it, an array, a ``range`` of numbers.
"""

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from edgewise.program.source import UserFunction, references

#: The names that are certainly bound; None where control never comes.
Bound = set[str] | None


class Paths(NamedTuple):
    """Facts about the paths through a function.

    Attributes:
        unassigned: the first read of a variable that may have no value, and why it may have none.
        returns: whether each path that ends does so by a return.
    """

    unassigned: tuple[ast.Name, str] | None
    returns: bool


def paths_through(function: UserFunction) -> Paths:
    """The facts about the paths through a function of a program, or a helper."""
    flow = _Flow(function.tree, references(function.function))
    return Paths(flow.found, flow.returns)


def _both(one: Bound, other: Bound) -> Bound:
    """The names bound where two paths meet."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


class _Loop(NamedTuple):
    """An enclosing loop: the names bound at its breaks and at the ends of its rounds, and the names that it assigns."""

    breaks: list[Bound]
    ends: list[Bound]
    assigns: set[str]


class _Flow(ast.NodeVisitor):
    """Follows the paths through a function."""

    def __init__(self, tree: ast.FunctionDef, outside: Mapping[str, Any]) -> None:
        self.found: tuple[ast.Name, str] | None = None
        self._locals: set[str] = set()
        for statement in tree.body:
            self._locals |= _stored(statement)
        arguments = tree.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._bound: Bound = {each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each}
        self._assigned, self._deleted = set(self._bound), set[str]()
        self._fixed = _Fixed(self._locals | self._bound, outside)
        self._loops: list[_Loop] = []  # enclosing loops, innermost last
        self._block(tree.body)
        self.returns = self._bound is None

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def _after(self, run: Callable[[], None], start: Bound) -> Bound:
        """The names bound at the end of a piece of the function."""
        self._bound = None if start is None else set(start)
        run()
        return self._bound

    def visit_Name(self, node: ast.Name) -> None:
        if self._bound is None:
            return
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)
        elif node.id in self._locals and node.id not in self._bound and self.found is None:
            self.found = node, self._why(node.id)
        if isinstance(node.ctx, ast.Del):
            self._bound.discard(node.id)
            self._deleted.add(node.id)

    def _why(self, name: str) -> str:
        """Why a variable may have no value, and what to do."""
        if name in self._deleted:
            return "del removes it on a path that leads here; leave out the del"
        if name in self._assigned:
            return (
                "it is assigned only on some of the paths that lead here (a loop may have no round); assign it before "
                "the branch or loop"
            )
        if any(name in loop.assigns for loop in self._loops):
            return (
                "in the first round of the loop it has none, for it is assigned only further on in a round; assign it "
                "before the loop"
            )
        return "it is assigned only after this"

    def _bind(self, name: str) -> None:
        if self._bound is not None:
            self._bound.add(name)
            self._assigned.add(name)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.visit(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        start = self._bound
        true = self._after(lambda: self._block(node.body), start)
        false = self._after(lambda: self._block(node.orelse), start)
        fixed = node.test.value if isinstance(node.test, ast.Constant) else None
        self._bound = _both(true, false) if fixed is None else true if fixed else false

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        start = self._bound
        true = self._after(lambda: self.visit(node.body), start)
        self._bound = _both(true, self._after(lambda: self.visit(node.orelse), start))

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        first = self._bound
        for value in node.values[1:]:
            self.visit(value)
        self._bound = first

    def visit_While(self, node: ast.While) -> None:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node, lambda: self.visit(node.test), lambda: None, rounds=False, leaves=not endless)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        rounds = self._fixed.has_a_round(node.iter)
        self._loop(node, lambda: None, lambda: self.visit(node.target), rounds=rounds, leaves=True)

    def _loop(
        self, node: Any, ask: Callable[[], None], begin: Callable[[], None], *, rounds: bool, leaves: bool
    ) -> None:
        """Follow a loop until the names bound before a round are bound after it, too: rounds may delete variables.

        Args:
            ask: follows what is done before each round, and before the loop is left without a break.
            begin: follows the start of each round.
            rounds: whether there is at least one round.
            leaves: whether the loop is ever left without a break.
        """
        assigns = _stored(node)

        def a_round() -> None:
            begin()
            self._block(node.body)

        start, unchanged = self._bound, False
        while not unchanged:
            loop = _Loop([], [], assigns)
            self._loops.append(loop)
            asked = self._after(ask, start)
            end = self._after(a_round, asked)
            self._loops.pop()
            for each in loop.ends:
                end = _both(end, each)
            unchanged, start = _both(start, end) == start, _both(start, end)
        # Compilers are never sure of a round: they see a path to the code after a loop whose first round returns.
        done = end if rounds and end is not None else asked
        after = self._after(lambda: self._block(node.orelse), done if leaves else None)
        for each in loop.breaks:
            after = _both(after, each)
        self._bound = after

    def visit_Break(self, node: ast.Break) -> None:
        self._loops[-1].breaks.append(self._bound)
        self._bound = None

    def visit_Continue(self, node: ast.Continue) -> None:
        self._loops[-1].ends.append(self._bound)
        self._bound = None

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        self._bound = None

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        missed, after = self._bound, None
        for case in node.cases:

            def taken(case: ast.match_case = case) -> None:
                for name in _captured(case.pattern):
                    self._bind(name)
                if case.guard is not None:
                    self.visit(case.guard)
                self._block(case.body)

            after = _both(after, self._after(taken, missed))
            if case.guard is None and _takes_all(case.pattern):
                missed = None
        self._bound = _both(after, missed)

    def visit_ListComp(self, node: Any) -> None:
        """The names of a comprehension are its own."""
        before, names = self._bound, self._locals
        self.visit(node.generators[0].iter)
        self._locals = names - {each for generator in node.generators for each in _stored(generator.target)}
        self.generic_visit(node)
        self._bound, self._locals = before, names

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp


def _stored(node: ast.AST) -> set[str]:
    """The names that a piece of code assigns, outside of comprehensions."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return set()
    own = {node.id} if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.pattern):
        own |= set(_captured(node))
    return own.union(*map(_stored, ast.iter_child_nodes(node)))


def _captured(pattern: ast.pattern) -> list[str]:
    """The names that a pattern of ``match`` binds."""
    names = [getattr(node, "name", None) or getattr(node, "rest", None) for node in ast.walk(pattern)]
    return [name for name in names if isinstance(name, str)]


def _takes_all(pattern: ast.pattern) -> bool:
    """Whether a pattern matches everything: ``case _`` or a name."""
    if isinstance(pattern, ast.MatchOr):
        return any(map(_takes_all, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _takes_all(pattern.pattern))


#: The operators that may stand between fixed numbers.
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
#: The attributes of an array that are as fixed as the array.
_OF_ARRAYS = ("shape", "size", "ndim")


class _Fixed:
    """Values that no run of a function changes: they stand in its source or are compiled into its code.

    Args:
        own: the names of the function's parameters and variables.
        outside: the values of its other names, as `references` gives them.
    """

    def __init__(self, own: set[str], outside: Mapping[str, Any]) -> None:
        self._own, self._outside = own, outside

    def has_a_round(self, values: ast.expr) -> bool:
        """Whether a for loop over these values certainly has a round."""
        if isinstance(values, ast.Tuple | ast.List):
            return any(not isinstance(each, ast.Starred) for each in values.elts)
        if isinstance(values, ast.Call) and not values.keywords:
            function = self._named(values.func)
            if function is range:
                bounds = [self._value(each) for each in values.args]
                try:
                    return all(type(each) is int for each in bounds) and len(range(*bounds)) > 0
                except (ValueError, TypeError, OverflowError):
                    return False
            if function in (enumerate, reversed):
                return len(values.args) > 0 and self.has_a_round(values.args[0])
            if function is zip:
                return len(values.args) > 0 and all(map(self.has_a_round, values.args))
            return False
        return _length(self._value(values)) not in (None, 0)

    def _named(self, node: ast.expr) -> Any:
        """The value of a name outside of the function; None if it is not known."""
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name.partition(".")[0] in self._own:
            return None
        value: Any = self._outside[name] if name in self._outside else getattr(builtins, name, None)
        small = isinstance(value, np.signedinteger)  # unsigned integers of 64 bits become floats in sums
        return int(value) if small else value

    def _value(self, node: ast.expr) -> Any:
        """The integer, tuple or array that an expression always gives; None if it is not known."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._value(node.operand)
            return -value if type(value) is int else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self._value(node.left), self._value(node.right)
            return self._combined(_OPERATIONS[type(node.op)], left, right)
        if isinstance(node, ast.Call) and self._named(node.func) is len and len(node.args) == 1:
            return _length(self._value(node.args[0]))
        if isinstance(node, ast.Subscript):
            values, index = self._value(node.value), self._value(node.slice)
            inside = isinstance(values, tuple) and type(index) is int and -len(values) <= index < len(values)
            return values[index] if inside else None
        value = self._named(node)
        if value is None and isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            parts = _OF_ARRAYS if isinstance(owner, np.ndarray) else getattr(owner, "_fields", ())
            return getattr(owner, node.attr) if node.attr in parts else None
        return value

    @staticmethod
    def _combined(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """The result of an operation on two integers, if compiled code gives the same."""
        if type(left) is not int or type(right) is not int:
            return None
        try:
            value = operation(left, right)
        except ZeroDivisionError:
            return None
        return value if -(2**63) <= value < 2**63 else None


def _length(value: Any) -> int | None:
    """The length of a tuple or an array; None for anything else."""
    has_one = isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return len(value) if has_one else None
