"""LIBERO-X's tables and figures, from a run of made-up episodes on its five levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extensions.papers.conftest import exhibit, lines

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome
from assay.episodes.episode import Intervals, Trajectory
from assay.episodes.spec import Label
from assay.extensions.papers.libero_x import figures, tables
from assay.extensions.papers.libero_x.tables import load_published
from assay.measures.measure import RunData
from assay.measures.result import MeasureError
from assay.measures.time.timing import within_limit
from assay.measures.world.curves import curve
from assay.perturb import Say
from assay.report.papers import PaperReport, PaperRun, Part, build_paper
from assay.runs.store import Store
from assay.tasks.labels import FAMILIES

Made = Callable[..., Path]
CONDITIONS: Mapping[str, dict[str, Label]] = {
    CONTROL: {},
    "x/level1": {"level": 1},
    "x/level2": {"level": 2},
    "x/level3": {"level": 3},
    "x/level4/unseen": {"level": 4},
    "x/level4/confounding": {"level": 4},
    "x/level5/synonym": {"level": 5, "form": "synonym"},
    "x/level5/passive": {"level": 5, "form": "passive"},
}
TASKS: Mapping[str, dict[str, Label]] = {
    "libero_goal/1": {"label:subtasks": "1", "label:relation": "surface", "label:attribute": "category"},
    "libero_goal/4": {
        "label:subtasks": "3+",
        "label:relation": "surface, container, left-right",
        "label:attribute": "colour, size",
    },
}
"""Two tasks: the second has several labels of a family."""
BOWL, PLATE = "akita_black_bowl_1", "plate_1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run; ``steps`` maps a task and a level to the steps of its successes, 0 for failures."""

    def run(
        name: str,
        steps: Callable[[str, int], int],
        limit: float | None = None,
        contacts: dict[str, Intervals] | None = None,
        labels: Mapping[str, dict[str, Label]] = TASKS,
        reference: int | None = 100,
    ) -> Path:
        specs, episodes = [], []
        timing: dict[str, Label] = {"reference_steps": reference, "limit_factor": limit}
        for task, seed, (condition, own) in product(labels, range(3), CONDITIONS.items()):
            changed = own | labels[task] | {"axis": "world", "plausible": True} if own else {}
            spec = EpisodeSpec(task, seed, experiment="x", condition=condition, labels=changed | timing)
            specs.append(replace(spec, perturbations=(Say(condition),)) if own else spec)
            won = steps(task, int(str(own.get("level", 0))))
            count = won or 200
            hand = np.linspace((0, 0, 1), (0.2, 0.1 * seed, 1), count + 1, dtype=np.float32)
            trajectory = Trajectory(hand, hand[:, 0], np.zeros((count, 7), np.float32))
            outcome, truth = Outcome.SUCCESS if won else Outcome.FAILURE, {f"On {BOWL} {PLATE}": ()}
            episodes.append(Episode(outcome, count, trajectory, truth=truth, contacts=contacts))
        path = tmp_path_factory.mktemp("runs") / f"{name}.assay"
        with Store.writing(path) as store:
            store.plan(specs)
            for number, episode in enumerate(episodes, start=1):
                store.append(number, episode)
            store.describe(experiment="x", policy=name)
        return path

    return run


def declining(task: str, level: int) -> int:
    """Every level takes 15 steps more; the longer task fails from level 4 on."""
    return 0 if level >= 4 and task == "libero_goal/4" else 80 + 15 * level


@pytest.fixture(scope="module")
def report(made: Made) -> PaperReport:
    """Everything, beside what the authors published: drawn once."""
    contacts: dict[str, Intervals] = {"stove_1": ((10, 20),), BOWL: ((30, 50),)}
    return build_paper("libero-x", {"model": made("model", declining, contacts=contacts)}, published=True)


def part(path: Path, make: Callable[..., Iterator[Part]], *args: int) -> list[Any]:
    """One table or figure of a run alone."""
    with Store.reading(path) as store:
        return list(make([PaperRun("model", store.meta, RunData(store))], *args))


def rows(report: PaperReport, label: str, table: int = 0) -> list[dict[str, Any]]:
    """Those of the run."""
    found = lines(exhibit(report, label).tables[table])
    return [row for row in found if row.get("source", "run") == "run"]


def test_no_table_or_figure_is_missing(report: PaperReport):
    assert not [line for section in report.sections for each in section.exhibits for line in each.missing]
    assert "Figure 9. Objects touched under long limits" in report.html()


def test_success_by_level_is_within_the_papers_limit_and_without_one(report: PaperReport):
    found = rows(report, "Table II")
    assert [tuple(row.values())[2:] for row in found] == [
        ("1.1", 1.0, 1.0, 0.0, 0.0, 0.0),
        ("none", 1.0, 1.0, 1.0, 0.5, 0.5),
    ]


def test_a_run_with_a_time_limit_has_no_unlimited_rates(made: Made):
    table, _ = part(made("stopped", declining, limit=1.1), tables.labels_table, 1)
    assert [row["time limit"] for row in lines(table)] == ["1", "1.1"]
    with pytest.raises(MeasureError, match=r"stopped before reaching 1\.1 times"):
        part(made("stopped early", declining, limit=1.0), tables.levels_table)


def test_a_task_that_cannot_be_timed_is_left_out_of_every_table_and_figure(made: Made):
    """One task fails as control and on level 4, but not on level 3: within a limit, no level of it counts."""
    path = made("odd", lambda task, level: 85 if task == "libero_goal/1" or level == 3 else 0, reference=None)

    def counts(make: Callable[..., Iterator[Part]]) -> list[int]:
        return [row["n"] for row in lines(part(path, make)[1]) if row["time limit"] == "1.1"]

    by_level = counts(tables.levels_table)
    assert by_level == [3, 3, 3, 6, 6], "two kinds of level 4, two forms of level 5"
    assert counts(tables.unseen_table)[0] == counts(tables.forms_table)[0] == 6
    with Store.reading(path) as store:
        drawn = curve(within_limit(RunData(store).plausible, 1.1), "level")
    assert [step.rate.count for step in drawn.steps if step.at] == by_level


def test_an_episode_counts_for_each_of_its_labels(report: PaperReport):
    none = rows(report, "Table VIII")[-1]
    assert (none["1 subtask"], none["3+ subtasks"]) == (1.0, 0.0)
    assert (none["surface"], none["container"], none["left-right"]) == (0.5, 0.0, 0.0)
    surface = [row for row in rows(report, "Table VIII", 1) if row["label"] == "surface"][-1]
    assert (surface["successes"], surface["n"]) == (6, 12)
    assert surface["95 % interval"].low < 0.5 < surface["95 % interval"].high


def test_published_numbers_are_listed_with_their_source(report: PaperReport):
    found = lines(exhibit(report, "Table V").tables[0])
    theirs = {(row["model"], row["time limit"]): row for row in found if row["source"] == "published"}
    assert theirs["pi0.5", "1.1"]["3+ subtasks"] == pytest.approx(0.311)
    assert len(theirs) == 20 and load_published().source in exhibit(report, "Table V").tables[0].note
    for level, table in load_published().labels.items():
        for (model, factor), shares in table.items():
            assert list(shares) == [label for known in FAMILIES.values() for label in known]
            if factor is not None and factor > 1.0:
                before = load_published().labels[level][model, 1.0]
                assert all(shares[label] >= before[label] for label in shares), "more time cannot hurt"


def test_contacts_with_other_objects_are_counted_within_each_limit(made: Made):
    late: dict[str, Intervals] = {BOWL: ((30, 50),), "stove_1": ((105, 120),), PLATE: ((130, 140),)}
    path = made("model", lambda task, level: 145, contacts=late)
    found = {row["time limit"]: row for row in lines(part(path, figures.contact_exhibits)[0])}
    assert [found[limit]["objects touched, mean"] for limit in ("1", "1.1", "1.5")] == [1.0, 2.0, 3.0]
    assert [found[limit]["touched another object"] for limit in ("1", "1.1", "1.5")] == [0.0, 1.0, 1.0]
    assert [found[limit]["and still succeeded"] for limit in ("1.1", "1.5")] == [0, 42]


def test_runs_with_one_label_a_family_and_without_contacts_still_report(made: Made):
    """As they were before labels were sets and contacts were recorded."""
    old = {task: {"label:relation": "left-right", "label:subtasks": "3+"} for task in TASKS}
    path = made("old", declining, labels=old)
    table, _ = part(path, tables.labels_table, 1)
    assert [column.name for column in table.columns][2:] == ["3+ subtasks", "left-right"]
    with pytest.raises(MeasureError, match="does not record contacts over time"):
        part(path, figures.contact_exhibits)


def test_the_published_rates_add_up_with_the_counts_of_the_release():
    """Of 600 tasks: a composite one is a placement and a state change too; subtasks exclude one another."""
    for (model, factor), shares in load_published().labels[1].items():
        by_count = (442 * shares["1"] + 112 * shares["2"] + 46 * shares["3+"]) / 600
        by_kind = (573 * shares["placement"] + 57 * shares["state change"] - 30 * shares["composite"]) / 600
        assert by_kind == pytest.approx(by_count, abs=0.001)
        if factor == 1.1:
            assert by_count == pytest.approx(load_published().levels[model, factor]["1"], abs=0.001)
