"""Messages of the library in the words of the command line: `directed=False` is `--undirected` there."""

import functools
import inspect
import re
import shlex
from collections.abc import Iterable

from edgewise import generate
from edgewise.io import read

#: Options of functions that have options of their own on the command line.
_OWN = {
    ("directed", "False"): "--undirected",
    ("directed", "True"): "--directed",
    ("weighted", "False"): "--unweighted",
    ("weighted", "True"): "--weighted",
    ("quote_formulas", "True"): "--quote-formulas",
    ("in_edges", "True"): "--in-edges",
}
_WITH_VALUE = {
    "delimiter": "--delimiter",
    "format": "--format",
    "memory_limit": "--memory-limit",
    "num_threads": "--threads",
}
_CONTRARY = {"directed": "--undirected or --directed", "weighted": "--weighted or --unweighted"}


def in_options(message: str, option: str = "--read") -> str:
    """A message in which options of functions, as Python writes them, are options of the command line.

    Values in quotes, which users gave, stay as they are, and so does what follows ``--read`` or ``--set``. An algorithm
    that begins a message by its name speaks of a parameter of its own.

    Args:
        message: of the library.
        option: takes what has no option of its own: ``--read`` options of `edgewise.read`, ``--set`` those of the
            generators.
    """

    def replaced(match: re.Match[str]) -> str:
        if match["quoted"]:
            return match[0]
        if match["lacking"]:
            return ", ".join(_option_of(name, option) for name in match["lacking"].split(", "))
        if match["bare"]:
            return _WITH_VALUE[match["bare"]]
        return _PHRASES.get(match[0]) or _assignment(match, option)

    return _pattern(option).sub(replaced, message)


#: Advice for Python.
_PHRASES = {
    "write graph.to_undirected()": "give --undirected",
    "graph.to_undirected()": "--undirected",
    "Set ": "Give --set ",
}


@functools.cache
def _pattern(option: str) -> re.Pattern[str]:
    """What is replaced. What stands in quotes is a value that was given; else names of options, "=" and a value, and
    what messages say of options otherwise."""
    functions = (read,) if option == "--read" else vars(generate).values()
    names = {*_names(filter(inspect.isfunction, functions)), "quote_formulas", "in_edges", "num_threads"}
    return re.compile(
        r"""(?P<quoted>(?<!\w)'[^']*'|(?<![\w=])"[^"]*")"""
        r"""|(?<=has no option )(?P<lacking>\w+(?:, \w+)*)"""
        r"""|(?:write )?graph\.to_undirected\(\)|\bSet (?=\w+=)"""
        r"""|(?:\A(?=\w+ is )|(?<![\w/\\.-])(?=\w+_))"""
        r"""(?P<bare>delimiter|format|memory_limit|num_threads)(?![\w=/-]|\.\w)"""
        rf"""|(?<![\w-])(?P<name>{"|".join(sorted(names))})="""
        r"""(?P<value>"[^"]*"|'[^']*'|\([^()]*\)|[\w.+-]*\w|)"""
    )


def _names(functions: Iterable[object]) -> set[str]:
    """The parameters of functions that a command line may give."""
    signatures = map(inspect.signature, functions)  # type: ignore[arg-type]
    return {name for each in signatures for name in each.parameters} - {"path", "progress"}


def _option_of(name: str, option: str) -> str:
    """The option that gives an argument of this name."""
    return _CONTRARY.get(name) or _WITH_VALUE.get(name) or f"{option} {name}"


def _assignment(match: re.Match[str], option: str) -> str:
    name, value, before = match["name"], match["value"], match.string[: match.start()]
    if before.endswith(("--read ", "--set ", "Set ")):
        return match[0]
    if re.fullmatch(r"\w+: ", before):
        return f"--set {match[0]}"
    if (name, value) in _OWN:
        return _OWN[name, value]
    if not value:
        return _WITH_VALUE.get(name, f"{option} {name}=")
    text = value[1:-1] if value[:1] in ("'", '"') else value
    if name in _WITH_VALUE:
        return f"{_WITH_VALUE[name]} {shlex.quote(text)}"
    return f"{option} {shlex.quote(f'{name}={text}')}"
