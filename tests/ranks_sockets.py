"""A script for ranks that says whether they use sockets, and what exchanges give while something goes wrong."""

import os
import signal
import sys
import threading
import time

import numpy as np
import torch.distributed

import edgewise as ew
from edgewise.engine.distributed.group import connect
from edgewise.errors import DistributedError

what, rank = sys.argv[1], int(os.environ["RANK"])
graph = ew.generate.rmat(10, 8, seed=3)
found, expected = ew.bfs(graph, 0, distributed=True, device="cpu"), ew.bfs(graph, 0, device="cpu")
np.testing.assert_array_equal(found.level, expected.level)
group = connect()
print(f"uses sockets: {group._sockets is not None}; right", flush=True)


def outcome(number: int) -> str:
    """The sum of a number, or why there is none."""
    try:
        return str(group.total(number))
    except (DistributedError, KeyboardInterrupt) as error:
        return type(error).__name__


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


if what == "one is late" and rank == 1:
    time.sleep(6)
if what == "one is interrupted":
    if rank == 1:
        threading.Timer(1, interrupt).start()
    else:
        time.sleep(3)
if what == "one has ended the group" and rank == 1:
    torch.distributed.destroy_process_group()
if what == "all have another group":
    torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("gloo")
if what == "forks" and os.fork() == 0:
    print(f"child of rank {rank}: {outcome(1)}", flush=True)
    os._exit(0)  # as multiprocessing does; PyTorch would wait for threads that were not forked
if what == "forks":
    _, status = os.wait()
    assert status == 0
began = time.monotonic()
outcomes = [outcome(10**place) for place in range(3)]
print(f"rank {rank}: {' '.join(outcomes)}; {time.monotonic() - began:.1f} s", flush=True)
if what.startswith("one"):
    time.sleep(8)  # no rank is told by the end of another's process
