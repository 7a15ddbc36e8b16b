"""Provenance recorded in a run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.episodes import Episode, EpisodeSpec, Outcome, no_trajectory
from assay.errors import RunError
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.provenance import check_same_run, commit_of, describe
from assay.runs.store import Store
from assay.support.plugins import load_plugins


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    return RunPlan.make("libero", RunOptions()).recorded_as("oracle", Path("a.assay")).provenance


def test_run_resumed_on_another_host_records_it_once(here: dict[str, Any], tmp_path: Path):
    elsewhere = here | {"host": "another", "started": "later"}
    with Store.writing(tmp_path / "run.assay") as store:
        for now in (here, here | {"started": "a little later"}, elsewhere, elsewhere):
            describe(store, now)
        assert store.meta["host"] == here["host"]
        assert [each["host"] for each in store.meta["resumed"]] == ["another"]


def _record(store: Store) -> None:
    store.plan([EpisodeSpec("libero_goal/7", 0)])
    store.append(1, Episode(Outcome.FAILURE, 0, no_trajectory()))


def test_run_without_episodes_can_be_replaced(here: dict[str, Any], tmp_path: Path):
    run = tmp_path / "run.assay"
    with Store.writing(run) as store:
        describe(store, here)
        store.plan([EpisodeSpec("libero_goal/7", seed) for seed in range(2)])
        describe(store, here)
        assert store.planned == 2, "the same goes on"
        with pytest.raises(RunError, match="policy oracle, not idle"):
            check_same_run(store, here | {"policy": "idle"})
        check_same_run(store, here | {"policy": "idle"}, empty_is_new=True)
        describe(store, here | {"policy": "idle"})
        assert (store.meta["policy"], store.planned) == ("idle", 0)


def test_parts_of_a_run_may_need_other_plugins_but_no_other_version_of_one(
    here: dict[str, Any], tmp_path: Path
):
    one, two = (
        {"module": name, "distribution": "", "version": "", "digest": "0" * 12} for name in ("one", "two")
    )
    run = tmp_path / "run.assay"
    with Store.writing(run) as store:
        describe(store, here | {"plugins": [two]})
        check_same_run(store, here | {"plugins": [one]})
        describe(store, here | {"plugins": [one]})
        assert store.meta["plugins"] == [one, two]
        _record(store)
        with pytest.raises(RunError, match=f"with plugin two digest={'0' * 12}, not digest={'1' * 12}"):
            check_same_run(store, here | {"plugins": [{**two, "digest": "1" * 12}]})


def test_definitions_of_a_script_are_recorded_and_missing_elsewhere(tmp_path: Path):
    script = tmp_path / "mine.py"
    script.write_text(
        """
from dataclasses import dataclass
import assay
from assay.perturb import Say

@assay.perturbation
class Hush(Say):
    kind = "words/hush"

design = assay.Experiment("hush", "Quiet.", variants=lambda task: (assay.Variant("hush", (Hush("hush"),)),))
run = assay.run(design, policy="idle", tasks="libero_goal/7", seeds=1, steps=1, workers=0, out="run.assay")
assert [each["module"] for each in run.meta["plugins"]] == ["__main__"], run.meta["plugins"]
from assay.support.plugins import load_plugins
assert not load_plugins(run.meta["plugins"]), "here it is at hand"
"""
    )
    subprocess.run([sys.executable, script.name], cwd=tmp_path, check=True)
    with Store.reading(tmp_path / "run.assay") as store:
        (line,) = load_plugins(store.meta["plugins"])
    assert "defined in mine.py" in line and "cannot be replayed" in line


OURS = '[project]\nname = "assay-robotics"\n'
THEIRS = '[project]\nname = "theirs"\ndependencies = ["assay-robotics"]\n'
SITE = ".venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("project", "package", "is_ours"),
    [
        pytest.param(OURS, "src", True, id="our checkout"),
        pytest.param(THEIRS, SITE, False, id="environment in another repository"),
        pytest.param(OURS, SITE, False, id="environment in our checkout, not editable"),
        pytest.param(THEIRS, "src", False, id="copy in another repository"),
        pytest.param(None, "src", False, id="repository without a project"),
    ],
)
def test_commit_is_that_of_our_checkout_only(
    tmp_path: Path, project: str | None, package: str, is_ours: bool
):
    module = tmp_path / package / "assay" / "runs" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.touch()
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    assert commit_of(module) is None, "there is no repository yet"
    somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for command in (["init", "-q"], ["add", "."], [*somebody, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    found = commit_of(module)
    assert re.fullmatch("[0-9a-f]{12}", found or "") if is_ours else found is None
