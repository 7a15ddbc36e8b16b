"""Everything that determines one rollout."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from assay.episodes.latency import WhileWaiting
from assay.episodes.perturbation import Perturbation, from_json, to_json
from assay.errors import SpecError, one_line

Initial = Literal["sampled", "stored"]
"""Drawn by the seed, or the seed's place in the task's file of initial states."""
Label = str | int | float | bool | None

CONTROL = "control"
"""The condition in which nothing is changed."""
OWN_LATENCY = "latency"
"""The label of conditions that differ from their control in how late decisions come; control steps."""


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One rollout, but for who acts. Equal specs give equal rollouts; the key is a hash of the content."""

    task: str
    """The id of the unperturbed task. Its first part names the world, if there is one of that name."""
    seed: int
    """Seeds the initial state and all other draws; with a held ``start``, only the policy's randomness."""
    pack: str = "primitives"
    """Name of the asset pack."""
    experiment: str = "libero"
    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    steps: int | None = None
    """The most control steps; None for the task's usual horizon."""
    replan: int | None = None
    """How many actions of each chunk are executed; None for all."""
    initial: Initial = "sampled"
    labels: dict[str, Label] = field(default_factory=dict, compare=False)
    """What is known about the condition, for the measures; not part of the identity."""
    start: int | None = None
    """The seed, or the stored state's place, of an initial state that is held while ``seed`` varies; None where
    the seed itself decides."""
    latency: int = 0
    """For how many control steps the policy thinks: what it decides from the observation of step t takes effect at
    step t + latency."""
    while_waiting: WhileWaiting = "play"
    """Behaviour during inference; irrelevant without latency."""

    @property
    def world_seed(self) -> int:
        """The seed of everything the world draws: the initial state, perturbations, senses."""
        return self.seed if self.start is None else self.start

    @property
    def key(self) -> str:
        """32 hex digits that stand for the content."""
        return key_of(self.to_json())

    @property
    def scene_key(self) -> str:
        """Episodes with the same scene key share one compiled scene."""
        rebuilding = tuple(perturbation for perturbation in self.perturbations if perturbation.rebuilds)
        return f"{self.pack} {self.task}" + (
            f" {self.world_seed} {_perturbations_json(rebuilding)}" if rebuilding else ""
        )

    def control(self) -> EpisodeSpec:
        """The same task and seed with nothing changed.

        The policy thinks as long, unless how long is what the condition changes: then the control decides at once.
        """
        usual = replace(self, condition=CONTROL, perturbations=(), labels={})
        return replace(usual, latency=0, while_waiting="play") if OWN_LATENCY in self.labels else usual

    def to_json(self) -> str:
        """Canonical JSON: equal specs give equal texts. Labels are left out.

        Keys of specs are hashes of this text, so its names are frozen, even if fields are renamed, and a
        start that is not held and a latency of zero are left out.
        """
        # Written out, with what repeats from spec to spec kept: plans have hundreds of thousands of them.
        held = "" if self.start is None else f'"start":{self.start},'
        late = f'"latency":{self.latency},' if self.latency else ""
        meanwhile = (
            f',"while_waiting":"{self.while_waiting}"'
            if self.latency and self.while_waiting != "play"
            else ""
        )
        return (
            f'{{"condition":{_canonical(self.condition)},"initial":{_canonical(self.initial)},{late}'
            f'"pack":{_canonical(self.pack)},"perturbations":{_perturbations_json(self.perturbations)},'
            f'"replan":{_canonical(self.replan)},"seed":{self.seed},{held}"steps":{_canonical(self.steps)},'
            f'"suite":{_canonical(self.experiment)},"task":{_canonical(self.task)}{meanwhile}}}'
        )

    @classmethod
    def from_json(cls, text: str, labels: dict[str, Label] | None = None) -> EpisodeSpec:
        """The spec that a canonical JSON text stands for."""
        try:
            content: dict[str, Any] = json.loads(text)
            changes = tuple(from_json(perturbation) for perturbation in content.pop("perturbations"))
            content["experiment"] = content.pop("suite")
            return cls(**_Plain(**content).model_dump(), perturbations=changes, labels=labels or {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = one_line(str(error), 120)
            raise SpecError(f"not an episode spec ({reason}): {text[:120]}") from None


class _Plain(BaseModel, extra="forbid", strict=True):
    """The fields of a spec that are plain values."""

    condition: str
    initial: Initial
    latency: int = 0
    pack: str
    replan: int | None
    seed: int
    start: int | None = None
    steps: int | None
    experiment: str
    task: str
    while_waiting: WhileWaiting = "play"


def key_of(text: str) -> str:
    """The key of the spec that a canonical JSON text stands for."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def _perturbations_json(perturbations: tuple[Perturbation, ...]) -> str:
    content = [to_json(perturbation) for perturbation in perturbations]
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=4096)
def _canonical(value: str | int | None) -> str:
    return json.dumps(value, ensure_ascii=False)
