"""A policy that reads: rules for words, matching for pictures, and nothing that only the table knows."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.policies.perception import SeenObject, histogram_difference, see_objects
from assay.extensions.tabletop.policies.planning import (
    CarryStep,
    Planner,
    PromptImage,
    is_small,
    split_by_texture,
)
from assay.extensions.tabletop.policies.reading import (
    COUNTS,
    MarkedPrompt,
    PromptRequest,
    mark_prompt,
    read_request,
)
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.tasks.levels import Level
from assay.extensions.tabletop.tasks.task import Setting, TableTask
from assay.extensions.tabletop.world.env import PACK, TableEnv
from assay.extensions.tabletop.world.goals import SweepGoal
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle, idle
from assay.extensions.tabletop.world.render import render_picture
from assay.extensions.tabletop.world.scene import TableItem, TableScene, Tool
from assay.extensions.tabletop.world.simulation import action

_MARGIN = 0.004
"""For what pixels cannot tell, metres."""
_OPEN = 0.015
"""How far a rectangle reaches beyond its open side, metres."""


def next_push(
    targets: list[SeenObject],
    others: list[SeenObject],
    rectangle: SeenObject,
    line: SeenObject,
    count: str,
    *,
    touching: bool,
    step: int,
) -> np.ndarray:
    """Return an action (12,) that brings the targets closer to the rectangle without crossing the line."""
    if not targets:
        return idle()
    x_min, y_min, x_max, y_max = rectangle.box
    barrier = (line.box[0] - _MARGIN, line.box[1] - _MARGIN, line.box[2] + _MARGIN, line.box[3] + _MARGIN)
    near = x_min if touching else line.box[2] + _OPEN
    far = x_max if touching else x_max + _OPEN
    zone = (near + _MARGIN, y_min + _MARGIN, far - _MARGIN, y_max - _MARGIN)
    fewest = {"any": 1, "all": len(targets)}.get(count) or COUNTS.index(count) + 1
    if fewest > len(targets):
        return idle()
    items = [
        TableItem(f"{role}_{number}", "small block", "red", float(x), float(y), piece.shape()[2])
        for role, things in (("target", targets), ("other", others))
        for number, piece in enumerate(things)
        for x, y in [piece.middle]
    ]
    scene = TableScene(tuple(items), Tool.SPATULA)
    names = [item.name for item in items]
    most = len(targets) if count == "any" else fewest
    goal = SweepGoal(
        tuple(names[: len(targets)]), tuple(names[len(targets) :]), fewest, most, zone, barrier, fewest
    )
    setting = Setting("T12", step, Level.L1)
    env = TableEnv(TableTask(setting, scene, Prompt("sweep"), goal, asked=goal))
    spec = EpisodeSpec("tabletop/T12/L1", step, PACK)
    observation = env.reset(spec)
    planner = TableOracle()
    planner.attach(env)
    planner.reset(Prompt("sweep"), spec)
    return np.asarray(planner.act(observation)[0])


_THERE = 0.045
"""A thing this near to where it was put has been put there, metres."""
_ATTEMPTS = 4


class PromptReader:
    """Follows prompts as far as it parses their words and recognises their images; otherwise does nothing.

    It receives what any policy receives. Its success shows that prompts and images suffice; its failure without them,
    that they are needed.
    """

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Read the prompt."""
        segments = [
            segment if isinstance(segment, str) else PromptImage(render_picture(segment))
            for segment in prompt.segments
        ]
        self._told: MarkedPrompt = mark_prompt(segments, scene=_is_scene)
        scenes = frozenset(i for i, slot in enumerate(self._told.slots) if _is_scene(slot))
        self._request: PromptRequest | None = read_request(self._told, scenes)
        self._plan: list[CarryStep] | None = None

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        request = self._request
        if request is None:
            return idle()[None]
        things = see_objects(
            {camera: (observation.image(camera), observation.segmentation(camera)) for camera in VIEWS}
        )
        if request.kind == "sweep":
            return self._sweep(request, things, observation.step)[None]
        if self._plan is None:
            self._plan = Planner(self._told.slots, things).plan(request)
        return self._next(self._plan, things)[None]

    def _next(self, plan: list[CarryStep], things: list[SeenObject]) -> np.ndarray:
        while plan:
            step = plan[0]
            places = (step.start, step.goal) if step.attempts else (step.start,)
            thing = min(
                things,
                key=lambda each: (
                    min(float(np.linalg.norm(each.centre - at)) for at in places)
                    + 0.3 * histogram_difference(each.colours, step.thing.colours)
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

    def _sweep(self, request: PromptRequest, things: list[SeenObject], step: int) -> np.ndarray:
        blocks = [thing for thing in things if is_small(thing)]
        marks = [thing for thing in things if not is_small(thing)]
        if not blocks or len(marks) < 2:
            return idle()
        rectangle, line = sorted(marks, key=lambda each: each.box[0] - each.box[2])[:2]
        targets, others = split_by_texture(self._told.slots[request.things[0]], blocks)
        return next_push(
            targets, others, rectangle, line, request.count, touching=request.touching, step=step
        )


def _is_scene(thing: object) -> bool:
    return isinstance(thing, PromptImage) and thing.scene
