"""Ranks with GPUs give the answers of one rank, bit for bit. They need an NVIDIA GPU, and PyTorch: `pytest -m gpu`.

Where PyTorch has no CUDA, two ranks speak by gloo, and tests of NCCL are skipped; so are those of two GPUs on one.
"""

import importlib.util
import os
from pathlib import Path

import pytest
from ranks import needs_torch, run_ranks, started

from edgewise.kernels.door import cuda_door, cuda_problem

pytestmark = [pytest.mark.gpu, needs_torch]


def num_gpus() -> int:
    """The GPUs that this process may use."""
    return int(cuda_door().cupy().cuda.runtime.getDeviceCount()) if cuda_problem() is None else 0


@pytest.fixture
def nccl() -> None:
    """Skip where PyTorch has no NCCL."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        if not (torch.cuda.is_available() and torch.distributed.is_nccl_available()):
            pytest.skip("PyTorch has no CUDA here, and so no NCCL")


@pytest.fixture
def one_gpu() -> dict[str, str]:
    """The environment in which all ranks share one GPU."""
    return {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]}


@pytest.fixture
def two_gpus() -> None:
    """Skip where there is one GPU."""
    if num_gpus() < 2:
        pytest.skip(f"two ranks with a GPU each need two; there are {num_gpus()}")


PARTS = {
    "few": "runs are the same",
    "algorithms": "algorithms are the same",
    "others": "hits is the same",
    "limits": "limits hold",
    "parts": "parts arrived",
    "errors": "errors end runs",
}


@pytest.mark.parametrize("what", ["few", "parts"])
def test_one_rank_by_nccl(what: str, nccl: None) -> None:
    assert PARTS[what] in run_ranks(1, "ranks_gpu.py", what, "NCCL", seconds=280)


@pytest.mark.parametrize("what", PARTS)
def test_two_ranks_on_one_gpu_by_gloo(what: str, one_gpu: dict[str, str]) -> None:
    assert PARTS[what] in run_ranks(2, "ranks_gpu.py", what, "gloo", seconds=280, **one_gpu)


@pytest.mark.slow
def test_three_ranks_on_one_gpu_run_all_programs(one_gpu: dict[str, str]) -> None:
    assert PARTS["few"] in run_ranks(3, "ranks_gpu.py", "all", "gloo", seconds=1500, **one_gpu)


@pytest.mark.parametrize("what", PARTS)
def test_two_ranks_by_peer_memory(what: str, two_gpus: None) -> None:
    assert PARTS[what] in run_ranks(2, "ranks_gpu.py", what, "peer memory", seconds=280)


def test_two_ranks_have_the_golden_answers(two_gpus: None) -> None:
    assert "golden graphs have their answers" in run_ranks(
        2, "ranks_gpu.py", "golden", "peer memory", seconds=280
    )


@pytest.mark.parametrize("what", ["few", "algorithms", "parts", "errors"])
def test_two_ranks_by_nccl(what: str, two_gpus: None, nccl: None) -> None:
    assert PARTS[what] in run_ranks(2, "ranks_gpu.py", what, "NCCL", seconds=280)


def test_runs_whose_ranks_are_killed_go_on(tmp_path: Path, one_gpu: dict[str, str]) -> None:
    killed = ("sssp", "0", "1", "11", "pagerank", "1", "0", "7")
    done = started(
        2,
        "ranks_checkpoint.py",
        str(tmp_path),
        "by-vertices",
        *killed,
        seconds=280,
        restarts=2,
        RANKS_DEVICE="cuda",
        **one_gpu,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "attempt 1: sssp: went on after superstep 10" in lines
    assert "attempt 2: pagerank: went on after superstep 6" in lines


def test_a_killed_rank_ends_those_that_wait_for_its_gpu(tmp_path: Path, two_gpus: None) -> None:
    killed = ("sssp", "0", "1", "11")
    words = (str(tmp_path), "by-vertices", *killed)
    done = started(2, "ranks_checkpoint.py", *words, seconds=280, restarts=1, RANKS_DEVICE="cuda")
    assert done.returncode == 0, done.stderr
    assert "attempt 1: sssp: went on after superstep 10" in done.stdout.splitlines()
