"""Events: perturbations of the words, the world or the senses that happen during an episode.

    At(near(0.12), Displace(0.1))       when the end effector comes within 12 cm, the object moves 10 cm away
    At(lifted(0.05), Cancel())          when it is lifted, the request is cancelled
    At(share(0.4), FrozenCamera())      after 40 % of the demonstrator's time, the camera freezes

Until its trigger comes true an episode with events is its control, to the bit: the same compiled scene, initial state
and random streams; all that an event does before is to look. The state after a control step is looked at: where the
goal is not reached by then and the trigger holds, the change happens before the policy sees anything more. Where what
it moves is held, or its new place is taken, it waits for the first step at which that is no longer so. Several events
of an episode happen in their order: the second is waited for when the first has happened.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from assay.episodes.episode import Happened, Outcome
from assay.episodes.perturbation import Change, Effect, Perturbation, from_json, perturbation, to_json
from assay.episodes.senses import Sense, Senses
from assay.episodes.spec import EpisodeSpec
from assay.episodes.world import Env, world_of, world_policies
from assay.errors import PerturbationError, SpecError
from assay.support.plugins import import_object
from assay.support.streams import stream


class TriggerKind(StrEnum):
    """What a trigger waits for, and what its number means."""

    NEAR = "near"
    """The end effector is within ``value`` metres of an object that the goal still requires to be moved or operated."""
    GRASPED = "grasped"
    """Both fingers have held such an object for ``value`` control steps."""
    LIFTED = "lifted"
    """Such an object is held ``value`` metres above its initial height."""
    PLACING = "placing"
    """Such an object is held within ``value`` metres (horizontally) of its destination."""
    SUBGOAL = "subgoal"
    """``value`` atoms of the goal, or fixtures that must be opened for it, are done, and not all of it."""
    STEP = "step"
    """``value`` control steps are done."""
    SHARE = "share"
    """A share ``value`` of the demonstrator's time for the control is over."""


_VALID: dict[TriggerKind, tuple[float, float]] = {
    TriggerKind.NEAR: (0.01, 1.0),
    TriggerKind.GRASPED: (1, 1_000),
    TriggerKind.LIFTED: (0.005, 1.0),
    TriggerKind.PLACING: (0.01, 1.0),
    TriggerKind.SUBGOAL: (1, 20),
    TriggerKind.STEP: (1, 100_000),
    TriggerKind.SHARE: (0.01, 3.0),
}
"""The numbers that each takes; whole ones where they are whole here."""
BY_TIME = (TriggerKind.STEP, TriggerKind.SHARE)
"""Triggers that need no look at the world."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What an event waits for."""

    moment: TriggerKind
    value: float
    """Metres, control steps, parts of a goal or a share, as the kind of trigger has it."""

    def __post_init__(self) -> None:
        if self.moment not in list(TriggerKind):
            raise PerturbationError(f"there is no trigger '{self.moment}'; valid: {', '.join(TriggerKind)}")
        object.__setattr__(self, "moment", TriggerKind(self.moment))
        low, high = _VALID[self.moment]
        whole = isinstance(low, int)
        if not low <= self.value <= high or (whole and self.value != int(self.value)):
            kind = "whole numbers " if whole else ""
            raise PerturbationError(f"{self.moment}: {self.value!r:.40}; valid: {kind}{low:g} to {high:g}")
        object.__setattr__(self, "value", float(self.value))

    def __str__(self) -> str:
        return f"{self.moment}({self.value:g})"


def near(metres: float) -> Trigger:
    """The end effector comes within ``metres`` of a goal object."""
    return Trigger(TriggerKind.NEAR, metres)


def grasped(steps: int = 2) -> Trigger:
    """A goal object has been held for ``steps`` control steps."""
    return Trigger(TriggerKind.GRASPED, steps)


def lifted(metres: float = 0.03) -> Trigger:
    """A goal object is held ``metres`` above its initial height."""
    return Trigger(TriggerKind.LIFTED, metres)


def placing(metres: float = 0.15) -> Trigger:
    """A goal object is held within ``metres`` of its destination."""
    return Trigger(TriggerKind.PLACING, metres)


def subgoal(parts: int = 1) -> Trigger:
    """``parts`` of the goal have become true."""
    return Trigger(TriggerKind.SUBGOAL, parts)


def at_step(step: int) -> Trigger:
    """``step`` control steps are done."""
    return Trigger(TriggerKind.STEP, step)


def share(part: float) -> Trigger:
    """A share ``part`` of the demonstrator's time is over."""
    return Trigger(TriggerKind.SHARE, part)


Nested = Annotated[
    Perturbation,
    PlainValidator(lambda value: value if isinstance(value, Perturbation) else from_json(value)),
    PlainSerializer(to_json),
]
"""A perturbation within another one, as JSON has it."""


class MidEpisodeChange(Perturbation):
    """A change that makes sense during an episode alone: something is knocked from the hand, a request taken back."""

    __slots__ = ()

    def apply(self, task: Any, rng: np.random.Generator) -> NoReturn:
        """Raise PerturbationError: before an episode there is nothing that it could happen to."""
        raise PerturbationError(f"{self.kind} happens during an episode: valid inside At(trigger, ...)")

    @abstractmethod
    def happen(self, env: Any, rng: np.random.Generator) -> bool:
        """Let it happen in an environment of its world; False where it cannot yet, and then nothing is changed."""


@perturbation
@dataclass(frozen=True, slots=True)
class At(Perturbation):
    """A perturbation that happens during the episode, when its trigger comes true."""

    kind = "event/at"
    world = ""

    when: Trigger
    """What it waits for."""
    what: Nested
    """What happens then: any perturbation of the words, the world or the senses."""

    def __post_init__(self) -> None:
        """Raise PerturbationError for an event within an event."""
        if isinstance(self.what, At):
            raise PerturbationError(
                "event/at: an event cannot wait for another; valid: two of them, in order"
            )

    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """The task itself: until the trigger comes true, nothing is changed."""
        return task

    @property
    def change(self) -> str:  # type: ignore[override]
        """The reaction it requires of a policy: look again, listen again, stop, or continue."""
        if isinstance(self.what, MidEpisodeChange):
            return self.what.change
        if Effect.GOAL in self.what.effects:
            return Change.REQUEST
        moved = Effect.PHYSICS in self.what.effects and self.what.change != Change.CLUTTER
        return Change.MEANWHILE if moved else Change.INTERRUPTION

    @property
    def axis(self) -> str:
        """That of what happens."""
        return self.what.axis

    @property
    def plausible(self) -> bool:
        """if what happens is"""
        return self.what.plausible

    @property
    def guessable(self) -> bool:  # type: ignore[override]
        """if what happens is"""
        return self.what.guessable

    @property
    def rebuilds(self) -> bool:
        """Never: the episode begins as its control does."""
        return False

    @property
    def decides(self) -> bool:
        """Whether what happens does."""
        return self.what.decides

    def certified_as(self) -> Perturbation | None:
        """What stands for it when it is shown that the episode can be solved, from the event on."""
        stands = self.what.certified_as()
        if stands is None or stands is self.what:
            return None if stands is None else self
        return replace(self, what=stands)

    def hides(self, camera: str) -> bool:
        """Whether nothing is to be seen through a camera from then on."""
        return self.what.hides(camera)

    def __str__(self) -> str:
        return f"{self.what.kind} at {self.when}"


class Events:
    """The events of one episode, waited for one after the other."""

    def __init__(self, env: Env, spec: EpisodeSpec, senses: Senses, steps: Callable[[], int]) -> None:
        """``env`` has been reset, ``steps`` counts the control steps since.

        Raises AssayError if the first event can never happen.
        """
        self._env, self._spec, self._senses, self._steps = env, spec, senses, steps
        self._events = events_of(spec.perturbations)
        self.happened: list[Happened] = [
            Happened(event=str(event), due=None, step=None, told="") for event in self._events
        ]
        """Whether and when each of them came to pass."""
        self._begin(0)

    @property
    def pending(self) -> bool:
        """Whether one is still to come."""
        return self._number < len(self._events)

    def after(self, observation: Any) -> Any:
        """To be called after every control step that has not reached the goal; what is to be seen then."""
        while self.pending:
            now = self.happened[self._number]
            if now["due"] is None:
                if not self._holds():
                    break
                now["due"] = self._steps()
            instruction = self._env.task.instruction
            if not self._happen():
                break
            now["step"] = self._steps()
            if self._env.task.instruction is not instruction:
                now["told"] = self._env.task.instruction.words
            if not isinstance(self._events[self._number].what, Sense):
                observation = self._env.observe()
            self._begin(self._number + 1)
        return observation

    def _begin(self, number: int) -> None:
        """Wait for an event from now on."""
        self._number = number
        if not self.pending:
            return
        event, env = self._events[number], self._env
        alike = sum(earlier.what.kind == event.what.kind for earlier in self._events[:number])
        key = (self._spec.world_seed, "event", self._spec.task, event.what.kind, alike)
        if event.when.moment in BY_TIME:
            due = _due(event.when, env, self._spec)
            self._holds: Callable[[], bool] = lambda: self._steps() >= due
        else:
            self._holds = env.watch(event.when)
        if isinstance(event.what, Sense):
            sense = event.what
            self._happen: Callable[[], bool] = lambda: self._senses.add(sense, key)
        else:
            self._happen = env.prepare(event.what, stream(*key))


def events_of(perturbations: Iterable[Perturbation]) -> tuple[At, ...]:
    """The events among some perturbations."""
    return tuple(perturbation for perturbation in perturbations if isinstance(perturbation, At))


def _due(trigger: Trigger, env: Any, spec: EpisodeSpec) -> int:
    """The control step at which a trigger holds that goes by time alone."""
    if trigger.moment is TriggerKind.STEP:
        return int(trigger.value)
    usual = replace(
        spec.control(),
        seed=spec.world_seed,
        start=None,
        experiment="",
        steps=None,
        replan=None,
        latency=0,  # the demonstrator's time is its own, however long a policy thinks
        while_waiting="play",
    )
    return max(1, round(trigger.value * demonstrator_steps(usual, getattr(env, "states", None))))


@lru_cache(maxsize=256)
def demonstrator_steps(control: EpisodeSpec, states: Path | None = None) -> int:
    """The demonstrator's time for an unchanged episode, control steps. Raises SpecError where it does not solve it."""
    from assay.episodes.rollout import rollout

    world = world_of(control.task)
    name = world.traits.demonstrator
    if name is None:
        raise SpecError(f"{control.task}: its world has no demonstrator, and so no share of its time")
    env = world.open(states)
    try:
        done = rollout(env, import_object(world_policies(world.traits.name)[name])(), control)
    finally:
        env.close()
    if done.outcome is not Outcome.SUCCESS:
        raise SpecError(
            f"{control.task}, seed {control.seed}: the demonstrator does not solve it unchanged, so there is no share "
            "of its time"
        )
    return done.steps
