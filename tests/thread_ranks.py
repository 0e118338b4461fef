"""Ranks that are threads of this process, and speak by its memory."""

import threading

import numpy as np

from edgewise.engine.distributed.group import Group

#: Threads that wait for each other so long have failed.
SECONDS = 240
#: The group of each thread that is a rank.
own = threading.local()


class OfThread:
    """The groups that a thread is connected to: stands for ``edgewise.engine.distributed.group._groups``."""

    def __len__(self):
        return 1

    def __getitem__(self, place):
        return own.group


class Threads:
    """What the threads of a run share: what they give each other, and where they meet."""

    def __init__(self, size):
        self.given, self.meeting = [None] * size, threading.Barrier(size)


class ThreadGroup(Group):
    """A rank of several in one process."""

    def __init__(self, rank, threads):
        super().__init__(rank, len(threads.given))
        self._threads = threads

    def _swap(self, into, sent, got=None, given=None):
        even = [len(sent) // self.size] * self.size
        ends = np.cumsum([0, *(given or even)])
        self._threads.given[self.rank] = [sent[ends[i] : ends[i + 1]].copy() for i in range(self.size)]
        self._threads.meeting.wait(SECONDS)
        into[...] = np.concatenate([each[self.rank] for each in self._threads.given])
        self._threads.meeting.wait(SECONDS)
        self.sent_bytes += len(sent) - (given or even)[self.rank]
        self.exchanges += 1


def on_threads(size, call, refusals=()):
    """What a call with the group of a rank gives on each rank, which is a thread; errors of some classes, too."""
    threads, found = Threads(size), [None] * size

    def run(rank):
        own.group = ThreadGroup(rank, threads)
        try:
            found[rank] = call(own.group)
        except refusals as refused:
            found[rank] = refused
        except BaseException as error:
            found[rank] = error
            threads.meeting.abort()

    started = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    failures = [each for each in found if isinstance(each, BaseException) and not isinstance(each, refusals)]
    if failures:
        raise next(
            (each for each in failures if not isinstance(each, threading.BrokenBarrierError)), failures[0]
        )
    return found
