"""Events: perturbations of the instruction, the world or the senses that occur during an episode.

    At(near(0.12), Displace(0.1))       when the end effector comes within 12 cm, the object moves 10 cm away
    At(lifted(0.05), Cancel())          when the object is lifted by 5 cm, the request is cancelled
    At(share(0.4), FrozenCamera())      after 40 % of the demonstrator's time, the camera freezes

Until its trigger becomes true, an episode with events is bit-identical to its control: the same compiled scene,
initial state and random streams. The trigger is evaluated on the state after each control step: if the goal has not
been achieved and the trigger holds, the change occurs before the next observation. If the object to be moved is held,
or its new position is occupied, the event is postponed to the first step at which it is possible. Several events in
an episode occur in order: the trigger of the second is evaluated only after the first has occurred.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
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
    """Condition that a trigger waits for, which determines the meaning of the trigger's value."""

    NEAR = "near"
    """The end effector is within ``value`` metres of an object that the goal still requires to be moved or operated."""
    GRASPED = "grasped"
    """Both fingers have held an object to be moved for ``value`` control steps."""
    LIFTED = "lifted"
    """An object to be moved is held ``value`` metres above its initial height."""
    PLACING = "placing"
    """An object to be moved is held within ``value`` metres (horizontally) of its destination."""
    SUBGOAL = "subgoal"
    """``value`` parts of the goal (atoms, or fixtures that must be opened for them) are done, but not all of them."""
    STEP = "step"
    """``value`` control steps have been executed."""
    SHARE = "share"
    """A fraction ``value`` of the time that the demonstrator needs for the control episode has elapsed."""


_VALID: dict[TriggerKind, tuple[float, float]] = {
    TriggerKind.NEAR: (0.01, 1.0),
    TriggerKind.GRASPED: (1, 1_000),
    TriggerKind.LIFTED: (0.005, 1.0),
    TriggerKind.PLACING: (0.01, 1.0),
    TriggerKind.SUBGOAL: (1, 20),
    TriggerKind.STEP: (1, 100_000),
    TriggerKind.SHARE: (0.01, 3.0),
}
"""Valid range of each trigger's value; integer bounds require an integer."""
BY_TIME = (TriggerKind.STEP, TriggerKind.SHARE)
"""Triggers that depend only on time, not on the state of the world."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Condition under which an event occurs."""

    moment: TriggerKind
    value: float
    """Value in metres, control steps or goal parts, or as a fraction, depending on the kind of trigger."""

    def __post_init__(self) -> None:
        if self.moment not in list(TriggerKind):
            raise PerturbationError(
                f"unknown trigger '{self.moment}'; choose one of {', '.join(TriggerKind)}"
            )
        object.__setattr__(self, "moment", TriggerKind(self.moment))
        low, high = _VALID[self.moment]
        whole = isinstance(low, int)
        if not low <= self.value <= high or (whole and self.value != int(self.value)):
            kind = "an integer" if whole else "a number"
            raise PerturbationError(
                f"{self.moment}: the value is {self.value!r:.40}; expected {kind} from {low:g} to {high:g}"
            )
        object.__setattr__(self, "value", float(self.value))

    def __str__(self) -> str:
        return f"{self.moment}({self.value:g})"


near, grasped, lifted, placing, subgoal, at_step, share = (partial(Trigger, kind) for kind in TriggerKind)
"""Constructors for each kind of trigger, called with the value: ``near(0.12)``, ``at_step(40)``."""

Nested = Annotated[
    Perturbation,
    PlainValidator(lambda value: value if isinstance(value, Perturbation) else from_json(value)),
    PlainSerializer(to_json),
]
"""A perturbation nested inside another perturbation, in its JSON form."""


class MidEpisodeChange(Perturbation):
    """A change that is possible only during an episode, such as knocking an object out of the gripper or cancelling
    the request.
    """

    __slots__ = ()

    def apply(self, task: Any, rng: np.random.Generator) -> NoReturn:
        """Raise PerturbationError, because the change cannot be applied before an episode."""
        raise PerturbationError(f"{self.kind} can occur only during an episode; wrap it in At(trigger, ...)")

    @abstractmethod
    def happen(self, env: Any, rng: np.random.Generator) -> bool:
        """Apply the change in an environment; return False, changing nothing, if it is not possible yet."""


@perturbation
class At(Perturbation):
    """A perturbation that occurs during the episode, when its trigger becomes true."""

    kind = "event/at"
    world = ""

    when: Trigger
    """Trigger of the event."""
    what: Nested
    """Perturbation of the instruction, the world or the senses to apply at that time."""

    def __post_init__(self) -> None:
        """Raise PerturbationError if an event is nested in another event."""
        if isinstance(self.what, At):
            raise PerturbationError("event/at: events cannot be nested; list them in sequence")

    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """Return the task unchanged, because nothing changes until the trigger becomes true."""
        return task

    @property
    def change(self) -> str:  # type: ignore[override]
        """Kind of change, by the required reaction: look again, follow the new request, stop, or continue."""
        if isinstance(self.what, MidEpisodeChange):
            return self.what.change
        if Effect.GOAL in self.what.effects:
            return Change.REQUEST
        moved = Effect.PHYSICS in self.what.effects and self.what.change != Change.CLUTTER
        return Change.MEANWHILE if moved else Change.INTERRUPTION

    @property
    def axis(self) -> str:
        """Axis of the nested perturbation."""
        return self.what.axis

    @property
    def plausible(self) -> bool:
        """Whether success is expected after the nested perturbation."""
        return self.what.plausible

    @property
    def guessable(self) -> bool:  # type: ignore[override]
        """Whether the request can be guessed after the nested perturbation."""
        return self.what.guessable

    @property
    def rebuilds(self) -> bool:
        """Always False, because the episode starts like its control."""
        return False

    @property
    def decides(self) -> bool:
        """Whether the nested perturbation affects solvability."""
        return self.what.decides

    def certified_as(self) -> Perturbation | None:
        """Return the event to certify in place of this one; None if this event cannot affect solvability."""
        certified = self.what.certified_as()
        if certified is None or certified is self.what:
            return None if certified is None else self
        return replace(self, what=certified)

    def hides(self, camera: str) -> bool:
        """Return whether the event completely hides the scene from a camera."""
        return self.what.hides(camera)

    def __str__(self) -> str:
        return f"{self.what.kind} at {self.when}"


class Events:
    """The events of one episode, processed in order."""

    def __init__(self, env: Env, spec: EpisodeSpec, senses: Senses, steps: Callable[[], int]) -> None:
        """Start waiting for the first event. ``env`` has been reset; ``steps`` returns the steps executed since.

        Raises AssayError if the first event can never occur.
        """
        self._env, self._spec, self._senses, self._steps = env, spec, senses, steps
        self._events = [change for change in spec.perturbations if isinstance(change, At)]
        self.happened: list[Happened] = [
            Happened(event=str(event), due=None, step=None, told="") for event in self._events
        ]
        """Whether and when each event occurred."""
        self._begin(0)

    @property
    def pending(self) -> bool:
        """Whether any event has yet to occur."""
        return self._number < len(self._events)

    def after(self, observation: Any) -> Any:
        """Process events after a control step that has not achieved the goal.

        Return the observation after any changes.
        """
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
        """Start waiting for the event with the given index."""
        self._number = number
        if not self.pending:
            return
        event, env = self._events[number], self._env
        alike = sum(earlier.what.kind == event.what.kind for earlier in self._events[:number])
        key = (self._spec.world_seed, "event", self._spec.task, event.what.kind, alike)
        if event.when.moment in BY_TIME:
            due = int(event.when.value)
            if event.when.moment is TriggerKind.SHARE:
                # The demonstrator's time does not depend on the policy's latency.
                control = replace(
                    self._spec.control(),
                    seed=self._spec.world_seed,
                    start=None,
                    experiment="",
                    steps=None,
                    replan=None,
                    latency=0,
                    while_waiting="play",
                )
                demonstrated = demonstrator_steps(control, getattr(env, "states", None))
                due = max(1, round(event.when.value * demonstrated))
            self._holds: Callable[[], bool] = lambda: self._steps() >= due
        else:
            self._holds = env.watch(event.when)
        if isinstance(event.what, Sense):
            sense = event.what
            self._happen: Callable[[], bool] = lambda: self._senses.add(sense, key)
        else:
            self._happen = env.prepare(event.what, stream(*key))


@lru_cache(maxsize=256)
def demonstrator_steps(control: EpisodeSpec, states: Path | None = None) -> int:
    """Return the time that the demonstrator needs for an unperturbed episode, in control steps.

    Raises SpecError if the demonstrator does not solve it.
    """
    from assay.episodes.rollout import rollout

    world = world_of(control.task)
    name = world.traits.demonstrator
    if name is None:
        raise SpecError(f"{control.task}: its world has no demonstrator, so share(...) is undefined")
    env = world.open(states)
    try:
        done = rollout(env, import_object(world_policies(world.traits.name)[name])(), control)
    finally:
        env.close()
    if done.outcome is not Outcome.SUCCESS:
        raise SpecError(
            f"{control.task}, seed {control.seed}: the demonstrator does not solve the unperturbed episode, so "
            "share(...) is undefined"
        )
    return done.steps
