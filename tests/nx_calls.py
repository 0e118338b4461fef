"""A plugin of pytest for NetworkX's own tests: counts the calls of the backend, and writes what became of each test.

``$EDGEWISE_NX_REPORT`` is the file that it writes: JSON with ``calls``, those that the backend answered, by function;
``left``, those of functions it offers that it left to NetworkX, as a list of function, reason, number of calls and the
first test with one; and ``tests`` by outcome.
"""

import functools
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS: Counter[str] = Counter()
#: By function and reason, the test of each call.
LEFT: dict[tuple[str, str], list[str]] = defaultdict(list)
OUTCOMES: dict[str, dict[str, str]] = defaultdict(dict)
#: The tests that have begun.
BEGUN = ["before the first test"]


def leave(name: str | None, reason: Any) -> None:
    """Note a call that is left to NetworkX."""
    LEFT[str(name), str(reason)].append(BEGUN[-1])


def pytest_configure() -> None:
    """Count calls of all functions that are offered; `can_run`, a conversion and the function itself may leave one."""
    from edgewise.nx import backend

    for name, function in list(backend.FUNCTIONS.items()):
        backend.FUNCTIONS[name] = counted(name, function)
    can_run, convert_from_nx = backend.can_run, backend.convert_from_nx

    def asked(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
        answer = can_run(name, args, kwargs)
        if answer is not True:
            leave(name, answer)
        return answer

    def converted(graph: Any, *, name: str | None = None, **given: Any) -> Any:
        try:
            return convert_from_nx(graph, name=name, **given)
        except NotImplementedError as problem:
            leave(name, problem)
            raise

    backend.can_run, backend.convert_from_nx = asked, converted


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which counts its calls by NetworkX."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except NotImplementedError as problem:
            leave(name, problem)
            raise
        except Exception:
            CALLS[name] += 1
            raise
        CALLS[name] += 1
        return result

    return call


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which test begins."""
    BEGUN.append(nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what became of a test, with the reason."""
    if report.when == "call" or report.failed or report.skipped:
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        reason = getattr(report, "wasxfail", report.longreprtext if report.failed else "")
        OUTCOMES[outcome][report.nodeid] = str(reason)


def pytest_sessionfinish() -> None:
    """Write the report."""
    left = [(name, reason, len(tests), tests[0]) for (name, reason), tests in LEFT.items()]
    content = json.dumps({"calls": CALLS, "left": left, "tests": OUTCOMES}, indent=1)
    Path(os.environ["EDGEWISE_NX_REPORT"]).write_text(content, encoding="utf-8")
