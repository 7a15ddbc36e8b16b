"""Everything that determines one rollout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assay import tasks
from assay.errors import SpecError
from assay.perturb import Perturbation, from_json, perturbed, to_json
from assay.tasks import Task

Initial = Literal["sampled", "stored"]
"""Drawn by the seed, or the seed's place in LIBERO's file of initial states."""
Label = str | int | float | bool | None

CONTROL = "control"
"""The condition in which nothing is changed."""
HORIZONS = {"libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520}
"""Control steps that the field gives a task, by suite."""
DEFAULT_HORIZON = 400


def horizon(task_id: str) -> int:
    """How many control steps a task gets."""
    return HORIZONS.get(task_id.split("/")[0], DEFAULT_HORIZON)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One rollout, but for who acts. Equal specs give equal rollouts; the key is a hash of the content."""

    task: str
    """The id of the unperturbed task."""
    seed: int
    pack: str = "primitives"
    """Name of the asset pack."""
    suite: str = "libero"
    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    steps: int | None = None
    """The most control steps; None for what the field gives the task."""
    replan: int | None = None
    """How many actions of each chunk are executed; None for all."""
    initial: Initial = "sampled"
    labels: Mapping[str, Label] = field(default_factory=dict, compare=False)
    """What is known about the condition, for the measures; not part of the identity."""

    @property
    def horizon(self) -> int:
        """The most control steps."""
        return horizon(self.task) if self.steps is None else self.steps

    @property
    def key(self) -> str:
        """32 hex digits that stand for the content."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:32]

    @property
    def scene_key(self) -> str:
        """Episodes with the same scene key share one compiled scene."""
        rebuilding = [to_json(each) for each in self.perturbations if each.rebuilds]
        return f"{self.pack} {self.task} {_canonical([self.seed, rebuilding]) if rebuilding else ''}"

    def control(self) -> EpisodeSpec:
        """The same task and seed with nothing changed."""
        return replace(self, condition=CONTROL, perturbations=(), labels={})

    def realised(self) -> Task:
        """The task as it is given to the policy."""
        return perturbed(tasks.load(self.task), self.perturbations, seed=self.seed)

    def to_json(self) -> str:
        """Canonical JSON: equal specs give equal texts. Labels are left out."""
        return _canonical(
            {
                "condition": self.condition,
                "initial": self.initial,
                "pack": self.pack,
                "perturbations": [to_json(each) for each in self.perturbations],
                "replan": self.replan,
                "seed": self.seed,
                "steps": self.steps,
                "suite": self.suite,
                "task": self.task,
            }
        )

    @classmethod
    def from_json(cls, text: str, labels: Mapping[str, Label] | None = None) -> EpisodeSpec:
        """The spec that a canonical JSON text stands for."""
        try:
            content: dict[str, Any] = json.loads(text)
            changes = tuple(from_json(each) for each in content.pop("perturbations"))
            return cls(**content, perturbations=changes, labels=labels or {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SpecError(f"not an episode spec ({error}): {text[:120]}") from None


def _canonical(content: object) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
