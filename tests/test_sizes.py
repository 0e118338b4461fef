"""Files and functions that are short enough to be read at once."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The most lines of a file, and of a function with its docstring and the functions within it.
LINES_OF_FILE, LINES_OF_FUNCTION = 500, 100


@pytest.mark.parametrize("folder", ["edgewise", "benchmarks", "examples", "tests"])
def test_no_file_is_long(folder: str) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))}
    lines = {path.relative_to(ROOT).as_posix(): len(text.splitlines()) for path, text in texts.items()}
    assert len(lines) > 5
    assert {path: number for path, number in lines.items() if number > LINES_OF_FILE} == {}


def test_no_function_is_long() -> None:
    long = {}
    for path in sorted((ROOT / "edgewise").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                number = node.end_lineno - node.lineno + 1
                if number > LINES_OF_FUNCTION:
                    long[f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}"] = number
    assert long == {}
