"""Messages of the library in the words of the command line: `directed=False` is `--undirected` there."""

import inspect
import re
import shlex

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
_WITH_VALUE = {"delimiter": "--delimiter", "format": "--format", "memory_limit": "--memory-limit"}
_READING = set(inspect.signature(read).parameters) - {"path", "progress"}
#: What stands in quotes is a value that was given. Else the name of an option, "=", and a value.
_OPTION = re.compile(
    r"""(?P<quoted>(?<!\w)'[^']*'|(?<![\w=])"[^"]*")"""
    rf"""|(?<![\w-])(?P<name>{"|".join(sorted(_READING | {"quote_formulas", "in_edges"}))})="""
    r"""(?P<value>"[^"]*"|'[^']*'|\([^()]*\)|[\w.+-]*\w|)"""
)


def in_options(message: str) -> str:
    """A message in which options of `edgewise.read`, as Python writes them, are options of the command line.

    Values in quotes, which users gave, stay as they are, and so does what follows ``--read`` or ``--set``. An algorithm
    that begins a message by its name speaks of a parameter of its own.
    """
    return _OPTION.sub(_option, message)


def _option(match: re.Match[str]) -> str:
    name, value, before = match["name"], match["value"], match.string[: match.start()]
    if match["quoted"] or before.endswith(("--read ", "--set ")):
        return match[0]
    if re.fullmatch(r"\w+: ", before):
        return f"--set {match[0]}"
    if (name, value) in _OWN:
        return _OWN[name, value]
    text = value[1:-1] if value[:1] in ("'", '"') else value
    if name in _WITH_VALUE:
        return f"{_WITH_VALUE[name]} {shlex.quote(text)}"
    return f"--read {shlex.quote(f'{name}={text}')}"
