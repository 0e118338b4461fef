"""Random numbers inside a program's functions, which do not depend on engine, schedule or number of threads.

A number is computed, not taken from a sequence: it is a function of the run's seed, the superstep, the vertex (or what
else is given for ``v``), the function of the program, and how many numbers this call of it has drawn before. So nothing
has to be kept, no thread waits for another, and the order in which vertices are computed does not matter.

The function is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011):
the key is the seed, the counter holds the rest. Integers and comparisons alone decide what is drawn, normal deviates
included, so that no machine's rounding can differ.

In a user's function, ``ew.random(v, state)`` is compiled as a call of a function below, with the run's seed and a count
of the numbers drawn (`with_draws`); the reference engine calls these functions, too.
"""

import ast
import contextlib
import copy
import difflib
import types
from collections.abc import Callable
from typing import Any

from edgewise.errors import ProgramError
from edgewise.program.source import compiled_like, references

#: All bits of a word of 32.
_WORD = 0xFFFFFFFF


class Random:
    """``ew.random(v, state)`` inside a function of a program; see `edgewise.program.draws`.

    ``v`` is any integer: calls with equal ``v`` draw equal numbers, so in ``edge_compute`` it is mostly ``edge.index``.
    Only the functions of a program itself may draw, with their own ``state``; they may give numbers to helpers.
    """

    def __call__(self, v: Any, state: Any) -> Any:
        """A float64, uniform in [0, 1): a multiple of 2**-53."""
        raise _outside()

    def uniform(self, v: Any, state: Any) -> Any:
        """Another name for ``ew.random(v, state)``."""
        raise _outside()

    def integers(self, v: Any, state: Any, low: Any, high: Any) -> Any:
        """An int64, uniform from `low` to before `high`, integers of 64 bits; `low` if that range is empty."""
        raise _outside()

    def normal(self, v: Any, state: Any) -> Any:
        """A normal float64, mean 0 and standard deviation 1, exact but for its last bits; about ten uniform numbers are
        drawn for it.

        Karney, "Sampling Exactly from the Normal Distribution", ACM TOMS 42(1), 2016, algorithm N.
        """
        raise _outside()


random = Random()


def _outside() -> ProgramError:
    return ProgramError(
        "ew.random draws inside the functions of a program only, while it runs; elsewhere use numpy.random"
    )


def philox(v: Any, seed: Any, superstep: Any, number: Any) -> Any:
    """Philox4x32-10 of the counter (v, superstep, number) and the key `seed`: four words of 32 bits.

    The multipliers, 0xD2511F53 and 0xCD9E8D57, are written less 2**32, so no product leaves the signed words of 64
    bits, in which an overflow is undefined (numba tells LLVM that there is none).
    """
    a, b, c, d = v & _WORD, (v >> 32) & _WORD, superstep & _WORD, number & _WORD
    low, high = seed & _WORD, (seed >> 32) & _WORD
    for _ in range(10):
        first, second = a * (0xD2511F53 - 2**32), c * (0xCD9E8D57 - 2**32)
        a, b, c, d = (
            (((second >> 32) + c) & _WORD) ^ b ^ low,
            second & _WORD,
            (((first >> 32) + a) & _WORD) ^ d ^ high,
            first & _WORD,
        )
        low, high = (low + 0x9E3779B9) & _WORD, (high + 0xBB67AE85) & _WORD
    return a, b, c, d


def _unit(high: Any, low: Any) -> Any:
    """The upper 53 bits of two words as a float64 in [0, 1)."""
    return ((high << 21) | (low >> 11)) * 2.0**-53


def draw_uniform(v: Any, seed: Any, superstep: Any, number: Any) -> Any:
    """The number of `Random.__call__`."""
    words = philox(v, seed, superstep, number)
    return _unit(words[0], words[1])


def _are_far_apart(low: Any, high: Any) -> Any:
    """Whether bounds are 2**63 or more apart, by half their distance: integer operations whose results fit."""
    return (high >> 1) - (low >> 1) + (((high & 1) - (low & 1)) >> 1) >= 2**62


def draw_integers(v: Any, seed: Any, superstep: Any, number: Any, low: Any, high: Any) -> Any:
    """The number of `Random.integers`: the first remainder of 63 random bits that belongs to a whole round of the
    values; if there are more values than 63 bits can tell apart, the first integer of 64 random bits that is one of
    them. At least half of all candidates are kept."""
    words = philox(v, seed, superstep, number)
    if high <= low:
        return low
    start, drawn = words[0] << 32 | words[1], 0
    if not _are_far_apart(low, high):
        count, bits = high - low, _positive(words[0], words[1])
        while bits - bits % count > 2**63 - 1 - (count - 1):
            words = philox(start, drawn, 0, 0)
            drawn, bits = drawn + 1, _positive(words[0], words[1])
        return low + bits % count
    value = _signed(words[0], words[1])
    while value < low or value >= high:
        words = philox(start, drawn, 0, 0)
        drawn, value = drawn + 1, _signed(words[0], words[1])
    return value


def _positive(high: Any, low: Any) -> Any:
    """An integer from 0 to 2**63 - 1 of two words."""
    return (high >> 1) << 32 | low


def _signed(high: Any, low: Any) -> Any:
    """An integer from -2**63 to 2**63 - 1 of two words."""
    return (high - 2**31) << 32 | low


def draw_normal(v: Any, seed: Any, superstep: Any, number: Any) -> Any:
    """The number of `Random.normal`."""
    words = philox(v, seed, superstep, number)
    start, drawn = words[0] << 32 | words[1], 0
    while True:
        # The whole part k with probability exp(-k / 2) (1 - exp(-1 / 2)), kept with exp(-k (k - 1) / 2).
        k, going = 0, True
        while going:
            going, drawn = _half(start, drawn)
            k += going
        kept, left = True, k * (k - 1)
        while kept and left > 0:
            kept, drawn = _half(start, drawn)
            left -= 1
        if not kept:
            continue
        # The fraction x, kept with probability exp(-x (2 k + x) / 2).
        x = _fraction(start, drawn)
        drawn += 1
        left = k + 1
        while kept and left > 0:
            kept, drawn = _below(start, drawn, k, x)
            left -= 1
        if kept:
            return k + x if words[2] & 1 else -(k + x)


def _fraction(start: Any, drawn: Any) -> Any:
    """The next of the uniform numbers in (0, 1) that follow from `start`: an odd multiple of 2**-53."""
    words = philox(start, drawn, 0, 0)
    return (((words[0] << 20) | (words[1] >> 12)) + 0.5) * 2.0**-52


def _half(start: Any, drawn: Any) -> Any:
    """True with probability exp(-1 / 2), and how many numbers were drawn (algorithm H)."""
    last, even = 0.5, True
    while True:
        x = _fraction(start, drawn)
        drawn += 1
        if x >= last:
            return even, drawn
        last, even = x, not even


def _below(start: Any, drawn: Any, k: Any, x: Any) -> Any:
    """True with probability exp(-x (2 k + x) / (2 k + 2)), and how many numbers were drawn (algorithm B)."""
    last, even, bound = x, True, (2 * k + x) / (2 * k + 2)
    while True:
        following = _fraction(start, drawn)
        other = _fraction(start, drawn + 1)
        drawn += 2
        if following >= last or other >= bound:
            return even, drawn
        last, even = following, not even


#: The functions that replace those of `Random` in compiled code, by the name after ``ew.random.``, with the number of
#: arguments after ``v`` and ``state``.
_DRAWS = {
    "": (draw_uniform, 0),
    "uniform": (draw_uniform, 0),
    "integers": (draw_integers, 2),
    "normal": (draw_normal, 0),
}
#: The local variable that counts the numbers drawn, under a name that no user can write; and how many bits of a
#: number lie below those for the function.
_DRAWN, _NUMBER_BITS = "<numbers drawn>", 28
_MOST_FUNCTIONS = 1 << (32 - _NUMBER_BITS)

Refuse = Callable[[ast.AST, str], Exception]


def kinds_of(value: Any) -> dict[str, str]:
    """The kinds of draws of a value that is ``ew.random`` or one of its methods, by the text after its name."""
    if value is random:
        return {kind and f".{kind}": kind for kind in _DRAWS}
    is_method = isinstance(value, types.MethodType) and value.__self__ is random
    return {"": value.__name__} if is_method else {}


def draws_of(function: types.FunctionType) -> dict[str, str]:
    """The kinds of draws of a function that refers to ``ew.random``, by the text that it may write for them."""
    return {
        f"{name}{rest}": kind
        for name, value in references(function).items()
        for rest, kind in kinds_of(value).items()
    }


def with_draws(
    function: types.FunctionType, tree: ast.FunctionDef, place: int, refuse: Refuse
) -> tuple[types.FunctionType, ast.FunctionDef]:
    """A function of a program, and its definition, with draws as calls of the functions above; unchanged if it does not
    draw.

    Args:
        function: as the user wrote it.
        tree: its definition.
        place: its place among the program's functions: each draws different numbers.
        refuse: makes the error for a node and a problem.
    """
    kinds = draws_of(function)
    if not kinds:
        return function, tree
    if place >= _MOST_FUNCTIONS:
        raise refuse(tree, f"only the first {_MOST_FUNCTIONS} functions of a program can draw random numbers")
    made = copy.deepcopy(tree)
    _Drawing(kinds, made.args.args[-1].arg, refuse).rewrite(made)
    begin = ast.Assign([ast.Name(_DRAWN, ast.Store())], ast.Constant(place << _NUMBER_BITS))
    made.body.insert(0, _placed(begin, made.body[0]))
    draws = {name_of(draw): draw for draw, _ in _DRAWS.values()}
    return compiled_like(made, function, **draws), made


def name_of(draw: Any) -> str:
    """The name of a function above inside a user's function; users cannot write such names."""
    return f"<{draw.__name__}>"


def _placed(node: Any, where: ast.AST) -> Any:
    """A new node with the line of another."""
    return ast.fix_missing_locations(ast.copy_location(node, where))


class _Drawing(ast.NodeTransformer):
    """Replaces the draws of a function.

    A statement that draws k numbers first adds k to the count, so each round of a loop draws different numbers; which
    of the k a draw takes is known before the run.
    """

    def __init__(self, kinds: dict[str, str], state: str, refuse: Refuse) -> None:
        self._draws, self._state, self._refuse, self._drawn = kinds, state, refuse, 0

    def rewrite(self, owner: Any) -> None:
        """Replace the draws in the blocks of statements of a function or statement."""
        for block in ("body", "orelse"):
            statements = getattr(owner, block, [])
            setattr(owner, block, [each for statement in statements for each in self._statement(statement)])

    def _statement(self, statement: Any) -> list[ast.stmt]:
        """The statements that replace a statement."""
        self._drawn = 0
        if isinstance(statement, ast.While):
            statement.test = self.visit(statement.test)
            drawn = self._drawn
            self.rewrite(statement)
            return [self._counting_while(statement, drawn)] if drawn else [statement]
        if isinstance(statement, ast.If):
            statement.test = self.visit(statement.test)
        elif isinstance(statement, ast.For):
            statement.iter = self.visit(statement.iter)
        elif isinstance(statement, ast.Match):
            statement.subject = self.visit(statement.subject)
            for case in statement.cases:
                case.guard = case.guard and self.visit(case.guard)
        else:
            statement = self.visit(statement)
        drawn = self._drawn
        if isinstance(statement, ast.If | ast.For):
            self.rewrite(statement)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                self.rewrite(case)
        return [*self._count(drawn, statement), statement]

    def _counting_while(self, loop: ast.While, drawn: int) -> ast.stmt:
        """A loop that counts its condition's draws before each time that it evaluates the condition."""
        if loop.orelse:
            raise self._refuse(
                loop, "a while loop whose condition draws may have no else; draw inside the loop"
            )
        leave = _placed(ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], []), loop)
        test = _placed(ast.Constant(True), loop)
        return _placed(ast.While(test, [*self._count(drawn, loop), leave, *loop.body], []), loop)

    def _count(self, drawn: int, where: ast.stmt) -> list[ast.stmt]:
        if drawn == 0:
            return []
        count = ast.BinOp(ast.Name(_DRAWN, ast.Load()), ast.Add(), ast.Constant(drawn))
        return [_placed(ast.Assign([ast.Name(_DRAWN, ast.Store())], count), where)]

    def visit_Call(self, node: ast.Call) -> Any:
        """A draw becomes the call of a function above."""
        kind = self._draws.get(ast.unparse(node.func))
        if kind is None:
            return self.generic_visit(node)
        draw, more = _DRAWS[kind]
        given = len(node.args)
        right = given == 2 + more and not node.keywords
        if not right or not isinstance(node.args[1], ast.Name) or node.args[1].id != self._state:
            expected = ", ".join(("v", self._state, "low", "high")[: 2 + more])
            raise self._refuse(
                node, f"got {ast.unparse(node)}, expected {ast.unparse(node.func)}({expected})"
            )
        if kind == "integers":
            self._check_bounds(node)
        key, *rest = [self.visit(each) for index, each in enumerate(node.args) if index != 1]
        number = ast.BinOp(ast.Name(_DRAWN, ast.Load()), ast.Sub(), ast.Constant(self._drawn))
        self._drawn += 1
        facts = [
            ast.Attribute(ast.Name(self._state, ast.Load()), name, ast.Load())
            for name in ("seed", "superstep")
        ]
        return _placed(ast.Call(ast.Name(name_of(draw), ast.Load()), [key, *facts, number, *rest], []), node)

    def _check_bounds(self, node: ast.Call) -> None:
        """Refuse bounds that are not integers, or an empty range, if that can be told before the run."""
        bounds = []
        for each in node.args[2:]:
            with contextlib.suppress(ValueError):
                bounds.append(ast.literal_eval(each))
        whole = all(isinstance(each, int) and -(2**63) <= each < 2**63 for each in bounds)
        if not whole or (len(bounds) == 2 and bounds[0] >= bounds[1]):
            raise self._refuse(
                node,
                f"got {ast.unparse(node)}, expected integers low and high of 64 bits, of which high is the larger",
            )

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Refuse an unknown kind of draw, and a draw that is not called."""
        kinds = [kind for kind in _DRAWS if kind]
        if self._draws.get(ast.unparse(node.value)) == "" and ast.unparse(node) not in self._draws:
            name = ast.unparse(node.value)
            near = difflib.get_close_matches(node.attr, kinds, n=1)
            hint = f"did you mean {name}.{near[0]}?" if near else f"it has {', '.join(kinds)}"
            raise self._refuse(node, f"{name} has no '{node.attr}'; {hint}")
        return self._refuse_other_uses(node)

    def _refuse_other_uses(self, node: Any) -> Any:
        if ast.unparse(node) in self._draws:
            raise self._refuse(
                node, f"draw by {ast.unparse(node)}(v, {self._state}); it is no value by itself"
            )
        return self.generic_visit(node)

    visit_Name = _refuse_other_uses
