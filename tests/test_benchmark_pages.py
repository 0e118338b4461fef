"""Pages show no wrong answers of edgewise, and mark those of rivals; tables go into their own places only."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import page, page_docs, page_gpu, page_tables, scaling_tables
from benchmarks.papers.command import options_of
from benchmarks.table import fill, filled, show

COMMITTED = page_tables.csv_rows
#: The files of the pages whose rows say whether answers are right.
JUDGED = (
    page.CPU, page.LAYERS, page_gpu.GPU, page_gpu.H100, page_gpu.CLUSTERS, page_gpu.AUTOMATIC,
    page_tables.CENTRALITIES, page_tables.CORES_AND_TRIANGLES,
    page_tables.READING, page_tables.CUGRAPH, page_tables.BEYOND, page_docs.LARGE, *page_docs.THREADS,
    page_tables.DISTRIBUTED, page_tables.ALGORITHMS, page_tables.DISTRIBUTED_GPU,
    page_tables.GRID, page_tables.NETWORKX, page_tables.NETWORKX_ON_GPU,
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


@pytest.mark.parametrize(
    "path", [page.CPU, page_gpu.AUTOMATIC, page_tables.CUGRAPH, page_tables.DISTRIBUTED_GPU]
)
def test_files_that_lack_a_row_of_a_table_are_told_of(path, monkeypatch):
    def rows(read):
        found = COMMITTED(read)
        searches = [row for row in found if "bfs" in (row.get("algorithm"), row.get("program"))]
        return [row for row in found if read != path or row is not searches[0]]

    monkeypatch.setattr(page_tables, "csv_rows", rows)
    with pytest.raises(SystemExit, match=rf"{path.name}.*: no table can be made"):
        page.documents()


def test_files_with_a_row_twice_are_refused(monkeypatch):
    monkeypatch.setattr(page_tables, "csv_rows", lambda path: COMMITTED(path) + COMMITTED(path)[:1])
    with pytest.raises(SystemExit, match=r"rows 1 and \d+ are both of"):
        page.documents()


def test_what_is_said_of_answers_is_what_rows_say():
    rows = [{"right": "True"}, {"right": "False"}, {"right": ""}]
    assert page_tables.said_of_answers(rows[:1]) == "Every answer was right."
    assert page_tables.said_of_answers(rows) == "2 of 3 answers were wrong, none of edgewise."
    assert [page_tables.marked("1", verdict) for verdict in (True, "yes", "", False, "differs by 2")] == [
        "1", "1", "1", "1 (wrong)", "1 (differs)",
    ]  # fmt: skip


MADE = {"one": "| 1 |", "two": "| 2 |"}
TEXT = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\nc\n"


def test_tables_are_put_into_their_places_only(tmp_path):
    text = "a\n<!-- one -->\n| 1 |\n<!-- end -->\nb\n<!-- two -->\n| 2 |\n<!-- end -->\nc\n"
    assert fill(TEXT, MADE) == fill(text, MADE) == text
    document = tmp_path / "page.md"
    document.write_text(TEXT)
    show(MADE, document)
    assert document.read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("old\n<!-- end -->\n", ""),  # up to the end of the other table there is text
        TEXT.replace("<!-- two -->\n<!-- end -->\n", "<!-- two -->\n"),
        TEXT.replace("<!-- two -->\n", ""),
        TEXT + TEXT,
        "another page\n",
        None,
    ],
    ids=["no end", "no last end", "no place", "twice", "another page", "no file"],
)
def test_a_page_that_lacks_a_place_is_refused_and_kept(text, tmp_path):
    document = tmp_path / "page.md"
    if text is not None:
        document.write_text(text)
    with pytest.raises(SystemExit, match=r"page.md: .*name the page of these tables"):
        show(MADE, document)
    assert text is None or document.read_text() == text


def test_no_paper_takes_the_page_of_another():
    results, pages = page.RESULTS / "papers", page.ROOT / "docs" / "papers"
    rows = {path.name.partition("-")[0]: path for path in results.glob("*.csv")}
    assert set(rows) == {path.stem for path in pages.glob("*.md")}
    for paper, path in rows.items():
        plots = import_module(f"benchmarks.papers.{paper}_plots")
        found = plots.Found(path)
        made = plots.placed(found, path.name) if paper == "graffix" else plots.blocks(found)
        for other in rows:
            if other == paper:
                filled(pages / f"{other}.md", made)
            else:
                with pytest.raises(SystemExit, match=rf"{other}.md: has 0 lines <!--"):
                    filled(pages / f"{other}.md", made)


@pytest.mark.parametrize("program", [page, scaling_tables])
@pytest.mark.parametrize(("option", "status"), [("--help", 0), ("--no-such", 2)])
def test_programs_of_pages_know_help_and_no_other_option(program, option, status, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", option])
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: pytest.fail("written"))
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == status


def test_a_document_is_only_for_what_is_drawn(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["program", "--document", "page.md", "--output", "rows.csv"])
    with pytest.raises(SystemExit):
        options_of(argparse.ArgumentParser(), "", "", ())
    assert "--document is for --plot" in capsys.readouterr().err
