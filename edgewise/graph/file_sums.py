"""Checksums of blocks of words of 64 bits: sums of mixed words, which parts of a block give in any order.

The checksum of a block is the sum, modulo 2**64, of ``mix64(word + (place + 1) * GOLDEN)`` over its words, where the
place counts from the start of the array. `mix64` and the addition are bijections, so a change within one word of 8
bytes is always found. Any other accident, words that are exchanged or moved among them, is missed with a chance of
2**-64, as if the mixed words were random. Nothing here protects from a file that somebody makes on purpose: what is
read is checked for its range as well.

Measured on one core of an EPYC with AVX-512: see `docs/files.md`. As a sum needs no order, an array can be written in
pieces of any size, and its blocks are summed up without being read again.
"""

from typing import Any

import numpy as np

from edgewise.graph.file_format import BLOCK_WORDS
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.mixing import mix64

#: The odd number nearest to 2**64 divided by the golden ratio: multiples of it are far apart.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


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
    before, one = np.uint64(first) % np.uint64(block_words), np.uint64(1)
    while True:
        b = claim(control, 0, 1, len(sums))
        if b >= len(sums):
            return
        start = np.uint64(max(b * block_words - np.int64(before), 0))
        end = np.uint64(min((b + 1) * block_words - np.int64(before), len(words)))
        total, shift = np.uint64(0), np.uint64(first) + one
        for i in range(start, end):
            total += mix64(words[i] + (i + shift) * GOLDEN)
        sums[b] += total


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
    """The checksum of bytes, a multiple of 8, as one block."""
    total = np.zeros(1, np.uint64)
    words = sealed(np.frombuffer(content, "<u8"))
    launch(add_sums, words, 0, max(len(words), 1), total, work=len(words))
    return int(total[0])
