"""Arguments by the names that NetworkX has for them: an error says what they are called here."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from edgewise.errors import ParameterError

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def names_elsewhere(**instead: str) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """A decorator of algorithms, which refuses arguments of NetworkX that have another name here. The function keeps
    these names in its attribute `names_elsewhere`. On several ranks, others are told of an error of one.

    Args:
        instead: for each such name, what to give instead.

    Raises:
        ParameterError: by the function, for an argument of such a name.
    """

    def decorated(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @functools.wraps(function)
        def called(*args: _Given.args, **options: _Given.kwargs) -> _Result:
            for name in instead.keys() & options.keys():
                raise ParameterError(
                    f"{function.__name__} has no argument {name!r}, as NetworkX has; expected {instead[name]}"
                )
            if options.get("distributed") is not True:
                return function(*args, **options)
            from edgewise.engine.distributed.group import telling_errors

            with telling_errors():
                return function(*args, **options)

        vars(called)["names_elsewhere"] = instead
        return called

    return decorated


#: What stands for the weights of NetworkX's edges.
WEIGHT: dict[str, Any] = {"weight": "weighted=True for the weights of the graph, or weighted=False"}
