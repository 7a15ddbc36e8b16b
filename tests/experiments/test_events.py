from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.episodes import At, EpisodeSpec, Outcome, rollout, world_of
from assay.episodes.events import TriggerKind
from assay.experiments import load_experiment
from assay.policies.registry import load_policy
from assay.runs.certificates import ClaimVerdict, claim, judge


@pytest.fixture(scope="module")
def plan() -> dict[tuple[str, str], EpisodeSpec]:
    experiment = load_experiment("events")
    return {(spec.task, spec.condition): spec for spec in experiment.plan(tasks.resolve("libero_goal"), (0,))}


def test_every_trigger_is_used_and_every_task_has_something_of_each_kind(plan):
    moments = {
        event.when.moment for spec in plan.values() for event in spec.perturbations if isinstance(event, At)
    }
    assert moments == set(TriggerKind) - {TriggerKind.STEP}
    for task in tasks.resolve("libero_goal"):
        asks = {spec.labels.get("change") for (where, _), spec in plan.items() if where == task.id}
        assert {"request", "cancel", "interruption"} <= asks
    assert {
        spec.labels["change"] for (_, name), spec in plan.items() if name in ("events/moved", "events/shut")
    } == {"meanwhile"}


def test_controls_have_the_same_time_as_their_variants(plan):
    for task in tasks.resolve("libero_goal"):
        steps = {spec.steps for (where, _), spec in plan.items() if where == task.id}
        assert len(steps) == 1 and None not in steps
    usual = load_experiment("pro").plan(tasks.resolve("libero_goal/8"), (0,))
    assert {spec.steps for spec in usual if spec.condition == "control"} == {None}


def test_claims_hold_what_decides_and_leave_out_looks_and_senses(plan):
    control = claim(plan["libero_goal/8", "control"])
    for name in ("light", "camera", "frozen", "delayed"):
        assert claim(plan["libero_goal/8", f"events/{name}"]).perturbations == control.perturbations == ()
    for name in ("moved", "knocked", "changed", "cancelled", "distractor"):
        spec = plan["libero_goal/8", f"events/{name}"]
        assert claim(spec).perturbations == spec.perturbations


@pytest.mark.parametrize(
    ("policy", "condition", "success"),
    [
        ("unstoppable", "events/cancelled", False),
        ("unstoppable", "events/changed", True),
        ("deaf", "events/changed", False),
        ("glance", "events/moved", False),
        ("glance", "events/cancelled", True),
    ],
)
def test_planted_flaws_show_where_they_should_and_nowhere_else(
    plan, policy: str, condition: str, success: bool
):
    spec = replace(plan["libero_goal/8", condition], steps=180)
    env = world_of(spec.task).open()
    episode = rollout(env, load_policy(policy), spec)
    env.close()
    assert episode.events[0]["step"] is not None
    assert (episode.outcome is Outcome.SUCCESS) == success, episode.error


def test_an_episode_that_was_done_before_its_event_is_no_certificate(plan):
    spec = plan["libero_goal/8", "events/moved"]
    env = world_of(spec.task).open()
    done = rollout(env, load_policy("oracle"), spec)
    env.close()
    assert judge(claim(spec), done).verdict is ClaimVerdict.SOLVED
    missed = replace(done, events=({**done.events[0], "step": None},))
    found = judge(claim(spec), missed)
    assert found.verdict is ClaimVerdict.FAILED and "solved before this event" in found.why
