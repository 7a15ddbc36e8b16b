from __future__ import annotations

from pathlib import Path

import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.episodes.spec import CONTROL, EpisodeSpec
from assay.measures import compare
from assay.perturb import Say
from assay.runs.store import Store
from assay.web.contrast import contrast


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of four seeds: control, three wordings, and nonsense; the second fails but at nonsense."""
    paths = tmp_path / "a.assay", tmp_path / "b.assay"
    for path, good in zip(paths, (True, False), strict=True):
        with Store.writing(path) as store:
            store.plan(
                EpisodeSpec(
                    "libero_goal/1",
                    seed,
                    experiment="made",
                    condition=condition,
                    perturbations=() if condition == CONTROL else (Say(f"{condition} {word}"),),
                    labels={"plausible": False} if condition == "xxx" else {},
                )
                for seed in range(4)
                for condition, words in ((CONTROL, 1), ("c", 3), ("xxx", 1))
                for word in range(words)
            )
            for each, spec in [(each, store.specs([each.number])[0]) for each in store.todo()]:
                won = good != (spec.condition == "xxx")
                outcome = Outcome.SUCCESS if won else Outcome.FAILURE
                store.append(each.number, Episode(outcome, 9, no_trajectory(), each.key))
    return paths


def test_the_pages_compare_as_the_measures_do(runs: tuple[Path, Path]):
    found = contrast(*runs)
    with Store.reading(runs[0]) as one, Store.reading(runs[1]) as other:
        assert found == compare({"A": one.frame(), "B": other.frame()})
    assert (found.overall[0].count, found.overall[0].change) == (16, -1.0)
    assert [(each.condition, each.change) for each in found.implausible] == [("xxx", 1.0)]
    assert found.overall[0].p == pytest.approx(2 / 2**4), "four starts are four witnesses"
