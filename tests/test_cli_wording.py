"""Messages of the library in the words of the command line."""

import pytest

from edgewise.cli.wording import in_options


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('give parallel_edges="first", or "min"', 'give --read parallel_edges=first, or "min"'),
        ("With directed=True each line", "With --directed each line"),
        ("make it with directed=False", "make it with --undirected"),
        ("weighted=False leaves them out; weighted=True", "--unweighted leaves them out; --weighted"),
        ("(weighted=False) is smaller", "(--unweighted) is smaller"),
        ("which have ids: columns=(0, 2), counted", "which have ids: --read 'columns=(0, 2)', counted"),
        ("weight_column='a b' takes it", "--read 'weight_column=a b' takes it"),
        ("weight_column= names another", "--read weight_column= names another"),
        ("give delimiter=';' or \"|\"", "give --delimiter ';' or \"|\""),
        ("give format='edgelist'.", "give --format edgelist."),
        ("memory_limit=100 is enough", "--memory-limit 100 is enough"),
        ("give header=False", "give --read header=False"),
        ("pagerank: weighted=True, but the graph", "pagerank: --set weighted=True, but the graph"),
        ("--read header=True was given", "--read header=True was given"),
        ("the id 'directed=False' and \"names=True\"", "the id 'directed=False' and \"names=True\""),
        ("no-names=True, undirected=False, x=1", "no-names=True, undirected=False, x=1"),
        ("; memory_limit is 1. Raise memory_limit, or", "; --memory-limit is 1. Raise --memory-limit, or"),
        ("/a/memory_limit, memory_limit.tsv, my_memory_limit", "/a/memory_limit, memory_limit.tsv, my_memory_limit"),
        ("pagerank: num_threads is 0", "pagerank: --threads is 0"),
        ("delimiter is ''; expected", "--delimiter is ''; expected"),
        ("give delimiter=", "give --delimiter"),
        ("has no option directed, columns: it", "has no option --undirected or --directed, --read columns: it"),
        ("write graph.to_undirected(), or use", "give --undirected, or use"),
        ("an undirected one. graph.to_undirected() makes one", "an undirected one. --undirected makes one"),
        ("Set symmetrize=True to", "Give --set symmetrize=True to"),
        ("it isn't one; give names=True", "it isn't one; give --read names=True"),
    ],
)  # fmt: skip
def test_options_are_named_as_they_are_given(message: str, expected: str) -> None:
    assert in_options(message) == expected


def test_generators_take_their_parameters_by_set() -> None:
    assert in_options("got scale=None, directed=False", "--set") == "got --set scale=None, --undirected"
