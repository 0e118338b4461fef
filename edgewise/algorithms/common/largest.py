"""The largest component, as a sample of vertices shows it, for kernels on the CPU."""

from typing import Any

from edgewise.kernels.cache import device_function

#: The size of the sample.
SAMPLE = 1024


@device_function
def find_largest(label: Any) -> Any:
    """The label of more than half of a sample, if there is one, a vertex that has it, and how many of the sample do:
    the vote of Boyer and Moore (1991)."""
    n, largest, vertex, votes, count = len(label), label[0], 0, 0, 0
    for i in range(SAMPLE):
        seen = label[i * n // SAMPLE]
        if votes == 0:
            largest, vertex = seen, i * n // SAMPLE
        votes += 1 if seen == largest else -1
    for i in range(SAMPLE):
        count += label[i * n // SAMPLE] == largest
    return largest, vertex, count
