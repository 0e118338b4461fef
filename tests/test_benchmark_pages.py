"""Pages show no wrong answers of edgewise, and mark those of rivals."""

import pytest

from benchmarks import page, page_gpu, page_tables

COMMITTED = page_tables.csv_rows
#: The files of the pages whose rows say whether answers are right.
JUDGED = (
    page.CPU, page.LAYERS, page_gpu.GPU, page_gpu.CLUSTERS, page_gpu.AUTOMATIC, page_gpu.EARLIER,
    page_tables.CENTRALITIES, page_tables.READING, page_tables.CUGRAPH, page_tables.BEYOND, page_tables.LARGE,
    page_tables.DISTRIBUTED, page_tables.ALGORITHMS, page_tables.DISTRIBUTED_GPU, page_tables.DISTRIBUTED_H100,
    page_tables.GRID, page_tables.NETWORKX,
)  # fmt: skip


@pytest.fixture
def changed(monkeypatch):
    """Makes pages read a file with other verdicts, of edgewise or of rivals."""

    def change(path, verdict, ours):
        def rows(read):
            found = COMMITTED(read)
            column = "right" if "right" in found[0] else "verified"
            for row in found if read == path else ():
                if page_tables.is_ours(row) == ours:
                    row[column] = verdict
            return found

        monkeypatch.setattr(page_tables, "csv_rows", rows)

    return change


@pytest.mark.parametrize("path", JUDGED, ids=lambda path: path.name)
@pytest.mark.parametrize("verdict", ["no", "False"])
def test_wrong_answers_of_edgewise_are_on_no_page(path, verdict, changed):
    changed(path, verdict, ours=True)
    with pytest.raises(SystemExit, match=rf"{path.name}: row \d+ \(.*edgewise '{verdict}'.* measure again"):
        page.documents()


def test_answers_that_were_not_compared_are_on_no_page_but_of_two_files(changed):
    for path in JUDGED:
        changed(path, "", ours=True)
        if path in (page.LAYERS, page_tables.NETWORKX):
            page.documents()
        else:
            with pytest.raises(SystemExit, match=path.name):
                page.documents()


@pytest.mark.parametrize(
    ("path", "name", "places"),
    [
        (page.CPU, "README.md", ["on a cpu", "more on a cpu"]),
        (page_tables.CENTRALITIES, "docs/benchmarks.md", ["centralities"]),
        (page_tables.READING, "docs/benchmarks.md", ["reading"]),
        (page_tables.CUGRAPH, "docs/benchmarks.md", ["cugraph"]),
        (page_tables.BEYOND, "docs/benchmarks.md", ["beyond"]),
        (page_tables.NETWORKX, "docs/networkx.md", ["functions of networkx"]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_wrong_answers_of_rivals_are_marked(path, name, places, changed):
    changed(path, "no", ours=False)
    made = page.documents()[name]
    assert all("wrong)" in made[place] for place in places)
    assert not any("Every answer was right." in made[place] for place in places)


def test_what_is_said_of_answers_is_what_rows_say():
    rows = [{"right": "True"}, {"right": "False"}, {"right": ""}]
    assert page_tables.said_of_answers(rows[:1]) == "Every answer was right."
    assert page_tables.said_of_answers(rows) == "2 of 3 answers were wrong, none of edgewise."
    assert [page_tables.marked("1", verdict) for verdict in (True, "yes", "", False, "differs by 2")] == [
        "1", "1", "1", "1 (wrong)", "1 (differs)",
    ]  # fmt: skip
