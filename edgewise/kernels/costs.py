"""Estimates of what a run costs: how many threads it is worth, and whether a GPU would end it sooner.

All times are nanoseconds, as measured on 16 cores of a Xeon of 2023 and on one H100. Other machines take a multiple or
a part of them, which seldom changes the choice: for most runs the times of both ways lie far apart.
"""

import math

#: The time to wake a team that sleeps (44 µs on the Xeon, 100 on two cores of an EPYC), and for each of its threads.
WAKE, WAKE_EACH = 80_000, 3_900
#: The time of a barrier for each thread, and the number of threads at which crowding doubles it.
MEET, CROWD = 95, 16
#: The time to launch a kernel on a GPU and to read its result, and of a barrier there.
GPU_LAUNCH, GPU_ROUND = 150_000, 3_000
#: How many times as fast as one CPU thread an H100 is.
GPU_ADVANTAGE = 50
#: The time to begin a copy to the GPU, and for each of its bytes.
COPY, COPY_BYTE = 100_000, 0.1
#: The speed of a thread in a team relative to one alone: threads share the memory.
TEAM_EFFICIENCY = 0.8
#: The time of a program for a vertex or an arc.
PROGRAM_ITEM = 5


def best_threads(work: float, most: int, rounds: float = 1) -> int:
    """The number of threads, a power of two or `most`, that ends the soonest.

    Args:
        work: the nanoseconds that one thread would take.
        most: the largest number of threads allowed.
        rounds: about how often all threads wait for each other.
    """
    if work < WAKE:
        return 1
    sizes = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return min((*sizes, most), key=lambda size: cpu_time(work, size, rounds))


def cpu_time(work: float, threads: int, rounds: float = 1) -> float:
    """The nanoseconds that `threads` threads take for work that takes one thread `work` nanoseconds."""
    if threads == 1:
        return work
    return _waking(threads) + _meeting(threads) * rounds + work / (threads * TEAM_EFFICIENCY)


def _waking(threads: int) -> float:
    return WAKE + WAKE_EACH * threads


def _meeting(threads: int) -> float:
    return MEET * threads * (1 + threads / CROWD)


def worth_waking(threads: int, most: int) -> float:
    """The nanoseconds of one thread after which `threads` threads have lost what waking `most` threads costs."""
    return _waking(most) * TEAM_EFFICIENCY / (1 / threads - 1 / most) if threads < most else math.inf


def gpu_time(work: float, rounds: float) -> float:
    """The nanoseconds that a GPU takes for work that takes a CPU thread `work`, in `rounds` rounds between barriers."""
    return GPU_LAUNCH + GPU_ROUND * rounds + work / GPU_ADVANTAGE


def copy_time(num_bytes: int) -> float:
    """The nanoseconds to copy `num_bytes` bytes to a GPU."""
    return COPY + COPY_BYTE * num_bytes if num_bytes else 0.0


def levels(num_vertices: int, num_arcs: int) -> float:
    """A guess at the number of levels of a search: many if vertices have few neighbours, as on roads and lattices."""
    return 2 * math.sqrt(num_vertices) if num_arcs < 6 * num_vertices else 10.0


def written(nanoseconds: float) -> str:
    """A time for people, to two digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            return f"{_to_two_digits(nanoseconds / size)} {unit}"
    return f"{_to_two_digits(nanoseconds / 1e3)} µs"


def _to_two_digits(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else f"{float(f'{value:.2g}'):,.0f}"
