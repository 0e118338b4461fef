"""Checksums of blocks of words of 64 bits: sums of mixed words, for which parts of a block may come in any order.

The checksum of a block is the sum, modulo 2**64, of ``mix64(word + (place + 1) * GOLDEN)`` over its words, where the
place counts from the start of the array. `mix64` and the addition are bijections, so a change within one word of 8
bytes is always found. Any other accident, words that are exchanged or moved among them, is missed with a chance of
2**-64, as if the mixed words were random. Nothing here protects from a file that somebody makes on purpose: what is
read is checked for its range as well.

As a sum needs no order, an array can be written in pieces of any size, and its blocks are summed up without being read
again. `docs/files.md` has the speed.
"""

from typing import Any

import numpy as np

from edgewise.graph.file_format import BLOCK_WORDS
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.mixing import mix64

#: The odd number nearest to 2**64 divided by the golden ratio: multiples of it are far apart.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@device_function
def sum_of(words: Any, first: Any, start: Any, end: Any) -> Any:
    """The sum of the words from `start` to before `end`; `first` is the place in its array of ``words[0]``."""
    total, shift = np.uint64(0), np.uint64(first) + np.uint64(1)
    for i in range(np.uint64(start), np.uint64(end)):
        total += mix64(words[i] + (i + shift) * GOLDEN)
    return total


@team_kernel
def add_sums(
    thread: Any, size: Any, control: Any, words: Any, first: Any, block_words: Any, sums: Any
) -> None:
    """Add the sums of words to those of the blocks that they are in.

    Args:
        words: uint64, shape (k,), any part of an array.
        first: the place in the array of the first word.
        block_words: words in a block.
        sums: one for each block from that of the first word on, uint64.
    """
    before = first % block_words
    while True:
        b = claim(control, 0, 1, len(sums))
        if b >= len(sums):
            return
        start, end = max(b * block_words - before, 0), min((b + 1) * block_words - before, len(words))
        sums[b] += sum_of(words, first, start, end)


def add_to_blocks(sums: np.ndarray, first: int, words: np.ndarray) -> None:
    """Add words to the checksums of an array's blocks.

    Args:
        sums: the checksums of all blocks, uint64, changed in place.
        first: the place in the array of the first word.
        words: uint64, shape (k,).
    """
    if len(words):
        touched = sums[first // BLOCK_WORDS : (first + len(words) - 1) // BLOCK_WORDS + 1]
        launch(add_sums, sealed(words), first, BLOCK_WORDS, touched, work=0.3 * len(words))


def checksum(content: bytes) -> int:
    """The checksum of some bytes, a multiple of 8, as one block. Nothing is compiled for it."""
    words = np.frombuffer(content, "<u8")
    places = np.arange(1, len(words) + 1, dtype=np.uint64)
    mixed = words + places * GOLDEN
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int(mixed.sum(dtype=np.uint64))
