"""Variables that may have no value where a function reads them.

Python raises UnboundLocalError there; compiled code reads whatever lies in memory. So a variable has to be assigned on
every path to where it is read. A loop may have no round, unless it is ``while True`` or over a fixed number of values.
"""

import ast
from collections.abc import Callable
from typing import Any

#: The names that are bound for certain; None where control never comes.
Bound = set[str] | None


def unassigned(tree: ast.FunctionDef) -> tuple[ast.Name, bool] | None:
    """The first read of a variable that may have no value, and whether any path before it assigns the variable."""
    return _Flow(tree).found


def _both(one: Bound, other: Bound) -> Bound:
    """What is bound where two paths meet."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


class _Flow(ast.NodeVisitor):
    """Follows the paths through a function. A round of a loop never unbinds anything, so each loop is seen once."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.found: tuple[ast.Name, bool] | None = None
        self._locals: set[str] = set()
        for statement in tree.body:
            self._locals |= _stored(statement)
        arguments = tree.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._bound: Bound = {each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each}
        self._assigned = set(self._bound)
        #: Of the loops around, innermost last: what is bound at their breaks, and at the ends of their rounds.
        self._loops: list[tuple[list[Bound], list[Bound]]] = []
        self._block(tree.body)

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def _after(self, run: Callable[[], None], start: Bound) -> Bound:
        """What is bound at the end of a piece of the function."""
        self._bound = None if start is None else set(start)
        run()
        return self._bound

    def visit_Name(self, node: ast.Name) -> None:
        if self._bound is None:
            return
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)
        elif node.id in self._locals and node.id not in self._bound and self.found is None:
            self.found = node, node.id in self._assigned
        if isinstance(node.ctx, ast.Del):
            self._bound.discard(node.id)

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
        self.visit(node.test)
        self._loop(node, lambda: None, rounds=False, leaves=not endless)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._loop(node, lambda: self.visit(node.target), rounds=_has_a_round(node.iter), leaves=True)

    def _loop(self, node: Any, begin: Callable[[], None], *, rounds: bool, leaves: bool) -> None:
        """A loop that begins each round with something, has at least one round, and leaves without a break."""
        start: Bound = None if self._bound is None else set(self._bound)
        breaks: list[Bound] = []
        continues: list[Bound] = []
        self._loops.append((breaks, continues))

        def a_round() -> None:
            begin()
            self._block(node.body)

        end = self._after(a_round, start)
        self._loops.pop()
        for each in continues:
            end = _both(end, each)
        done = (end if rounds else start) if leaves else None
        after = self._after(lambda: self._block(node.orelse), done)
        for each in breaks:
            after = _both(after, each)
        self._bound = after

    def visit_Break(self, node: ast.Break) -> None:
        self._loops[-1][0].append(self._bound)
        self._bound = None

    def visit_Continue(self, node: ast.Continue) -> None:
        self._loops[-1][1].append(self._bound)
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
        """Names of a comprehension are its own."""
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
    """The names that a pattern of ``match`` gives."""
    names = [getattr(node, "name", None) or getattr(node, "rest", None) for node in ast.walk(pattern)]
    return [name for name in names if isinstance(name, str)]


def _takes_all(pattern: ast.pattern) -> bool:
    """Whether a pattern fits everything: ``case _`` or a name."""
    if isinstance(pattern, ast.MatchOr):
        return any(map(_takes_all, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _takes_all(pattern.pattern))


def _has_a_round(values: ast.expr) -> bool:
    """Whether a for loop over these has a round for certain: a tuple or list, or a ``range`` of fixed bounds."""
    if isinstance(values, ast.Tuple | ast.List):
        return len(values.elts) > 0
    if isinstance(values, ast.Call) and isinstance(values.func, ast.Name) and values.func.id == "range":
        try:
            return len(range(*map(ast.literal_eval, values.args))) > 0
        except (ValueError, TypeError):
            return False
    return False
