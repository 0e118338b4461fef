"""What tests of the command line share."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from edgewise.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refuse(*arguments: object) -> str:
    """The one line of a refusal."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("edgewise: error: ")
    assert result.output.count("\n") == 1, "expected one line"
    return result.output
