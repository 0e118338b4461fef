"""A plugin of pytest for NetworkX's own tests: counts the calls of the backend, and writes what became of each test.

``$EDGEWISE_NX_REPORT`` is the file that it writes: JSON with ``calls`` and ``left`` by function, those that the backend
answered and those that it left to NetworkX, and ``tests`` by outcome.
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
LEFT: Counter[str] = Counter()
OUTCOMES: dict[str, dict[str, str]] = defaultdict(dict)


def pytest_configure() -> None:
    """Count calls of all functions that are offered."""
    from edgewise.nx import backend

    for name, function in list(backend.FUNCTIONS.items()):
        backend.FUNCTIONS[name] = counted(name, function)
    can_run = backend.can_run

    def noted(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
        answer = can_run(name, args, kwargs)
        LEFT[name] += answer is not True
        return answer

    backend.can_run = noted


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which counts its calls by NetworkX."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except NotImplementedError:
            LEFT[name] += 1
            raise
        except Exception:
            CALLS[name] += 1
            raise
        CALLS[name] += 1
        return result

    return call


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what became of a test, with the reason."""
    if report.when == "call" or report.failed or report.skipped:
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        reason = getattr(report, "wasxfail", report.longreprtext if report.failed else "")
        OUTCOMES[outcome][report.nodeid] = str(reason)


def pytest_sessionfinish() -> None:
    """Write the report."""
    content = json.dumps({"calls": CALLS, "left": +LEFT, "tests": OUTCOMES}, indent=1)
    Path(os.environ["EDGEWISE_NX_REPORT"]).write_text(content, encoding="utf-8")
