from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Outcome, task_of
from assay.episodes.episode import Episode, no_trajectory
from assay.perturb import Say
from assay.runs.store import Store
from assay.web.episodes import DIVERGENCE_M, compare_paths
from assay.web.queries import PAGE, Filters, OpenRun, locate, read_choices, read_page, reading

COUNT = 2 * PAGE + 7


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "many.assay"
    specs = [EpisodeSpec("libero_goal/1", 0)] + [
        EpisodeSpec(
            f"libero_goal/{seed % 3}",
            seed,
            condition="words",
            perturbations=(Say(f"100% of no_{seed}"),),
            labels={
                "flag": seed % 2 == 0,
                "level": seed % 5,
                "pd": seed / 7,
                "object": "none",
                "odd.name": None,
            },
        )
        for seed in range(COUNT)
    ]
    with Store.writing(path) as store:
        store.plan(specs)
        for number, spec in enumerate(specs[:-1], start=1):
            outcome = (Outcome.SUCCESS, Outcome.FAILURE)[spec.seed % 2]
            store.append(number, Episode(outcome, 1, no_trajectory(), task_of(spec).instruction.text))
        store.append(1, Episode(Outcome.SUCCESS, 1, no_trajectory(), "the control"))
    return path


@pytest.fixture
def run(path: Path):
    with reading(path) as opened:
        yield opened


def test_pages_end_with_the_last_episode(run: OpenRun):
    found = [read_page(run, Filters(), number=number) for number in (1, 2, 3)]
    assert [len(each["rows"]) for each in found] == [PAGE, PAGE, 7]
    assert [each["before"] for each in found] == [0, PAGE, 2 * PAGE]
    assert {(each["total"], each["page_count"]) for each in found} == {(COUNT, 3)}
    assert read_page(run, Filters(), number=99) == found[2]


def test_neighbours_are_those_of_the_filter_and_the_order(run: OpenRun):
    for sort in ("", "-seed", "outcome"):
        chosen = Filters(task="libero_goal/0", outcome="failure", sort=sort)
        rows = read_page(run, chosen, size=COUNT)["rows"]
        keys = [row.key for row in rows]
        assert len(keys) == len([s for s in range(COUNT - 1) if s % 6 == 3])
        for number, row in enumerate(rows):
            found = locate(run, row, chosen)
            previous, following = (dict(enumerate(keys)).get(number + way) for way in (-1, 1))
            total = len(keys)
            assert found == {"previous": previous, "next": following, "number": number + 1, "total": total}
    assert [row.seed for row in read_page(run, chosen.model_copy(update={"sort": "-seed"}))["rows"]][
        :2
    ] == sorted((row.seed for row in rows), reverse=True)[:2]
    outside = next(row for row in read_page(run, Filters())["rows"] if row.task != "libero_goal/0")
    assert locate(run, outside, chosen)["number"] == 0


def test_filters_select_matching_episodes(run: OpenRun):
    for filters, found in (
        (Filters(condition="control"), 1),
        (Filters(task="libero_goal/0", outcome="success"), len([s for s in range(COUNT - 1) if s % 6 == 0])),
        (Filters(outcome="waiting"), 1),
        (Filters(label="flag=true"), len([s for s in range(COUNT - 1) if s % 2 == 0])),
        (Filters(label="level=3"), len([s for s in range(COUNT - 1) if s % 5 == 3])),
        (Filters(label="odd.name=null"), COUNT - 1),
        (Filters(says="100% of no_1"), len([s for s in range(COUNT - 1) if str(s).startswith("1")])),
        (Filters(says="%no"), 0),
        (Filters(label="flag=1' OR '1"), 0),
    ):
        assert read_page(run, filters)["total"] == found


def test_filter_choices_omit_measurements(path: Path):
    found = read_choices(path)
    assert found["conditions"] == ("control", "words") and set(found["tasks"]) == {
        f"libero_goal/{n}" for n in range(3)
    }
    assert found["labels"] == {
        "flag": ("true", "false"),
        "level": ("0", "1", "2", "3", "4"),
        "odd.name": ("null",),
    }
    assert found["objects"] == ("none",)


def line(steps: int, length: float = 0.5) -> np.ndarray:
    return np.stack([np.linspace(0, length, steps), np.zeros(steps), np.zeros(steps)], axis=1)


def test_a_path_diverges_where_it_is_far_from_the_whole_control_path():
    path = line(200)
    slower = path[np.minimum(np.arange(300) // 2, 199)]
    assert compare_paths(slower, path) == {"step": None, "still": False}, "only the time differs"
    detour = path.copy()
    detour[120:, 1] = DIVERGENCE_M + 0.01
    assert compare_paths(detour, path) == {"step": 120, "still": False}
    still = np.full((50, 3), 0.01)
    assert compare_paths(still, path) == {"step": None, "still": True}
    assert compare_paths(path, still) == {"step": 24, "still": False}
    assert compare_paths(path[:0], path) is None and compare_paths(path, path[:0]) is None
