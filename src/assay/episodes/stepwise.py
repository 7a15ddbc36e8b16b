"""One episode, step by step: the caller owns the loop, calls `step`, and receives the record at the end.

`rollout` is one such loop. Gymnasium, LeRobot, vla-eval and scripts for LIBERO bring their own loops:

    play = Stepwise(env, spec)
    while not play.over:
        play.step(policy(play.observation, play.instruction))
    episode = play.finish()

All loops give bit-identical episodes, because they share one code path: the action is rounded to single precision,
in which it is stored; perturbations of the senses change it, depending on the step number; the world executes it;
the goal is evaluated; if it has not been achieved, events may occur (`events`); perturbations of the senses change
the observation. This module draws no random numbers and renders no images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from assay.episodes.episode import Episode, Outcome, Stages, atom_progress, no_trajectory
from assay.episodes.events import At, Events
from assay.episodes.senses import Senses
from assay.episodes.spec import EpisodeSpec, Instruction
from assay.episodes.world import Env
from assay.errors import PolicyError, SpecError, StateError, short_traceback

NOT_HERE = "latency is simulated only in Assay's episode loop, not in external loops"
CLIP_TOLERANCE = 1e-3
"""Tolerance for rounding errors at the bounds [-1, 1]."""


class Stepwise:
    """A running episode. ``watch`` receives every observation before perturbations of the senses are applied."""

    def __init__(
        self,
        env: Env,
        spec: EpisodeSpec,
        *,
        watch: Callable[[Any], None] = lambda observation: None,
        waits: bool = False,
    ) -> None:
        """Start the episode of a spec. Raises AssayError if it cannot be started.

        ``waits``: whether the caller simulates the spec's latency, which only `rollout` does.
        """
        if spec.latency and not waits:
            raise SpecError(NOT_HERE)
        self.env, self.spec = env, spec
        self._watch = watch
        self._senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
        self.actions: list[np.ndarray] = []
        """The policy's actions so far, each (action size,), in single precision."""
        self._absolute = False
        self.horizon = env.world.horizon(spec)
        """Maximum number of control steps."""
        self.succeeded = False
        """Whether the goal held after the last step."""
        self._events: Events | None = None
        self.observation = self.sense(env.reset(spec))
        """The policy's current observation."""
        self._first_instruction = env.task.instruction.words
        if any(isinstance(change, At) for change in spec.perturbations):
            self._events = Events(env, spec, self._senses, lambda: self.steps)

    @property
    def instruction(self) -> Instruction:
        """The current instruction, which an event may change."""
        current: Instruction = self.env.task.instruction
        return current

    @property
    def steps(self) -> int:
        """Number of control steps executed."""
        return len(self.actions)

    @property
    def truncated(self) -> bool:
        """Whether the time limit was reached without success."""
        return not self.succeeded and self.steps >= self.horizon

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.succeeded or self.steps >= self.horizon

    def step(self, action: object, *, absolute: bool = False) -> Any:
        """Execute one action, (action size,), which is an absolute pose if ``absolute`` is True.

        Return the policy's next observation. Raises PolicyError for an invalid action, StateError after the end of the
        episode, and any error from the simulation.
        """
        if self.over:
            raise StateError(
                f"{self.spec.task}: the episode is over after {self.steps} steps; call reset first"
            )
        size = self.env.world.action_size
        try:
            chosen = np.asarray(action, np.float32)
        except (TypeError, ValueError):
            raise PolicyError(f"expected an action of {size} numbers, got {type(action).__name__}") from None
        if chosen.shape != (size,) or not np.isfinite(chosen).all():
            raise PolicyError(f"the action has shape {chosen.shape}; expected {size} finite numbers")
        return self.advance(chosen, absolute=absolute)

    def advance(self, action: np.ndarray, *, absolute: bool = False) -> Any:
        """Execute a float32 action like `step`, but without validation and even after the end of the episode."""
        sent = self._senses.act(action, self.steps, absolute=absolute)
        now = cast(Any, self.env).step(sent, absolute=True) if absolute else self.env.step(sent)
        self._absolute = self._absolute or absolute
        self.actions.append(action)
        self.succeeded = self.env.succeeded()
        if self._events is not None and self._events.pending and not self.succeeded:
            now = self._events.after(now)
        self.observation = self.sense(now)
        return self.observation

    def finish(
        self,
        error: str = "",
        *,
        broken: Exception | None = None,
        decisions: int | None = None,
    ) -> Episode:
        """Return the record of the episode so far. An episode that is stopped early is a failure.

        ``broken`` is an exception raised by the policy or the simulation, which makes the outcome an error;
        ``error`` is its message, or the reason for the failure. ``decisions`` is the number of requests to the
        policy (default: one per step).
        """
        world, record = self.env.world, self.env.record()
        outcome = Outcome.FAILURE if broken is None else Outcome.ERROR
        if self.succeeded:
            outcome = Outcome.SUCCESS
        actions = np.array(self.actions, np.float32).reshape(-1, world.action_size)
        clipped: int | None = None
        if world.traits.clips and not self._absolute:  # absolute poses are in metres and radians
            clipped = int((np.abs(actions[:, : world.traits.clips]) > 1 + CLIP_TOLERANCE).any(axis=1).sum())
        stages, progress, trace = record.stages, None, ""
        if stages is not None and outcome is not Outcome.ERROR:
            progress = progress_of(stages, record.truth or {}, len(actions), self.succeeded)
        if broken is not None:
            trace = broken.traceback if isinstance(broken, PolicyError) else short_traceback(broken)
        return Episode(
            outcome=outcome,
            steps=len(actions),
            trajectory=replace(record.trajectory or no_trajectory(), actions=actions),
            instruction=self._first_instruction,
            decisions=len(actions) if decisions is None else decisions,
            images=self.env.images,
            touched=record.touched,
            moved=record.moved,
            truth=dict(record.truth or {}),
            initial_positions=dict(record.initial_positions or {}),
            contacts=None if record.contacts is None else dict(record.contacts),
            error=error or ("" if self.succeeded else record.note),
            transient=isinstance(broken, PolicyError) and broken.transient,
            traceback=trace,
            clipped=clipped,
            stages=None if stages is None else {atom: dict(steps) for atom, steps in stages.items()},
            progress=progress,
            side_effects=record.side_effects,
            aftermath=record.aftermath if self.succeeded else None,
            events=() if self._events is None else tuple(self._events.happened),
        )

    def sense(self, observation: Any) -> Any:
        """Return the policy's version of an observation, after the perturbations of the senses."""
        self._watch(observation)
        return self._senses.observe(observation)


def progress_of(
    stages: Mapping[str, Stages], truth: Mapping[str, tuple[tuple[int, int], ...]], steps: int, success: bool
) -> float:
    """Return the progress of an episode, from 0 to 1: the mean over the atoms that did not hold at the start.

    An atom that holds at the end counts as 1, and so does a success. An atom that held at the start and was undone
    counts as 0; if there are no such atoms, the progress of a failure is 0.
    """
    if success:
        return 1.0
    held = {atom for atom, spans in truth.items() if any(last > steps for _, last in spans)}
    undone = [0.0 for atom in truth if atom not in stages and atom not in held]
    done = [1.0 if atom in held else atom_progress(atom_stages) for atom, atom_stages in stages.items()]
    return sum(done) / len(done + undone) if done else 0.0
