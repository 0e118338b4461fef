"""What a run will cost, roughly: how many threads it is worth, and whether a GPU would end it sooner.

All times are nanoseconds, as measured on 16 cores of a Xeon of 2023 and on one H100. Other machines differ, by factors
that seldom change the choice: beside its crossing points the times lie far apart.
"""

import math

#: To wake a team that sleeps (44 µs on the Xeon, 100 on two cores of an EPYC), and each of its threads.
WAKE, WAKE_EACH = 80_000, 3_900
#: A barrier, for each thread; it grows in a crowd: of so many threads each takes twice as long.
MEET, CROWD = 95, 16
#: To launch a kernel on a GPU and to read what it found; a barrier there.
GPU_LAUNCH, GPU_ROUND = 150_000, 3_000
#: What one H100 does in the time of one CPU thread.
GPU_ADVANTAGE = 50
#: To begin a copy to the GPU, and each of its bytes.
COPY, COPY_BYTE = 100_000, 0.1
#: The share of its time that a thread among others gets done: they share the memory.
TEAM_EFFICIENCY = 0.8
#: What a program takes for a vertex or an arc.
PROGRAM_ITEM = 5


def best_threads(work: float, most: int, rounds: float = 1) -> int:
    """The number of threads, a power of two or `most`, that ends the soonest.

    Args:
        work: the nanoseconds that one thread would take.
        most: the number of threads that there may be.
        rounds: about how often all wait for each other.
    """
    if work < WAKE:
        return 1
    sizes = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return min((*sizes, most), key=lambda size: cpu_time(work, size, rounds))


def cpu_time(work: float, threads: int, rounds: float = 1) -> float:
    """The nanoseconds that so many threads take for what takes one of them `work` nanoseconds."""
    if threads == 1:
        return work
    return _waking(threads) + _meeting(threads) * rounds + work / (threads * TEAM_EFFICIENCY)


def _waking(threads: int) -> float:
    return WAKE + WAKE_EACH * threads


def _meeting(threads: int) -> float:
    return MEET * threads * (1 + threads / CROWD)


def worth_waking(threads: int, most: int) -> float:
    """The nanoseconds of one thread's work after which so many have lost as much as it costs to wake the most."""
    return _waking(most) * TEAM_EFFICIENCY / (1 / threads - 1 / most) if threads < most else math.inf


def gpu_time(work: float, rounds: float) -> float:
    """The nanoseconds that a GPU takes for the same, in so many rounds between barriers."""
    return GPU_LAUNCH + GPU_ROUND * rounds + work / GPU_ADVANTAGE


def copy_time(num_bytes: int) -> float:
    """The nanoseconds to bring so many bytes to a GPU."""
    return COPY + COPY_BYTE * num_bytes if num_bytes else 0.0


def levels(num_vertices: int, num_arcs: int) -> float:
    """A guess at the levels of a search: many where vertices have few neighbours, as on roads and lattices."""
    return 2 * math.sqrt(num_vertices) if num_arcs < 6 * num_vertices else 10.0


def written(nanoseconds: float) -> str:
    """A time for people, to two digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2g} {unit}"
    return f"{nanoseconds / 1e3:.2g} µs"
