from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

import assay
from assay.extensions.papers.libero_para.tables import (
    action_means,
    average,
    category_means,
    pride_table,
    scope_means,
    success_table,
)
from assay.measures.measure import RunData
from assay.measures.views.table import Table
from assay.report.papers import Paper, PaperError, PaperReport, PaperRun, PaperSection, build_paper, exhibit
from assay.runs.store import Store


@pytest.fixture(scope="module")
def paper(everything: Path, bare: Path) -> PaperReport:
    return build_paper("libero-para", {"whole": everything, "bare": bare})


@pytest.fixture(scope="module")
def bare(write: Callable[..., Path], made: type, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Paraphrases without trajectories, without controls and without similarities."""
    episodes = [
        made(seed < 2, f"para/{thing}", {"object": thing, "action": action, "axis": "words"}, seed=seed)
        for thing in ("none", "contextual")
        for action in ("addition", "hint")
        for seed in range(4)
    ]
    return write(tmp_path_factory.mktemp("bare") / "bare.assay", episodes)


def read(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "tables" / f"{name}.csv").open()))


def test_exhibits_of_a_run_without_trajectories_name_what_is_missing(paper: PaperReport):
    exhibits = {each.label: each for section in paper.sections for each in section.exhibits}
    assert all(each.tables or each.drawings or each.missing for each in exhibits.values())
    for label in ("Table 4", "Table 16", "Figure 8", "Figure 18", "Figure 19"):
        assert exhibits[label].missing == ("of bare: needs trajectories, but the run has none",)
        assert exhibits[label].tables or exhibits[label].drawings
    assert "Table 4 of bare: needs trajectories" in paper.html()


def test_files_are_named_after_the_paper_and_hold_the_measured_numbers(
    paper: PaperReport, everything: Path, tmp_path: Path
):
    page = paper.write(tmp_path / "out")
    frame = assay.load_run(everything).frame()
    worded = frame.filter(frame["object"].is_not_null())
    whole, bare = read(page.parent, "table-2")
    assert float(whole["LIBERO-Para"]) == pytest.approx((worded["outcome"] == "success").mean())
    drop = float(whole["LIBERO-Para"]) - float(whole["LIBERO-Goal"])
    assert float(whole["drop"]) == pytest.approx(drop)
    assert bare["LIBERO-Goal"] == "" and float(bare["LIBERO-Para"]) == 0.5
    assert (page.parent / "figures" / "figure-6.svg").is_file()
    (near,) = read(page.parent, "table-4")
    shares = [float(near[name]) for name in ("success", "near failures", "far failures", "not judged")]
    assert sum(shares) == pytest.approx(1) and int(near["episodes"]) == len(worded)


def test_models_are_sorted_by_the_overestimate_of_their_success(
    write: Callable[..., Path], made: type, tmp_path: Path
):
    def run(name: str, hard: int) -> Path:
        episodes = [
            made(
                near or seed < hard,
                f"para/{near}",
                {"object": "none", "action": "hint", "pd": pd, "s_k": 1 - pd, "s_t": 1 - pd},
                seed=seed,
            )
            for near, pd in ((True, 0.1), (False, 0.5))
            for seed in range(6)
        ]
        return write(tmp_path / f"{name}.assay", episodes)

    with ExitStack() as opened:
        paths = {"steady": run("steady", 5), "easy": run("easy", 0)}
        stores = {name: opened.enter_context(Store.reading(path)) for name, path in paths.items()}
        (table,) = pride_table([PaperRun(name, {}, RunData(store)) for name, store in stores.items()])
    assert isinstance(table, Table) and [row[0] for row in table.rows] == ["easy", "steady"]
    assert table.rows[0][3] == pytest.approx(1 - (0.1 / 0.6) / 0.5)


def test_means_are_of_cells_and_none_has_the_original():
    cells = {
        ("none", "none"): 1.0,
        ("contextual", "none"): 0.5,
        ("none", "hint"): 0.8,
        ("contextual", "hint"): 0.2,
    }
    assert action_means(cells) == {"none": 0.75, "hint": 0.5}
    assert category_means(cells) == {"pragmatic": 0.5}
    assert scope_means(cells)["object only"] == (0.5, None)
    assert scope_means(cells)["all"][0] == pytest.approx(0.5)
    assert average([cells, {("none", "hint"): 0.4}]) == {("none", "hint"): pytest.approx(0.6)}


def _brief(runs: Sequence[PaperRun]) -> list[PaperSection]:
    return [PaperSection("In brief", "", (exhibit("Table 2", "Success", success_table, runs),))]


BRIEF = Paper("brief", "A paper with one table", _brief)


def test_the_api_writes_a_custom_paper(bare: Path, everything: Path, tmp_path: Path):
    page = assay.load_run(bare).report(tmp_path / "out", everything, paper=f"python:{__name__}:BRIEF")
    assert "everything" in page.read_text() and (tmp_path / "out" / "tables" / "table-2.tex").is_file()


@pytest.mark.parametrize(
    "paper, reason",
    [
        ("libero-para", "of plain: no episode has"),
        ("libero-pro", "no episode of the four suites was run under a condition of pro or libero-pro"),
        ("libero-x", "no episode has level"),
    ],
)
def test_a_run_without_the_papers_episodes_is_refused(write, made, tmp_path: Path, paper: str, reason: str):
    plain = {"plain": write(tmp_path / "plain.assay", [made(True)])}
    with pytest.raises(PaperError, match=f"{paper} can be generated: .*{reason}"):
        build_paper(paper, plain)
