from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from assay.episodes import At, Episode, EpisodeSpec, Outcome, Trigger, from_json, rollout, to_json, world_of
from assay.episodes.events import TriggerKind, at_step, grasped, lifted, near, placing, share, subgoal
from assay.episodes.stepwise import Stepwise
from assay.errors import PerturbationError, WorldError
from assay.perturb.events import Cancel, Knock
from assay.perturb.senses.images import FrozenCamera
from assay.perturb.senses.robot import ActionDelay
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.words.text import Say
from assay.perturb.world.layout import Distractors
from assay.perturb.world.objects import Remove, Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Relight
from assay.policies.oracle.policy import Oracle
from assay.sim.bare_mujoco import mujoco
from assay.sim.observation import Observation
from assay.sim.world import LiberoEnv

BOWL = EpisodeSpec("libero_goal/8", 0)  # the bowl onto the plate
DRAWER = EpisodeSpec("libero_goal/3", 0)  # the bowl into a drawer that must be opened
OTHER = OtherTask("turn on the stove", ("TurnOn flat_stove_1",))
EVENTS = {
    TriggerKind.NEAR: (BOWL, near(0.1), Displace(0.1)),
    TriggerKind.GRASPED: (BOWL, grasped(2), Cancel()),
    TriggerKind.LIFTED: (BOWL, lifted(0.04), Knock()),
    TriggerKind.PLACING: (BOWL, placing(0.15), Relight(0.5)),
    TriggerKind.SUBGOAL: (DRAWER, subgoal(1), OTHER),
    TriggerKind.STEP: (BOWL, at_step(17), Distractors(1)),
    TriggerKind.SHARE: (BOWL, share(0.2), FrozenCamera(cameras=("agentview",))),
}
"""A task, a trigger and a change for each kind: objects that move, new objects, words, looks, senses."""


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    opened = world_of(BOWL.task).open()
    assert isinstance(opened, LiberoEnv)
    yield opened
    opened.close()


def everything(env: LiberoEnv, seen: Observation) -> np.ndarray:
    """All that decides what comes next, and what is seen of it."""
    state = env.simulation.state()
    drive = () if state.drive is None else (state.drive.warm_start, state.drive.actuators)
    return np.concatenate([state.flat(), *drive, seen.joints, seen.eef_position, seen.moment.qpos])


def states(env: LiberoEnv, spec: EpisodeSpec, actions: np.ndarray) -> tuple[list[np.ndarray], Stepwise]:
    """Everything before each step, as long as nothing has happened."""
    play = Stepwise(env, spec)
    found = []
    for action in actions:
        if env.happened or any(each["step"] is not None for each in play.finish().events):
            break
        found.append(everything(env, play.observation))
        play.step(action)
    return found, play


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, list[np.ndarray]]:
    """The states that the oracle leads through where nothing happens."""
    return {BOWL.task: [], DRAWER.task: []}


@pytest.fixture(scope="module")
def controls(env: LiberoEnv, undisturbed: dict[str, list[np.ndarray]]) -> dict[str, Episode]:
    """What the oracle does there."""

    def played(spec: EpisodeSpec) -> Episode:
        passed = undisturbed[spec.task]
        return rollout(env, Oracle(), spec, watch=lambda seen: passed.append(everything(env, seen)))

    return {spec.task: played(spec) for spec in (BOWL, DRAWER)}


@pytest.mark.parametrize("moment", TriggerKind)
def test_an_episode_equals_its_control_bit_for_bit_until_its_trigger_fires(
    env: LiberoEnv,
    controls: dict[str, Episode],
    undisturbed: dict[str, list[np.ndarray]],
    moment: TriggerKind,
):
    spec, trigger, change = EVENTS[moment]
    actions, control = controls[spec.task].trajectory.actions, undisturbed[spec.task]
    event = At(trigger, change)
    found, play = states(env, replace(spec, condition="event", perturbations=(event,)), actions)
    (happened,) = play.finish().events
    assert happened["step"] is not None and happened["step"] >= (happened["due"] or 0) >= 1
    assert len(found) == happened["step"] < len(control)
    assert all(np.array_equal(one, other) for one, other in zip(found, control, strict=False))


def test_an_event_survives_json():
    for event in (At(near(0.1), Displace(0.1)), At(lifted(0.03), OTHER), At(subgoal(2), ActionDelay(3))):
        assert from_json(to_json(event)) == event and hash(from_json(to_json(event))) == hash(event)
        spec = replace(BOWL, perturbations=(event,))
        assert EpisodeSpec.from_json(spec.to_json()) == spec and spec.scene_key == BOWL.scene_key
    assert to_json(At(near(0.1), Displace(0.1))) == {
        "kind": "event/at",
        "when": {"moment": "near", "value": 0.1},
        "what": {"kind": "world/displace", "distance": 0.1, "thing": ""},
    }
    assert str(At(lifted(0.05), Cancel())) == "words/cancel at lifted(0.05)"


def test_an_invalid_trigger_or_event_is_rejected():
    for made, said in (
        (lambda: Trigger("soon", 1), "choose one of near, grasped"),  # type: ignore[arg-type]
        (lambda: near(0.0), "near: the value is 0.0; expected a number from 0.01 to 1"),
        (lambda: at_step(1.5), "expected an integer from 1 to 100000"),  # type: ignore[arg-type]
        (lambda: At(near(0.1), At(near(0.1), Cancel())), "events cannot be nested"),
        (lambda: Cancel().apply(None, np.random.default_rng(0)), "wrap it in At"),
    ):
        with pytest.raises(PerturbationError, match=said):
            made()


def test_a_trigger_that_can_never_fire_is_rejected_at_the_start(env: LiberoEnv):
    for spec, trigger, said in (
        (BOWL, subgoal(1), r"subgoal=1: the goal of libero_goal/8 has too few unfulfilled parts \(1\)"),
        (EpisodeSpec("libero_goal/7", 0), grasped(2), "requires no object to be moved"),
    ):
        with pytest.raises(PerturbationError, match=said):
            Stepwise(env, replace(spec, perturbations=(At(trigger, Cancel()),)))


@pytest.mark.extensions("tabletop")
def test_a_world_without_events_rejects_them():
    spec = EpisodeSpec("tabletop/T1/L1", 0)
    opened = world_of(spec.task).open()
    with pytest.raises(WorldError, match="the world 'tabletop' supports changes during an episode only"):
        Stepwise(opened, replace(spec, perturbations=(At(at_step(1), Say("stop")),)))
    opened.close()


class Listener:
    """Acts in chunks of four, and notes what it was told when."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.asked: list[int] = []

    def reset(self, instruction, spec) -> None:
        self.heard.append(("reset", instruction.text))

    def act(self, observation) -> np.ndarray:
        self.asked.append(observation.step)
        return np.zeros((4, 7))


class Polite(Listener):
    """Goes on with its chunk."""

    def instruct(self, instruction) -> None:
        self.heard.append(("instruct", instruction.text))


class Eager(Listener):
    """Drops its chunk."""

    def instruct(self, instruction) -> bool:
        self.heard.append(("instruct", instruction.text))
        return True


def test_a_policy_gets_the_new_instruction_and_decides_on_its_chunk(env: LiberoEnv):
    for policy, how, asked in (
        (Listener(), "reset", [0, 4, 6]),
        (Polite(), "instruct", [0, 4, 8]),
        (Eager(), "instruct", [0, 4, 6]),
    ):
        spec = replace(BOWL, condition="event", perturbations=(At(at_step(6), OTHER),), steps=10)
        episode = rollout(env, policy, spec)
        assert policy.heard == [("reset", "put the bowl on the plate"), (how, "turn on the stove")]
        assert policy.asked == asked
        assert (
            episode.instruction == "put the bowl on the plate"
            and episode.events[0]["told"] == "turn on the stove"
        )
        assert list(episode.truth) == ["TurnOn flat_stove_1"]


def test_events_happen_in_order(env: LiberoEnv):
    both = (At(at_step(5), OTHER), At(at_step(3), Cancel("never mind")))
    episode = rollout(env, Listener(), replace(BOWL, condition="event", perturbations=both, steps=60))
    assert [each["step"] for each in episode.events] == [5, 5]
    assert [each["told"] for each in episode.events] == ["turn on the stove", "never mind"]
    assert episode.outcome is Outcome.SUCCESS and episode.steps == 45, "nothing moved for forty steps"


def test_an_event_that_never_comes_is_recorded_as_such(env: LiberoEnv):
    spec = replace(BOWL, condition="event", perturbations=(At(lifted(0.04), Cancel()),), steps=5)
    (event,) = rollout(env, Listener(), spec).events
    assert list(event.values()) == ["words/cancel at lifted(0.04)", None, None, ""]


def test_a_share_of_the_demonstrators_time_is_the_same_however_long_a_policy_thinks(env: LiberoEnv):
    spec = replace(BOWL, condition="event", perturbations=(At(share(0.05), OTHER),), steps=40)
    late = replace(spec, latency=8, while_waiting="hold")
    due = [rollout(env, Listener(), each).events[0]["due"] for each in (spec, late)]
    assert due[0] and due[0] == due[1]


def test_a_held_object_is_neither_removed_nor_exchanged(env: LiberoEnv, controls: dict[str, Episode]):
    for change in (Resize(0.8), Remove()):
        play = Stepwise(env, replace(BOWL, condition="event", perturbations=(At(grasped(2), change),)))
        for action in controls[BOWL.task].trajectory.actions:
            play.step(action)
        (event,) = play.finish().events
        assert event["due"] is not None and event["step"] is None, "the bowl is in the hand until the end"


def test_a_resized_object_stays_in_place_and_waits_until_it_fits(env: LiberoEnv):
    env.reset(BOWL)
    env.step(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]))
    bowl, other = "akita_black_bowl_1", "cream_cheese_1"
    grow = env.prepare(Resize(1.25, bowl), np.random.default_rng(0))
    simulation = env.simulation
    vector = simulation.state().vector.copy()

    def put(name: str, x: float, y: float) -> None:
        joint = simulation.compiled.entities[name].joints[-1]
        first = 1 + int(simulation.model.jnt_qposadr[joint])
        vector[first : first + 2] = x, y
        simulation.overwrite(vector)
        mujoco.mj_forward(simulation.model, simulation.data)

    x, y, _ = simulation.pose(bowl)[0]
    put(other, x, y + 0.05)
    assert not grow(), "the larger bowl would be in the cream cheese"
    assert env.simulation is simulation, "and nothing has happened"
    put(other, x, y + 0.2)
    before = simulation.pose(bowl)[0]
    assert grow() and env.simulation is not simulation
    grown = env.simulation.pose(bowl)[0]
    assert grown[:2] == pytest.approx(before[:2], abs=1e-9)
    for _ in range(10):
        env.step(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]))
    assert env.simulation.pose(bowl)[0] == pytest.approx(grown, abs=0.003), (
        "it neither falls nor is thrown up"
    )
