"""What ranks would send one another: partitions of real and of R-MAT graphs, counted on one machine.

`python -m benchmarks.partitions --output FILE.csv` divides each graph among 2 to 1,024 ranks in five ways and counts
what a run would exchange: in one superstep in which all vertices send ("dense"), in all levels of a search ("bfs"),
and in all rounds of shortest paths in which each vertex whose distance fell sends again ("sssp"). Nothing is timed.

Idea. A rank holds arcs, and one rank owns each vertex. Where a rank combines what its arcs say to one target, it
sends one value for each vertex of another rank. Where owners send states to the ranks that have arcs from them, the
owner sends one value to each such rank. Both are the distinct pairs of a rank and a vertex that it does not own.

Partitions:
    ranges: contiguous vertices of about equally many out-arcs; the rank has the out-arcs.
    hashed: vertices by a hash of their numbers; the rank has the out-arcs.
    hubs: as ranges, but vertices of in-degree 4 p or more are combined by an all-reduce among all p ranks. Each rank
        sends 2 (p - 1) / p values for each such vertex, whether it has a message for it or not.
    pull: contiguous vertices of about equally many in-arcs; the rank has the in-arcs, and owners send their states.
    grid: p = r * r ranks in rows and columns. The p ranges are dealt to the ranks row by row. The rank in row i and
        column j has the arcs from the ranges of row i to those of column j: states go along rows, messages along
        columns.

A value takes 4 bytes, and the number of its vertex 4, too. Where that is smaller, two ranks exchange a bitmap over the
owner's vertices in place of numbers.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.graphs import source_of
from benchmarks.options import add_names, numbers
from benchmarks.results import rows_file

FIELDS = (
    "graph", "vertices", "arcs", "run", "source", "partition", "ranks", "rounds", "sent_arcs", "balance",
    "crossing_arcs", "volume", "lower_bound", "largest_volume", "replication", "bytes", "largest_bytes", "messages",
    "hubs",
)  # fmt: skip
#: Ranks of the finest partition. Those of fewer ranks join neighbours of it.
BITS = 10
#: A hub has at least this many in-arcs for each rank. In a random graph, 98% of the ranks have a message for it.
HUB = 4
PARTITIONS = ("ranges", "hashed", "hubs", "pull", "grid")
GRAPHS = ("rmat16", "rmat18", "rmat20", "rmat22", "cnr-2000", "soc-Epinions1-sym", "actor-collab", "road-NE")
#: No shortest paths beyond so many levels of the search: they would take a round for each vertex on a path.
MOST_LEVELS = 100
VALUE = NUMBER = 4
#: The vertices that send, for each round.
Rounds = list[np.ndarray]


@dataclass
class Tally:
    """What the ranks of one partition exchange, summed over rounds.

    Attributes:
        ranks: how many.
        sizes: the vertices of each rank.
        volume, bytes, messages: of all ranks; a message is what one rank sends another in a round.
        largest_volume, largest_bytes: of the rank that sends or receives most, round by round.
        largest_arcs: of the rank that has most arcs of sources that send, round by round.
        crossing: arcs whose ends have different owners.
    """

    ranks: int
    sizes: np.ndarray
    volume: int = 0
    bytes: int = 0
    messages: int = 0
    largest_volume: int = 0
    largest_bytes: int = 0
    largest_arcs: int = 0
    crossing: int = 0
    flows: list[np.ndarray] = field(default_factory=list)

    def exchange(self, rank: np.ndarray, owner: np.ndarray, to_owner: bool) -> None:
        """Count values, each sent between a rank and the owner of a vertex: to the owner, or from it."""
        between, count = _counts(rank * self.ranks + owner, self.ranks**2)
        rank, owner = np.divmod(between, self.ranks)
        bitmap = -(-self.sizes[owner] // 8)
        size = VALUE * count + np.minimum(NUMBER * count, bitmap)
        self.volume += int(count.sum())
        self.bytes += int(size.sum())
        self.messages += len(between)
        sender, receiver = (rank, owner) if to_owner else (owner, rank)
        ends = ((sender, count), (receiver, count), (sender, size), (receiver, size))
        self.flows.append(np.array([np.bincount(*end, self.ranks) for end in ends]))

    def reduce_all(self, vertices: int) -> None:
        """Count an all-reduce of a value for each of these vertices."""
        each = 2 * (self.ranks - 1) * vertices / self.ranks
        self.volume += round(each * self.ranks)
        self.bytes += VALUE * round(each * self.ranks)
        self.flows.append(np.outer([each, each, VALUE * each, VALUE * each], np.ones(self.ranks)))

    def end_round(self, arcs: np.ndarray) -> None:
        """A round ends in which ranks had `arcs` to send along."""
        values, size = np.sum(self.flows, axis=0).reshape(2, -1).max(axis=1) if self.flows else (0, 0)
        self.largest_volume += int(values)
        self.largest_bytes += int(size)
        self.largest_arcs += int(arcs.max())
        self.flows.clear()


def _counts(keys: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, which are less than `most`, and how often each occurs."""
    if len(keys) < most // 8:
        return np.unique(keys, return_counts=True)
    count = np.bincount(keys, minlength=most)
    found = np.flatnonzero(count)
    return found, count[found]


def by_arcs(offsets: np.ndarray, bits: int = BITS) -> np.ndarray:
    """The rank of each vertex among 2**bits, int64: where the middle of its arcs falls. `offsets` are those of rows."""
    twice = offsets[:-1].astype(np.int64) + offsets[1:]
    return np.minimum((twice << bits) // max(2 * int(offsets[-1]), 1), (1 << bits) - 1)


def by_hash(num_vertices: int, bits: int = BITS) -> np.ndarray:
    """The rank of each vertex among 2**bits, int64: the first bits of a multiplicative hash (Fibonacci's)."""
    mixed = np.arange(num_vertices, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


def _distinct(keys: np.ndarray) -> np.ndarray:
    """The distinct ones of sorted keys."""
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def ranks_by_owner(
    graph: ew.Graph, rounds: Rounds, fine: np.ndarray, tallies: Sequence[Tally], hubs: Any, pull: bool
) -> None:
    """Count rounds for a partition in which a rank has the arcs of its vertices.

    Args:
        rounds: the vertices that send, for each round.
        fine: the rank of each vertex, of 2**BITS.
        tallies: one for each number of ranks, which is a power of two; largest first.
        hubs: for each tally, which vertices are combined by an all-reduce, or None.
        pull: whether the rank has in-arcs, so that vertices are sources.
    """
    for active in rounds:
        source, target = arcs_of(graph, active)
        holder, vertex = (target, source) if pull else (source, target)
        holders = fine[holder]
        arcs = np.bincount(holders, minlength=1 << BITS)
        keys = vertex.astype(np.int64) << BITS | holders
        keys.sort()
        bits = BITS
        for number, tally in enumerate(tallies):
            now = tally.ranks.bit_length() - 1
            keys, bits = _distinct(keys >> (bits - now)), now
            shift = BITS - bits
            tally.crossing += int(np.count_nonzero(holders >> shift != fine[vertex] >> shift))
            vertices, rank = keys >> bits, keys & (tally.ranks - 1)
            owner = fine[vertices] >> shift
            away = rank != owner
            if hubs is not None:
                away &= ~hubs[number][vertices]
                tally.reduce_all(np.count_nonzero(hubs[number]))
            tally.exchange(rank[away], owner[away], to_owner=not pull)
            tally.end_round(arcs.reshape(tally.ranks, -1).sum(axis=1))


def ranks_in_grid(graph: ew.Graph, rounds: Rounds, fine: np.ndarray, tallies: Sequence[Tally]) -> None:
    """Count rounds for ranks in a square grid; the arguments are those of `ranks_by_owner`."""
    for active in rounds:
        source, target = arcs_of(graph, active)
        for tally in tallies:
            side = 1 << ((tally.ranks.bit_length() - 1) // 2)
            owner = fine >> (BITS + 1 - tally.ranks.bit_length())
            row, column = owner[source] // side, owner[target] % side
            tally.crossing += int(np.count_nonzero(owner[source] != owner[target]))
            for vertex, other, states in ((source, column, True), (target, row, False)):
                seen = np.zeros(len(fine) * side, np.bool_)
                seen[vertex.astype(np.int64) * side + other] = True
                vertices, place = np.divmod(np.flatnonzero(seen), side)
                own = owner[vertices]
                rank = own // side * side + place if states else place * side + own % side
                away = rank != own
                tally.exchange(rank[away], own[away], to_owner=not states)
            tally.end_round(np.bincount(row * side + column, minlength=tally.ranks))


def places_of(graph: ew.Graph, active: np.ndarray) -> np.ndarray:
    """Where the out-arcs of the listed vertices are."""
    degree = graph.out_degree[active]
    first = graph.offsets[active] - (np.cumsum(degree) - degree)
    return np.repeat(first, degree) + np.arange(degree.sum())


def arcs_of(graph: ew.Graph, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sources and targets of the out-arcs of the listed vertices."""
    if len(active) == graph.num_vertices:
        return graph.sources, graph.targets
    return np.repeat(active, graph.out_degree[active]), graph.targets[places_of(graph, active)]


def dense(graph: ew.Graph) -> Rounds:
    """One superstep, in which all vertices send."""
    return [np.arange(graph.num_vertices)]


def search(graph: ew.Graph) -> Rounds:
    """The vertices of each level of a search from the vertex of largest out-degree."""
    level = ew.bfs(graph, graph.ids_of([source_of(graph)])[0], device="cpu").level
    order = np.argsort(level, kind="stable")
    ends = np.searchsorted(level[order], np.arange(level.max() + 2))
    return [order[first:end] for first, end in itertools.pairwise(ends)]


def relaxation(graph: ew.Graph) -> Rounds:
    """The vertices that send in each superstep of shortest paths from the vertex of largest out-degree: those whose
    distance fell in the superstep before (Bellman 1958)."""
    distance = np.full(graph.num_vertices, np.iinfo(np.int64).max)
    active = np.array([source_of(graph)])
    distance[active] = 0
    rounds = []
    while len(active):
        rounds.append(active)
        source, target = arcs_of(graph, active)
        before = distance.copy()
        np.minimum.at(distance, target, before[source] + graph.weights[places_of(graph, active)])
        active = np.flatnonzero(distance < before)
    return rounds


def tallies_of(graph: ew.Graph, rounds: Rounds, partition: str, ranks: Sequence[int]) -> list[Tally]:
    """What ranks exchange in these rounds, for each number of ranks that the partition has, largest first."""
    offsets, in_degree = graph.offsets, np.bincount(graph.targets, minlength=graph.num_vertices)
    if partition == "pull":
        offsets = np.concatenate([[0], np.cumsum(in_degree)])
    fine = by_hash(graph.num_vertices) if partition == "hashed" else by_arcs(offsets)
    squares = [p for p in ranks if p.bit_length() % 2]
    tallies = [
        Tally(p, np.bincount(fine >> (BITS + 1 - p.bit_length()), minlength=p))
        for p in sorted(squares if partition == "grid" else ranks, reverse=True)
    ]
    if partition == "grid":
        ranks_in_grid(graph, rounds, fine, tallies)
    else:
        hubs = [in_degree >= HUB * tally.ranks for tally in tallies] if partition == "hubs" else None
        ranks_by_owner(graph, rounds, fine, tallies, hubs, partition == "pull")
    return tallies


def rows_of(
    name: str, graph: ew.Graph, run: str, rounds: Rounds, partitions: Sequence[str], ranks: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The rows of one kind of run on one graph."""
    arcs = sum(int(graph.out_degree[active].sum()) for active in rounds)
    in_degree = np.bincount(graph.targets, minlength=graph.num_vertices)
    bounds = {}
    for partition in partitions:
        for tally in tallies_of(graph, rounds, partition, ranks):
            hubs = np.count_nonzero(in_degree >= HUB * tally.ranks) if partition == "hubs" else 0
            places = (
                tally.volume - (tally.ranks - 1) * hubs
            )  # each rank has a place for each hub, and sends it twice
            if partition == "ranges":
                bounds[tally.ranks] = tally.volume
            yield {
                "graph": name,
                "vertices": graph.num_vertices,
                "arcs": graph.num_arcs,
                "run": run,
                "source": source_of(graph) if run != "dense" else "",
                "partition": partition,
                "ranks": tally.ranks,
                "rounds": len(rounds),
                "sent_arcs": arcs,
                "balance": round(tally.largest_arcs * tally.ranks / max(arcs, 1), 3),
                "crossing_arcs": tally.crossing,
                "volume": tally.volume,
                "lower_bound": bounds[tally.ranks] if partition == "hubs" else tally.volume,
                "largest_volume": tally.largest_volume,
                "replication": round(1 + places / graph.num_vertices, 3) if run == "dense" else "",
                "bytes": tally.bytes,
                "largest_bytes": tally.largest_bytes,
                "messages": tally.messages,
                "hubs": hubs if partition == "hubs" else "",
            }


def graph_of(name: str) -> ew.Graph | None:
    """A graph by name: of R-MAT with weights from 1 to 100, or a real one, None where its file is not there."""
    if name.startswith("rmat"):
        return ew.generate.rmat(int(name.removeprefix("rmat")), 16, weights=(1, 100))
    from tests.golden import NAMES, load

    return load(name).graph if name in NAMES else None


def main() -> None:
    """Count, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.partitions", description=(__doc__ or "").split("\n")[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    parser.add_argument(
        "--ranks", type=numbers, default="2,4,8,16,64,256,1024", help="powers of two (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    if any(p & (p - 1) or not 2 <= p <= 1 << BITS for p in options.ranks):
        parser.error(f"--ranks are {options.ranks}; expected powers of two from 2 to {1 << BITS}")
    with rows_file(options.output, FIELDS, 1, on_gpu=False) as write:
        for name in options.graphs:
            graph = graph_of(name)
            if graph is None:
                print(f"{name}: its file is not there", flush=True)
                continue
            runs = {"dense": (dense, PARTITIONS), "bfs": (search, PARTITIONS)}
            if len(search(graph)) <= MOST_LEVELS:
                runs["sssp"] = (relaxation, ("ranges", "grid"))
            for run, (rounds, partitions) in runs.items():
                for row in rows_of(name, graph, run, rounds(graph), partitions, options.ranks):
                    write(row)
                print(f"{name} {run}", flush=True)


if __name__ == "__main__":
    main()
