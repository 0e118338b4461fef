"""Blocks of lines that several threads scan at once, each by itself, handed back in the order of the file.

The calling thread reads and decompresses. While it does so, others scan the blocks that were read; when enough of these
wait, it scans one, too.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from edgewise.io.source import Block
from edgewise.kernels.cpu.team import available_threads

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
#: More threads would wait for text, which one thread reads.
_MOST_THREADS = 8
#: Blocks for each thread that are read before they are needed.
_BLOCKS_PER_THREAD = 2


@dataclass
class _Task(Generic[T]):
    """A block, and what another thread makes of it, or this one has made of it."""

    block: Block
    future: "Future[T] | None" = None
    result: T | None = None

    def is_done(self) -> bool:
        return self.future is None or self.future.done()

    def take_over(self, work: Callable[[Block], T]) -> bool:
        """Do the work here, unless a thread has begun it."""
        if self.future is None or not self.future.cancel():
            return False
        self.future, self.result = None, work(self.block)
        return True

    def outcome(self) -> T | None:
        return self.result if self.future is None else self.future.result()


@contextlib.contextmanager
def scanned_ahead(
    blocks: Iterator[Block], work: Callable[[Block], T] | None, has_room: Callable[[int], bool]
) -> Iterator[Iterator[tuple[Block, T | None]]]:
    """Have blocks worked on before it is their turn.

    Args:
        blocks: those of a file. An error in reading them is raised after the blocks before have been handed back.
        work: called by any thread, and by several at once. None if blocks cannot be worked on before their turn: then
            they are only read before it.
        has_room: whether this number of bytes of text may be worked on at one time.

    Yields:
        Each block with the outcome; None if it was not worked on: it is the first one, or there is one thread, or no
        room.
    """
    threads = min(available_threads(), _MOST_THREADS)
    if threads == 1:
        yield ((block, None) for block in blocks)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads - 1, "edgewise-reading")
    try:
        if work is None:
            yield _one_ahead(blocks, has_room, pool.submit)
        else:
            yield _in_order(blocks, work, has_room, pool.submit, _BLOCKS_PER_THREAD * threads)
    finally:
        pool.shutdown(cancel_futures=True)


def _one_ahead(
    blocks: Iterator[Block],
    has_room: Callable[[int], bool],
    submit: Callable[..., "Future[Block | None]"],
) -> Iterator[tuple[Block, None]]:
    """Each block, while another thread reads the next one."""
    block = next(blocks, None)
    while block is not None:
        following = submit(next, blocks, None) if has_room(2 * len(block.text)) else None
        yield block, None
        block = next(blocks, None) if following is None else following.result()


def _in_order(
    blocks: Iterator[Block],
    work: Callable[[Block], T],
    has_room: Callable[[int], bool],
    submit: Callable[..., "Future[T]"],
    most: int,
) -> Iterator[tuple[Block, T | None]]:
    """Each block with the outcome of the work; at most `most` are held."""
    for block in blocks:  # the first tells the kind of weights, and compiles what scans it
        yield block, None
        break
    tasks: deque[_Task[T]] = deque()
    ended: Exception | None = None
    held = 0
    while True:
        while ended is None and (
            not tasks or (len(tasks) < most and has_room(held + len(tasks[-1].block.text)))
        ):
            try:
                block = next(blocks)
            except Exception as error:  # StopIteration, too
                ended = error
                break
            task: _Task[T] = _Task(block)
            held += len(block.text)
            if has_room(held):
                task.future = submit(work, block)
            tasks.append(task)
        if not tasks:
            assert ended is not None
            if isinstance(ended, StopIteration):
                return
            raise ended
        if tasks[0].is_done() or not any(task.take_over(work) for task in tasks):
            task = tasks.popleft()
            yield task.block, task.outcome()
            held -= len(task.block.text)
