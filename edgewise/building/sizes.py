"""How many edges are held at a time, so that building stays within a limit of memory."""

import math
from dataclasses import dataclass

from edgewise.errors import MemoryLimitError
from edgewise.graph.buckets import MAX_BUCKET_BITS
from edgewise.kernels.cpu.team import available_threads

#: Bytes that building takes in any case, for the index of what was written and small arrays.
FIXED = 4_000_000
#: The least bytes that are worth sharing out between edges.
_LEAST = 2_000_000
#: More than this at a time gains nothing.
_MOST_EDGES, _MOST_ARCS = 2**25, 2**27
_MAX_BUCKETS = 1024
#: Bytes of a row of a bucket: its offset, twice, and the place of its next arc; and of a bucket: counts of its arcs.
_ROW_BYTES, _BUCKET_BYTES = 24, 64
_SHARE_OF_BUCKET, _SHARE_OF_ROWS, _SHARE_OF_COUNTS = 0.45, 0.1, 0.08


@dataclass(frozen=True)
class Sizes:
    """What is held in memory at one time.

    Attributes:
        batch: edges that are dealt to buckets together.
        bucket: arcs that are sorted together.
        rows: rows that are sorted together.
        max_buckets: buckets that arcs are dealt to, at least 2.
        arc_bytes: what an arc of a bucket takes.
    """

    batch: int
    bucket: int
    rows: int
    max_buckets: int = _MAX_BUCKETS
    arc_bytes: int = 0

    def more_for(self, bucket: int) -> int:
        """The bytes that are needed more for `bucket` arcs to be sorted together."""
        return math.ceil((bucket - self.bucket + 1) * self.arc_bytes / _SHARE_OF_BUCKET)

    def shift_for(self, num_rows: int) -> int:
        """Buckets of ``2**shift`` rows: at most `max_buckets` of them, unless that makes them too long to sort."""
        wanted = (max(num_rows - 1, 0) // self.max_buckets).bit_length()
        return min(wanted, MAX_BUCKET_BITS, max(self.rows.bit_length() - 1, 0))


def sizes_within(room: int, weight_bytes: int, both_directions: bool, merges: bool) -> Sizes:
    """What may be held at one time within `room` bytes, which are at least `least_room(num_vertices)`.

    A batch has ids in 64 bits and in 32, and its arcs in their buckets. A bucket is sorted through a copy of it; to
    merge parallel arcs takes each thread a table of up to 16 bytes for each arc, and the merged arcs.
    """
    room -= FIXED
    of_edge = 24 + 2 * weight_bytes + (6 + weight_bytes) * (2 if both_directions else 1)
    of_arc = 10 + 2 * weight_bytes
    if merges:
        of_arc += 16 * available_threads() + 4 + weight_bytes
    return Sizes(
        batch=min(int(0.35 * room / of_edge), _MOST_EDGES),
        bucket=min(int(_SHARE_OF_BUCKET * room / of_arc), _MOST_ARCS),
        rows=int(_SHARE_OF_ROWS * room / _ROW_BYTES),
        arc_bytes=of_arc,
    )


def least_room(num_vertices: int = 0) -> int:
    """The least bytes that `sizes_within` shares out: rows in a bucket, times buckets, have to make all vertices."""
    counts = num_vertices * 2 * _ROW_BYTES * _BUCKET_BYTES / (_SHARE_OF_ROWS * _SHARE_OF_COUNTS)
    return FIXED + max(_LEAST, math.ceil(math.sqrt(counts)))


@dataclass
class Room:
    """The memory that building may take.

    Attributes:
        name: of what is built, for messages.
        limit: bytes.
        given: whether the caller set the limit; else it is what was free.
        reading: bytes that reading a file takes beside.
    """

    name: str
    limit: int
    given: bool
    reading: int = 0

    def left(self, held: int = 0, what: str = "", num_vertices: int = 0, share: float = 1.0) -> int:
        """The bytes left beside what is held, to build a graph of as many vertices as are known.

        Args:
            held: the bytes of what has been read.
            what: that is held, for messages.
            num_vertices: as far as they are known.
            share: how much of the input was read, from 0 for what nobody knows to 1.

        Raises:
            MemoryLimitError: if they are too few.
        """
        beside = least_room(num_vertices) + self.reading
        least = beside + held
        if least > self.limit:
            detail = f"{held:,} bytes of that for {what}" if held else ""
            if share < 1:
                whole = (
                    f", about {math.ceil(held / share):,} for all if the rest is like that" if share else ""
                )
                detail += f" so far; more may come{whole}"
            raise self.refusal(least, detail)
        return self.limit - self.reading - held

    def refusal(self, least: int, what: str = "") -> MemoryLimitError:
        """The error that says the least limit that works, as far as that is known."""
        limit = f"memory_limit is {self.limit:,}" if self.given else f"{self.limit:,} are free"
        advice = "Raise memory_limit" if self.given else "Free some, or take a larger machine"
        detail = f" ({what})" if what else ""
        return MemoryLimitError(
            f"building {self.name} needs at least {least:,} bytes of memory{detail}; {limit}. {advice}"
        )
