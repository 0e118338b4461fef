"""Words of an array in which the threads of a kernel write what others have to know; each has one meaning."""

#: How many words of 64 bits a cache line has on a GPU, and on a CPU. A thread that waits for a word does not slow down
#: those that change other lines.
LINE, CPU_LINE = 16, 8


class Allocator:
    """Gives out words of an array, so that none has two meanings.

    Attributes:
        size: how many words were given out, at last the length of the array.
        line: how many words a cache line has.
    """

    def __init__(self, size: int, line: int = LINE) -> None:
        self.size, self.line = size, line

    @property
    def lines_size(self) -> int:
        """How many words there are in the cache lines that have those given out."""
        return self.size + -self.size % self.line

    def take(self, count: int = 1) -> int:
        """Give out `count` words; the index of the first."""
        first = self.size
        self.size += count
        return first

    def take_line(self, count: int = 1) -> int:
        """Give out `count` words that begin a cache line; the index of the first."""
        self.size = self.lines_size
        return self.take(count)

    def more(self) -> "Allocator":
        """An allocator of the words behind these, for one of several kernels that share the first words."""
        return Allocator(self.size, self.line)
