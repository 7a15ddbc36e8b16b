"""Policies with planted flaws on real tables: the reading finds each by its flaw, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.episodes import EpisodeSpec
from assay.experiments import load_experiment
from assay.extensions.tabletop.measures.scores import PromptFlaw
from assay.measures import Flaw, Profile, Verdict, diagnose, profile
from assay.runs.store import Store
from assay.runs.worker import EpisodeRunner, WorkerConfig

CONDITIONS = ("control", "paraphrase", "mask=instruction", "order=permuted")


@pytest.fixture(scope="module")
def plan() -> list[EpisodeSpec]:
    experiment = load_experiment("prompts")
    specs = experiment.plan(experiment.choose("tabletop/T1/L1,tabletop/T2/L1"), range(8))
    return [spec for spec in specs if spec.condition in CONDITIONS]


def measured(path: Path, policy: str, plan: list[EpisodeSpec]) -> Profile:
    stage = EpisodeRunner(WorkerConfig(policy, world="tabletop"))
    with Store.writing(path) as store:
        store.plan(plan)
        for waiting in store.todo():
            (spec,) = store.specs([waiting.number])
            store.append(waiting.number, stage.run(spec))
    stage.close()
    with Store.reading(path) as store:
        return profile(store)


@pytest.mark.parametrize(
    "policy, flaw",
    [("oracle", Flaw.NOTHING), ("promptblind", PromptFlaw.UNTOLD), ("order-follower", PromptFlaw.ORDER)],
)
def test_a_planted_flaw_is_found_and_nothing_else(tmp_path: Path, policy: str, flaw: Flaw, plan):
    found = measured(tmp_path / "run.assay", policy, plan)
    assert found["control"].count == 16 and not found.errors
    assert [each.flaw for each in diagnose(found) if each.verdict is Verdict.FOUND] == [flaw]
