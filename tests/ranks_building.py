"""A script for several ranks that build files together: the bytes of one process, within a limit of memory.

``ranks_building.py FOLDER`` builds a few; ``ranks_building.py FOLDER killed`` has rank 1 killed while it writes.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from resident import CLEAR, SHARE, SLACK, read_status

import edgewise as ew
from edgewise.building.output import Written
from edgewise.engine.distributed.group import Group, connect
from edgewise.errors import ParseError

LIMIT = 40_000_000
CASES = {
    "plain": {"in_edges": True},
    "undirected": {"directed": False, "parallel_edges": "first", "self_loops": "drop"},
    "declared": {"num_vertices": 40_000},
    "names": {"names": True},
}


def write_lines(path: Path, count: int) -> None:
    ends = np.random.default_rng(1).integers(0, 40_000, (count, 2))
    path.write_text("".join(f"{u} {v}\n" for u, v in ends.tolist()))


def check_files(folder: Path, group: Group) -> None:
    text = folder / "edges.txt"
    if group.rank == 0:
        write_lines(text, 300_000)
    group.total(0)
    for name, options in CASES.items():
        path = folder / f"{name}.edgewise"
        ew.build(path, text, distributed=True, memory_limit=LIMIT, **options)
        if group.rank == 0:
            ew.build(folder / "alone.edgewise", text, memory_limit=LIMIT, **options)
            assert path.read_bytes() == (folder / "alone.edgewise").read_bytes(), name
            (folder / "alone.edgewise").unlink()
        group.total(0)


def check_memory(folder: Path, group: Group) -> None:
    """All code is compiled by now."""
    text = folder / "more.txt"
    if group.rank == 0:
        write_lines(text, 1_000_000)
    group.total(0)
    CLEAR.write_text("5")
    before = read_status("VmRSS")
    ew.build(folder / "more.edgewise", text, distributed=True, memory_limit=LIMIT, in_edges=True)
    taken = read_status("VmHWM") - before
    assert taken < SHARE * LIMIT + SLACK, (group.rank, taken)


def check_refused(folder: Path, group: Group) -> None:
    """All ranks name the line, and go on."""
    text = folder / "edges.txt"
    if group.rank == 0:
        with text.open("a") as file:
            file.write("1 x\n")
    group.total(0)
    try:
        ew.build(folder / "wrong.edgewise", text, distributed=True)
    except ParseError as error:
        assert f"{text}:300001: got '1 x'; expected an integer id in column 2" in str(error), error
    else:
        raise AssertionError("a wrong line is not refused")
    assert group.total(1) == group.size
    assert not (folder / "wrong.edgewise").exists()


def main() -> None:
    folder, group = Path(sys.argv[1]), connect()
    if sys.argv[2:] == ["killed"]:
        if group.rank == 1:
            Written.take = lambda *args: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        ew.build(folder / "g.edgewise", folder / "edges.txt", distributed=True)
    check_files(folder, group)
    check_memory(folder, group)
    check_refused(folder, group)
    print(f"rank {group.rank} of {group.size} agrees", flush=True)


if __name__ == "__main__":
    main()
