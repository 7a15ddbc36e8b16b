from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.papers.conftest import exhibit, lines

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome
from assay.episodes.episode import no_trajectory
from assay.extensions.papers.libero_pro.paper import DIMENSIONS, SUITES, load_published
from assay.perturb import Say
from assay.report.papers import PAPERS, PaperError, PaperReport, build_paper
from assay.runs.store import Store

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A run whose episodes succeed on some of its tasks under some conditions."""

    def run(
        name: str,
        succeeds: Callable[[str, str], bool],
        suites: Sequence[str],
        more: Sequence[str] = (),
        before: str = "pro",
    ) -> Path:
        conditions = (CONTROL, *(f"{before}/{each}" for each in (*DIMENSIONS, *more)))
        specs = []
        for suite, task, seed, condition in product(suites, range(3), range(4), conditions):
            changed = condition != CONTROL
            spec = EpisodeSpec(f"{suite}/{task}", seed, experiment="pro", condition=condition)
            labels = {"axis": "world", "plausible": True} if changed else {}
            specs.append(replace(spec, perturbations=(Say(condition),) if changed else (), labels=labels))
        path = tmp_path / f"{name}.assay"
        with Store.writing(path) as store:
            store.plan(specs)
            for number, spec in enumerate(specs, start=1):
                won = succeeds(spec.task.split("/")[0], spec.condition.rpartition("/")[2])
                outcome = Outcome.SUCCESS if won else Outcome.FAILURE
                store.append(number, Episode(outcome, 10, no_trajectory()))
            store.describe(experiment="pro", policy=name)
        return path

    return run


def rows(report: PaperReport, label: str) -> list[dict[str, Any]]:
    (table,) = exhibit(report, label).tables
    return lines(table)


def test_the_leaderboard_has_a_row_for_each_model_and_suite_and_their_means(made: Made):
    moved = made("moved", lambda suite, change: change != "position", ("libero_goal", "libero_10"))
    lost = made("lost", lambda suite, change: change == CONTROL, ("libero_goal",), more=("object+position",))
    report = build_paper("libero-pro", {"moved": moved, "lost": lost})
    found = rows(report, "Leaderboard")
    assert [(row["model"], row["suite"]) for row in found] == [
        ("moved", "libero_goal"),
        ("moved", "libero_10"),
        ("moved", "all"),
        ("lost", "libero_goal"),
    ]
    assert [(row["control"], row["position"], row["total"]) for row in found] == [
        *[(1.0, 0.0, pytest.approx(0.8))] * 3,
        (1.0, 0.0, 0.0),
    ]


def test_models_are_compared_on_shared_episodes_and_unfinished_ones_are_marked(made: Made):
    """One model has an additional condition and has not yet run the last of its episodes."""
    whole = made("whole", lambda suite, change: True, ("libero_goal",))
    part = made("part", lambda suite, change: True, ("libero_goal",), more=("object+position",))
    with Store.writing(part) as store:
        spec = EpisodeSpec("libero_goal/9", 0, experiment="pro")
        store.plan([spec])
    (table,) = exhibit(build_paper("libero-pro", {"whole": whole, "part": part}), "Leaderboard").tables
    assert [row["model"] for row in lines(table)] == ["whole", "part*"]
    size = 12 * (1 + len(DIMENSIONS))
    assert f"whole: n = {size} from 12 starts, {len(DIMENSIONS)} conditions (" in table.note
    assert f"of its {size + 12} episodes those that all runs completed" in table.note
    assert f"* Unfinished, so its numbers may change (part: {size + 12} of {size + 13} planned" in table.note


def test_every_cell_has_an_interval_and_its_gap_from_the_control(made: Made):
    path = made("moved", lambda suite, change: change != "position", ("libero_goal",))
    found = {row["dimension"]: row for row in rows(build_paper("libero-pro", {"moved": path}), "Gaps")}
    position, wording, total = (found[name] for name in ("position", "semantic", "total"))
    assert (position["successes"], position["n"], position["difference"]) == (0, 12, -1.0)
    assert position["its 95 % interval"].high < 0 and position["Holm p"] < 0.01
    assert wording["difference"] == 0.0 and wording["95 % interval"].low > 0.6
    assert (
        total["success"] == pytest.approx(0.8)
        and total["95 % interval"].low < 0.8 < total["95 % interval"].high
    )


def test_published_numbers_are_listed_with_their_source(made: Made):
    path = made("mine", lambda suite, change: True, ("libero_goal",))
    report = build_paper("libero-pro", {"mine": path}, published=True)
    found = rows(report, "Leaderboard")
    pi = {row["suite"]: row for row in found if row["model"] == "Pi0.5"}
    assert {row["source"] for row in pi.values()} == {"published"}
    assert pi["libero_goal"]["position"] == 0.38 and round(pi["all"]["total"], 2) == 0.53
    assert "arXiv:2510.03827" in report.html()
    assert all({suite for suite, _ in cells} == set(SUITES) for cells in load_published()[1].values())


def test_joint_draws_and_frozen_files_have_rows_of_their_own(made: Made):
    runs = {
        name: made(name, lambda suite, change: True, ("libero_goal",), before=f"libero-pro/{name}")
        for name in ("joint", "frozen")
    }
    models = {row["model"] for row in rows(build_paper("libero-pro", runs), "Leaderboard")}
    assert models == {"joint, joint draws", "frozen, frozen files"}


def test_papers_without_published_numbers_are_refused():
    assert PAPERS["libero-para"].make_beside_published is None
    with pytest.raises(PaperError, match="no published numbers for libero-para"):
        build_paper("libero-para", {}, published=True)
