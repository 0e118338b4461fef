"""A run on a graph in a file takes no more resident memory than its limit, pages of the file included."""

import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from resident import CLEAR, SLACK, Case, measured, read_status

import edgewise as ew
from edgewise.errors import FileChangedError, GraphError, MemoryLimitError
from edgewise.graph import least_pages
from edgewise.kernels.cpu.ceiling import Ceiling, below, resident_without
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.single_pages import map_as_usual, map_singly
from edgewise.kernels.cpu.team import claim, team_kernel

pytestmark = pytest.mark.skipif(not os.access(CLEAR, os.W_OK), reason="the peak is told by Linux only")

MIB = 2**20
#: Graphs of 270 MB, of which 200 may be in memory, and what runs on them.
GRAPHS = {
    "directed": {"m": 34_000_000},
    "undirected": {"m": 34_000_000, "directed": False},
    "weighted": {"m": 17_000_000, "directed": False, "weights": (1, 99)},
    "alone": {"m": 50_000_000, "in_edges": False},
}
BOTH_WAYS = {
    "scc": "ew.scc(g, memory_limit=limit)",
    "components": "ew.connected_components(g, memory_limit=limit)",
}
RUNS = {
    "bfs": "ew.bfs(g, first, memory_limit=limit)",
    "pagerank": "ew.pagerank(g, tol=0, max_iterations=3, memory_limit=limit)",
    "components": "ew.connected_components(g, memory_limit=limit)",
    "program that pulls": "ew.run(P.PageRank(tol=1e-2), g, memory_limit=limit)",
}
#: Runs that read at random.
AT_RANDOM = {
    "sssp": "ew.sssp(g, first, memory_limit=limit)",
    "betweenness": "ew.betweenness(g, sources=[first], memory_limit=limit)",
}
WEIGHTED = {
    "weighted pagerank": "ew.pagerank(g, tol=0, max_iterations=3, weighted=True, memory_limit=limit)",
    "mst": "ew.mst(g, memory_limit=limit)",
}
CASES = [
    *(("directed", run) for run in BOTH_WAYS.items()),
    ("directed", ("bfs", RUNS["bfs"])),
    *(("weighted", run) for run in AT_RANDOM.items()),
    *(("undirected", run) for run in RUNS.items()),
    *(("weighted", run) for run in WEIGHTED.items()),
]


#: Runs that take long.
LONG = ("scc", "weighted pagerank")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The path of a graph's file by its name, with one of its kind that is small beside it."""
    folder = tmp_path_factory.mktemp("files")

    def path(name):
        if not (folder / name).exists():
            options = {"directed": True, **GRAPHS[name]}
            num_edges, in_edges = options.pop("m"), options.pop("in_edges", options["directed"])
            for suffix, n, m in (("", 600_000, num_edges), (".small", 100, 2000)):
                graph = ew.generate.uniform(n, m, seed=1, **options)
                graph.save(folder / f"{name}{suffix}", in_edges=in_edges)
        return folder / name

    return path


@pytest.mark.parametrize(
    "graph, run",
    [
        pytest.param(*case, marks=pytest.mark.slow if case[1][0] in LONG else pytest.mark.more)
        for case in CASES
    ],
    ids=lambda each: each if isinstance(each, str) else each[0],
)
def test_a_run_stays_within_the_least_limit_that_it_says(files, mapping, monkeypatch, graph, run):
    if run[0] in ("bfs", *AT_RANDOM) and not mapped_singly(*mapping):
        pytest.skip("this system maps pages around those that are read: see docs/memory.md")
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "2")
    found = measured(Case(f"in {files(graph)}", run[1]))
    assert found.peak <= found.needed + SLACK and found.later <= found.again + SLACK, found


@team_kernel
def add_up(thread, size, control, words, total):
    """Add up all words, four times."""
    step, pieces = len(words) // 64, 64
    while True:
        piece = claim(control, 0, 1, 4 * pieces)
        if piece >= 4 * pieces:
            return
        found, first = np.uint64(0), (piece % pieces) * step
        for i in range(first, first + step):
            found += words[i]
        total[piece] = found


@pytest.fixture
def mapping(tmp_path):
    """A file of 256 MiB in memory, as words, and its descriptor."""
    (tmp_path / "zeros").write_bytes(bytes(256 * MIB))
    with (tmp_path / "zeros").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield np.frombuffer(mapped, np.uint64), file.fileno()


def mapped_singly(words, file) -> bool:
    """Whether this system can map single pages. The mapping is as before then."""
    singly = map_singly(words.view(np.uint8), file)
    if singly is not None:
        map_as_usual(words.view(np.uint8), singly)
    return singly is not None


def peak_of_reading(mapping) -> int:
    """The peak of resident memory while a mapping is read, beyond what is resident before."""
    total = np.zeros(256, np.uint64)
    launch(add_up, mapping[:64], total, work=0)
    before = resident_without(mapping.view(np.uint8))
    CLEAR.write_text("5")
    launch(add_up, mapping, total, work=1e9)
    return read_status("VmHWM") - before


def test_pages_are_given_up_while_a_kernel_reads(mapping):
    mapping, _ = mapping

    def ceiling(size):
        return Ceiling(before + size * MIB, before + 3 * size * MIB, mapping.view(np.uint8), -1)

    before = resident_without(mapping.view(np.uint8))
    assert peak_of_reading(mapping) > 240 * MIB
    with below(ceiling(48)), below(ceiling(1000)):
        assert peak_of_reading(mapping) <= 144 * MIB
    assert peak_of_reading(mapping) > 240 * MIB
    with below(ceiling(1000)):
        with below(ceiling(48)):
            pass
        assert peak_of_reading(mapping) > 240 * MIB


def test_single_pages_are_mapped_as_they_are_read(mapping):
    words, file = mapping
    if not mapped_singly(words, file):
        pytest.skip("this system maps pages around those that are read: see docs/memory.md")
    some = words[:: 64 * 1024 // 8]  # a word in each 64 KiB

    def resident():
        before = resident_without(words.view(np.uint8))
        assert some.sum() == 0
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE - before

    around = resident()
    begun = map_singly(words.view(np.uint8), file)
    singly = resident()
    with open(f"/proc/self/fd/{file}", "r+b") as written:
        os.pwrite(written.fileno(), b"\7", 5 * 65536)
    assert some[5] == 7, "the mapping is still that of the file"
    map_as_usual(words.view(np.uint8), begun)
    assert some[5] == 7 and singly <= len(some) * mmap.PAGESIZE + MIB < 240 * MIB < around


def watching() -> bool:
    return any(thread.name == "edgewise-pages" for thread in threading.enumerate())


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A graph in a file of 144 MB: each vertex has arcs to the next 360 ones."""
    path, n, degree = tmp_path_factory.mktemp("graph") / "g.edgewise", 100_000, 360
    targets = (np.arange(n, dtype=np.int32)[:, None] + np.arange(1, degree + 1, dtype=np.int32)) % n
    ew.Graph.from_csr(np.arange(0, n * degree + 1, degree), targets.ravel()).save(path)
    return path


ONE = {"device": "cpu", "schedule": ew.Schedule(num_threads=1)}


def components(graph, **options):
    return ew.connected_components(graph, **ONE, **options)


def least(call) -> int:
    """The least limit with which a call runs, as its refusal says."""
    with pytest.raises(MemoryLimitError, match="of them for pages of the graph's file") as refused:
        call(memory_limit=0)
    return int(str(refused.value).split(" needs ")[1].split()[0].replace(",", ""))


def test_pages_count(path, tmp_path):
    graph = ew.load(path)
    needed = least(lambda **options: components(graph, **options))
    assert least_pages(graph, 1) == 128 * MIB < needed < 128 * MIB + 2e6
    with pytest.raises(MemoryLimitError):
        components(graph, memory_limit=needed - 1)
    in_memory = ew.generate.path(100)
    assert least_pages(in_memory, 1) == 0
    in_memory.save(tmp_path / "small")
    assert least_pages(ew.load(tmp_path / "small"), 1) == (tmp_path / "small").stat().st_size


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, **options: components(graph, **options).component,
        pytest.param(
            lambda graph, **options: ew.bfs(graph, 0, **ONE, **options).level, marks=pytest.mark.more
        ),
        pytest.param(
            lambda graph, **options: ew.betweenness(graph, sources=[1, 2], **ONE, **options).centrality,
            marks=pytest.mark.more,
        ),
    ],
)
def test_answers_are_those_without_a_limit(path, call):
    graph = ew.load(path)
    limited = call(graph, memory_limit="200 MB")
    assert np.array_equal(limited, call(graph)) and not watching()


def test_how_often_pages_were_given_up_is_told(path):
    # In a process of its own: what earlier tests left and Python frees during the run would count as room for pages.
    # The run reads the file 30 times: a busy machine may keep the thread waiting through a reading or two.
    script = f"""
import edgewise as ew
from edgewise.errors import MemoryLimitError

def explained(**options):
    one = ew.Schedule(num_threads=1)
    return ew.pagerank(graph, tol=0, max_iterations=30, device="cpu", schedule=one, **options).explain()

graph = ew.load({str(path)!r})
try:
    explained(memory_limit=0)
except MemoryLimitError as refused:
    limit = int(str(refused).split(" needs ")[1].split()[0].replace(",", ""))
for options in ({{"memory_limit": limit}}, {{"memory_limit": "1 GB"}}, {{}}):
    text = explained(**options)
    print(text.split("given up ")[1].split(" times")[0] if "given up" in text else "never")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    times, *others = ran.stdout.split() or [ran.stderr]
    assert int(times.replace(",", "")) >= 1
    assert others == ["never", "never"]


@pytest.mark.more
def test_several_runs_at_a_time(path):
    graph, answers = ew.load(path), []
    expected = components(graph).component

    def call(limit):
        answers.extend(components(graph, memory_limit=limit).component for _ in range(5))

    threads = [threading.Thread(target=call, args=(limit,)) for limit in ("150 MB", "160 MB", "1 GB", None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 20 and all(np.array_equal(answer, expected) for answer in answers)
    assert not watching()


@pytest.mark.parametrize("reserve", [0, 128 * MIB])
def test_a_file_that_fits_stays(path, reserve, monkeypatch):
    """With what pages need at least to spare, as the run may take more than it needs."""

    ceilings = []

    def remember(ceiling):
        ceilings.append(ceiling.limit - ceiling.ceiling)
        return below(ceiling)

    monkeypatch.setattr(sys.modules["edgewise.graph.file_pages"], "below", remember)

    def call(**options):
        return ew.pagerank(ew.load(path), max_iterations=1, **ONE, **options)

    fits = least(call) + path.stat().st_size
    call(memory_limit=fits - 128 * MIB + reserve)
    assert (ceilings[-1] == 128 * MIB) == (reserve > 0)


@pytest.mark.more
def test_a_search_that_makes_in_edges_stays_within_its_limit(files, monkeypatch):
    """The file would fit beside what it needs, and does not beside the in-edges, which it makes for it may."""
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "1")
    more = 330_000_000
    found = measured(Case(f"in {files('alone')}", f"ew.bfs(g, first, memory_limit=limit and limit + {more})"))
    assert found.peak <= found.needed + more + SLACK, found


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.param(ValueError, marks=pytest.mark.more)])
def test_an_error_leaves_no_thread(path, error):
    seen = []

    def stop(_):
        seen.append(watching())
        raise error

    graph = ew.load(path)
    with pytest.raises(error):
        ew.pagerank(graph, tol=0, max_iterations=10**6, **ONE, progress=stop, memory_limit="1 GB")
    assert seen == [True] and not watching()
    with pytest.raises(GraphError):
        ew.bfs(graph, -5, **ONE, memory_limit="1 GB")
    assert not watching()


def mapped_privately(path) -> list[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if str(path) in line and "p" in line.split()[1]]


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_an_interruption_while_a_limited_run_begins_or_ends(path, monkeypatch, at):
    """Waiting for a thread that begins or ends is interrupted: all is as before, and later runs are right."""
    graph, join, joins = ew.load(path), threading.Thread.join, []
    expected, limit = ew.bfs(graph, 0, **ONE).level, "160 MB"
    begun = set(os.listdir("/proc/self/fd"))

    def interrupted(thread, *args):
        if thread.name == "edgewise-pages-change":
            joins.append(thread)
            if len(joins) == at:
                raise KeyboardInterrupt
        return join(thread, *args)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ew.bfs(graph, 0, **ONE, memory_limit=limit)
    monkeypatch.setattr(threading.Thread, "join", join)
    for thread in joins:
        thread.join()
    assert not watching() and not mapped_privately(path)
    assert set(os.listdir("/proc/self/fd")) <= begun, "descriptors were left open"
    assert np.array_equal(ew.bfs(graph, 0, **ONE, memory_limit=limit).level, expected)
    assert np.array_equal(graph.targets, ew.load(path).targets) and not mapped_privately(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of threads, which the child has not
def test_a_child_of_a_limited_run_maps_files_as_usual(path):
    graph, ended = ew.load(path), []

    def fork(_):
        child = os.fork()
        if child == 0:
            os._exit(1 if mapped_privately(path) or len(graph.targets) == 0 else 0)
        ended.append(os.waitpid(child, 0)[1])
        raise ValueError

    with pytest.raises(ValueError):
        ew.betweenness(graph, k=500, **ONE, progress=fork, memory_limit="160 MB")
    assert ended == [0] and not mapped_privately(path)


def test_a_thread_that_cannot_be_started(path, monkeypatch):
    """The run fails, and later ones do not."""
    graph, start = ew.load(path), threading.Thread.start

    def refused(thread):
        if thread.name == "edgewise-pages":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        ew.bfs(graph, 0, **ONE, memory_limit="160 MB")
    monkeypatch.setattr(threading.Thread, "start", start)
    assert not mapped_privately(path)
    assert ew.bfs(graph, 0, **ONE, memory_limit="160 MB").level.min() == 0 and not watching()


@pytest.mark.more
@pytest.mark.parametrize(
    "run",
    [
        lambda graph, **how: ew.pagerank(graph, tol=0, max_iterations=200, **how, memory_limit="1 GB"),
        lambda graph, **how: ew.betweenness(graph, k=200, **how, memory_limit="355 MB"),
    ],
    ids=["in order", "at random"],
)
def test_a_file_that_is_cut_short_during_a_limited_run(path, tmp_path, run):
    (tmp_path / "cut").write_bytes(path.read_bytes())
    graph = ew.load(tmp_path / "cut")

    def cut(_):
        os.truncate(tmp_path / "cut", 4096)

    with pytest.raises(FileChangedError):
        run(graph, **ONE, progress=cut)
    with pytest.raises(FileChangedError):
        _ = graph.targets
    assert not watching()
