"""A policy that reads: rules for words, matching for pictures, and nothing that only the table knows."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import TableObservation, shown
from assay.extensions.tabletop.oracle import idle
from assay.extensions.tabletop.policies.reader.imagine import next_push
from assay.extensions.tabletop.policies.reader.perception import Thing, difference, see
from assay.extensions.tabletop.policies.reader.planning import Planner, Shown, Step, is_small, sorted_out
from assay.extensions.tabletop.policies.reader.reading import Request, Told, read, told
from assay.extensions.tabletop.prompt import Prompt
from assay.extensions.tabletop.simulation import action

_THERE = 0.045
"""A thing this near to where it was put has been put there, metres."""
_ATTEMPTS = 4


class PromptReader:
    """Does what prompts ask for, as far as it understands the words and recognises the pictures; otherwise nothing.

    It is told what any policy is told. That it succeeds shows that prompts and pictures say enough; that it fails
    without them, that they are needed.
    """

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Read the prompt."""
        segments = [each if isinstance(each, str) else Shown(shown(each)) for each in prompt.segments]
        self._told: Told = told(segments, scene=_is_scene)
        scenes = frozenset(i for i, each in enumerate(self._told.slots) if _is_scene(each))
        self._request: Request | None = read(self._told, scenes)
        self._plan: list[Step] | None = None

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        request = self._request
        if request is None:
            return idle()[None]
        things = see(
            {camera: (observation.image(camera), observation.segmentation(camera)) for camera in VIEWS}
        )
        if request.kind == "sweep":
            return self._sweep(request, things, observation.step)[None]
        if self._plan is None:
            self._plan = Planner(self._told.slots, things).plan(request)
        return self._next(self._plan, things)[None]

    def _next(self, plan: list[Step], things: list[Thing]) -> np.ndarray:
        while plan:
            step = plan[0]
            places = (step.start, step.goal) if step.attempts else (step.start,)
            thing = min(
                things,
                key=lambda each: (
                    min(float(np.linalg.norm(each.centre - at)) for at in places)
                    + 0.3 * difference(each.colours, step.thing.colours)
                ),
            )
            gone = float(np.linalg.norm(thing.centre - step.start))
            there = float(np.linalg.norm(thing.centre - step.goal)) < _THERE
            carried = (
                bool(step.turn) or gone > _THERE or float(np.linalg.norm(step.goal - step.start)) < _THERE
            )
            if (step.attempts and there and carried) or step.attempts >= _ATTEMPTS:
                plan.pop(0)
                continue
            grip = thing.grip(step.attempts)
            c, s = np.cos(step.turn), np.sin(step.turn)
            arm = grip - thing.centre
            place = step.goal + np.array([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
            step.attempts += 1
            return action((grip[0], grip[1]), (place[0], place[1]), step.turn)
        return idle()

    def _sweep(self, request: Request, things: list[Thing], step: int) -> np.ndarray:
        blocks = [each for each in things if is_small(each)]
        marks = [each for each in things if not is_small(each)]
        if not blocks or len(marks) < 2:
            return idle()
        rectangle, line = sorted(marks, key=lambda each: each.box[0] - each.box[2])[:2]
        targets, others = sorted_out(self._told.slots[request.things[0]], blocks)
        return next_push(
            targets, others, rectangle, line, request.count, touching=request.touching, step=step
        )


def _is_scene(thing: object) -> bool:
    return isinstance(thing, Shown) and thing.scene
