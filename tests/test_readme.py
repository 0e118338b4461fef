"""The README's Python runs as it stands, from top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_readme_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    script = tmp_path / "readme.py"  # a file, because programs are reported by file and line
    script.write_text("\n".join(blocks), encoding="utf-8")
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"__name__": "readme", "__file__": str(script)}
    exec(compile(script.read_text(encoding="utf-8"), script, "exec"), names)
    graph, hops, result = names["graph"], names["hops"], names["result"]
    unreached = result.distance == result.distance.max()
    assert (hops.level[unreached] == -1).all() and (~unreached).sum() > 1000
    assert (hops.level[~unreached] == result.distance[~unreached]).all()
    assert hops.level[graph.index_of("firefox-esr")] == 0


def test_files_that_it_links_to_exist() -> None:
    documents = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    assert {"README.md", "gpu.md", "rooms.md", "edge_vertex.md"} <= {document.name for document in documents}
    for document in documents:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


def test_values_for_edges_come_to_their_edges_as_the_guide_says(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
    (block,) = (
        each for each in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "number_edges" in each
    )
    script = tmp_path / "tolls.py"
    script.write_text(f"import numpy as np\nimport edgewise as ew\n{block}", encoding="utf-8")
    names: dict[str, object] = {"__name__": "tolls", "__file__": str(script)}
    exec(compile(script.read_text(encoding="utf-8"), script, "exec"), names)
    assert names["tolls"].tolist() == [5, 6, 7, 6, 5, 7]
    assert names["result"].least.tolist() == [5, 6, 5]
