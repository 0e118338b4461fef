"""Files with drawn mistakes: read as a slow reader reads them, or refused with an error that names the file.

A failure names the format, the seed and the number of the file; CONTRIBUTING.md says how to try it again. If a file
ends the process, it is the one that is left in the folder of the test.
"""

import random
import sys
from pathlib import Path

import pytest
from cases import Case, check_files, strictly
from formats import FORMATS
from mutations import mutated

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ParseError
from edgewise.io.columns import read_columns

#: How many files one test draws, and the least share of them that is read, not refused.
FILES, LEAST_READ = 1000, 0.3
#: CI runs the first, `make test-all` all of them: 20,000 files of each format.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]

# What hangs in compiled code cannot be interrupted: the process ends, and the test is named.
pytestmark = pytest.mark.timeout(200, method="thread")


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files(kind: str, tmp_path: Path) -> None:
    """The files in which mistakes are drawn have none, and both readers read them."""
    with strictly():
        for number, (data, options) in enumerate(FORMATS[kind].seeds):
            case, pack = Case(kind, 0, number), FORMATS[kind].pack
            case.data, case.options = pack(data) if pack else data, options
            assert case.check(tmp_path), case


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files(kind: str, seed: int, tmp_path: Path) -> None:
    assert check_files(kind, seed, range(FILES), tmp_path) >= LEAST_READ


@pytest.mark.parametrize("files", [8, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files_are_built_as_they_are_read(kind: str, files: int, tmp_path: Path) -> None:
    """`edgewise.build` makes the file that `edgewise.read` and `Graph.save` make, byte for byte, or refuses as well."""
    for number in range(files):
        case = Case(kind, 1000, number)
        with strictly():
            path = case.write(tmp_path)
            found = case.read(path)
            try:
                ew.build(tmp_path / "built", path, memory_limit=10**9, **case.options)
            except (ParseError, GraphError) as error:
                other = "edgewise.read" in str(error)  # which takes longer ids, and whole graphs
                assert isinstance(found, Exception) or other, (case, error)
                continue
        if not isinstance(found, MemoryLimitError):
            assert isinstance(found, ew.Graph), (case, found)
            found.save(tmp_path / "read")
            assert (tmp_path / "built").read_bytes() == (tmp_path / "read").read_bytes(), case


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_columns(seed: int, tmp_path: Path) -> None:
    """Results in files, which `edgewise verify` reads."""
    for number in range(FILES):
        draw = random.Random(f"columns {seed} {number}")
        path = tmp_path / draw.choice(["result.csv", "result.tsv"])
        whole = b"vertex,rank,near\n1,0.25,a\n2,0.75,b\n3,1e-9,c\n".replace(
            b",", b",\t"[path.suffix == ".tsv" :][:1]
        )
        data = mutated(draw, whole)
        path.write_bytes(data)
        try:
            found = read_columns(path, memory_limit=10**6)
        except ParseError as error:
            assert str(path) in str(error), data
            found = None
        if not set(data) & set(b'"\r\0'):
            assert found == plain_columns(data, path.suffix), data


def plain_columns(data: bytes, suffix: str) -> dict[str, list[str]] | None:
    """The columns of a file without quotes, carriage returns and NULs; None if they are none."""
    try:
        lines = data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return None
    rows = [line.split("," if suffix == ".csv" else "\t") if line else [] for line in lines]
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        return None
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}


if __name__ == "__main__":  # FORMAT SEED [NUMBER]
    kind, seed, *one = sys.argv[1:]
    numbers = range(int(one[0]), int(one[0]) + 1) if one else range(FILES)
    print(f"{check_files(kind, int(seed), numbers, Path()):.0%} of the files were read")
