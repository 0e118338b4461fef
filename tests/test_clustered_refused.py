"""Where runs by clusters are asked for and cannot be: what is said, on a machine without a GPU, too."""

import pytest
from test_approx import Strength
from test_engines import SSSP

import edgewise as ew
from edgewise.errors import ScheduleError

FOR = r"Clustered\(\) is for ew\.bfs, ew\.sssp with weights of at least 0, ew\.connected_components, and programs"
DIRECTED, BOTH_WAYS = ew.generate.lattice(4, 4), ew.generate.star(9, directed=False)
CALLS = {
    "bfs": lambda **how: ew.bfs(DIRECTED, 0, **how),
    "sssp": lambda **how: ew.sssp(DIRECTED, 0, **how),
    "pagerank": lambda **how: ew.pagerank(DIRECTED, **how),
    "scc": lambda **how: ew.scc(DIRECTED, **how),
    "betweenness": lambda **how: ew.betweenness(DIRECTED, **how),
    "connected_components": lambda **how: ew.connected_components(BOTH_WAYS, **how),
    "mst": lambda **how: ew.mst(BOTH_WAYS, **how),
    "Strength": lambda **how: ew.run(Strength, DIRECTED, **how),
    "SSSP": lambda **how: ew.run(SSSP(source=0), DIRECTED, **how),
}


@pytest.fixture(params=["cpu", "auto"])
def device(request, monkeypatch):
    """Where a run goes on a machine without a GPU."""
    monkeypatch.setattr("edgewise.execution.cuda_problem", lambda: "there is none")
    return request.param


@pytest.mark.parametrize("name", CALLS)
def test_what_runs_on_the_cpu_has_no_clusters(name, device):
    why = "this program is none of these" if name == "Strength" else "this run is on the CPU"
    told = rf"^{name}: {FOR}.* on a GPU.*{why}: leave balance at 'auto'"
    with pytest.raises(ScheduleError, match=told):
        CALLS[name](device=device, schedule=ew.Schedule(balance=ew.Clustered()))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", ["clustered", "Clustered", ew.Clustered])
def test_the_name_of_a_balance_is_answered_by_how_it_is_written(name, given, device):
    told = rf"^{name}: balance is .*, which is written ew\.Clustered\(\); expected 'auto', or, on a GPU"
    with pytest.raises(ScheduleError, match=told):
        CALLS[name](device=device, schedule=ew.Schedule(balance=given))


def test_what_is_no_balance_is_refused(device):
    for given in ("warp", 3, None, [ew.Clustered()]):
        with pytest.raises(ScheduleError, match=r"balance is .*; expected 'auto', or, on a GPU, who does"):
            ew.bfs(DIRECTED, 0, device=device, schedule=ew.Schedule(balance=given))
    with pytest.raises(ScheduleError, match=r"'merge_path', which is written ew\.MergePath\(\)"):
        ew.bfs(DIRECTED, 0, device=device, schedule=ew.Schedule(balance="merge_path"))
    with pytest.raises(ScheduleError, match=r"MergePath\(\); only runs on a GPU can be told"):
        ew.bfs(DIRECTED, 0, device=device, schedule=ew.Schedule(balance=ew.MergePath()))


def test_refinements_have_no_clusters(device):
    core = ew.approx.core_graph(DIRECTED)
    with pytest.raises(
        ScheduleError, match=r"^two_phase: balance is Clustered\(\), for which all of a graph"
    ):
        ew.approx.two_phase(core, ew.bfs, 0, device=device, schedule=ew.Schedule(balance=ew.Clustered()))
