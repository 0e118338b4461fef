"""Reading networks of Transportation Networks for Research; whole files of the test data as they are."""

import warnings
from typing import Any

import golden
import numpy as np
import pytest
from io_cases import edges_of

from edgewise.errors import GraphWarning, ParseError
from edgewise.io import read

METADATA = "<NUMBER OF ZONES> 2\t\n<NUMBER OF NODES> 4\n<NUMBER OF LINKS> 2\n<FIRST THRU NODE> 1\n"
HEADER = "~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\t;\n"
LINKS = "\t1\t2\t900\t1.5\t3\t;\n\t4\t1\t450\t0.25\t2\t;\n"
NETWORK = f"{METADATA}<END OF METADATA>\n\n\n{HEADER}{LINKS}"


def test_networks(file: Any) -> None:
    for name in ("a.tntp", "a.txt", "a.xyz"):
        with pytest.warns(
            GraphWarning, match="'length' became the weights, and other.*: capacity, free_flow_time"
        ):
            graph = read(file(NETWORK, name))
        assert edges_of(graph) == [(1, 2, 1.5), (4, 1, 0.25)]
        assert graph.directed and graph.vertices.tolist() == [1, 2, 3, 4]


def test_what_is_said_is_not_warned_of(file: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert edges_of(read(file(NETWORK, "a.tntp"), weight_column="free_flow_time")) == [
            (1, 2, 3),
            (4, 1, 2),
        ]
        assert edges_of(read(file(NETWORK, "a.tntp"), weight_column=2)) == [(1, 2, 900), (4, 1, 450)]
        assert edges_of(read(file(NETWORK, "a.tntp"), weighted=False, directed=False)) == [
            (1, 2), (1, 4), (2, 1), (4, 1),
        ]  # fmt: skip
        assert read(file(NETWORK, "a.tntp"), weighted=True).weights.tolist() == [1.5, 0.25]


def test_columns_are_the_usual_ones_where_none_are_named(file: Any) -> None:
    links = "1 2 900 1.5 3 0.15 4 0 0 1 ;\n4 1 450 0.25 2 0.15 4 0 0 1;\n".replace("1;", "1 ;")
    graph = read(file(f"{METADATA}<END OF METADATA>\n{links}", "a.tntp"), weight_column="length")
    assert edges_of(graph) == [(1, 2, 1.5), (4, 1, 0.25)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (METADATA + HEADER + LINKS, {}, r":6: got .*; expected metadata, <NAME> value, up to <END OF METADATA>"),
        (METADATA, {}, "has no line <END OF METADATA>"),
        (NETWORK.replace("<NUMBER OF NODES> 4\n", ""), {}, "has no line <NUMBER OF NODES> before <END OF METADATA>"),
        (NETWORK.replace("LINKS> 2", "LINKS> two"), {}, ":3: .*expected <NUMBER OF LINKS> and a number"),
        (NETWORK.replace("LINKS> 2", "LINKS> 3"), {}, "declares 3 entries and holds 2"),
        (NETWORK.replace("\t4\t1\t450", "\t5\t1\t450"), {}, ":10: .*expected an id from 1 to 4"),
        (NETWORK.replace("\t4\t1\t450\t", "\t4\t1\t"), {}, ":10: .*5 columns; expected 6"),
        (NETWORK.replace("\t1\t2\t900\t", "\t1\t2\t"), {}, ":9: .*expected numbers in 5 columns"),
        (NETWORK.replace("0.25", "long"), {}, ":10: .*expected a number as the weight"),
        (NETWORK.replace("0.25", "nan"), {}, ":10: .*expected a (finite|number)"),
        (NETWORK.replace("\tlength", "\tmiles"), {}, "there is no weight 'length'"),
        (NETWORK, {"weight_column": "toll"}, "there is no weight 'toll'"),
        (NETWORK, {"weight_column": 1}, "there is no weight"),
        (NETWORK, {"weight_column": 5}, "there is no weight"),
        (f"{METADATA}<END OF METADATA>\n~ init_node term_node length\n1;2;5\n", {}, ":7: .*by spaces or tabs"),
        (f"{METADATA}<END OF METADATA>\n~ init_node term_node length\n1 2 5;\n", {}, "'5;' in the column 'length'"),
        (NETWORK, {"names": True}, "is read as tntp, which has no option names"),
    ],
)  # fmt: skip
def test_what_is_no_network_is_refused(file: Any, text: str, options: dict, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "a.tntp"), **options)


def test_a_network_without_links(file: Any) -> None:
    text = NETWORK.replace(LINKS, "").replace("LINKS> 2", "LINKS> 0")
    graph = read(file(text, "a.tntp"), weighted=False)
    assert (graph.num_vertices, graph.num_edges) == (4, 0)


@pytest.mark.parametrize("name", ["chicago-regional", "road-NY", "rome99"])
def test_files_of_the_test_data_open_as_they_are(name: str) -> None:
    if name not in golden.NAMES:
        pytest.skip("the test data are not beside the checkout")
    folder, spec = golden._FOUND[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        graph = read(folder / spec["file"], parallel_edges="min")
    expected = golden.load(name).graph
    assert (graph.directed, graph.num_arcs) == (spec["directed"], expected.num_arcs)
    # Ids count from 1 in these files.
    order, other = (np.lexsort((each.targets, each.sources)) for each in (graph, expected))
    ends = [graph.ids_of(each[order]) for each in (graph.sources, graph.targets)]
    for found, wanted in zip(ends, (expected.sources, expected.targets), strict=True):
        np.testing.assert_array_equal(found, expected.ids_of(wanted[other]))
    if spec["weighted"]:
        np.testing.assert_array_equal(np.sort(graph.weights), np.sort(expected.weights))


@pytest.mark.parametrize(
    "header",
    [
        "~ term_node init_node length ;\n",
        "~\tTerm node\tInit node\tLength\t;\n",
        "~ init_node term_node capacity speed\n~ To From LENGTH\n~ veh/h, miles, h\n",
        "~ target source length\n~ 9 9 9 ;\n",
    ],
)
def test_names_of_columns_say_what_they_are(file: Any, header: str) -> None:
    text = f"~ a comment\n{METADATA}~ another\n<END OF METADATA>\n{header}\t1\t2\t0.5\t;\n~ 3 4 1\n4 1 2 ;\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sorted(edges_of(read(file(text, "a.tntp")))) == [(1, 4, 2), (2, 1, 0.5)]
    assert edges_of(read(file(text, "a.tntp"), weight_column="LENGTH"))
