"""The specification that determines one rollout, and the instruction given to a policy."""

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


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text instruction. Worlds whose instructions contain images define a subclass."""

    text: str

    @property
    def words(self) -> str:
        """Text of the instruction, as recorded and reported."""
        return self.text

    def __str__(self) -> str:
        return self.text


Initial = Literal["sampled", "stored"]
"""Origin of the initial state: sampled with the seed, or stored in the task's file, indexed by the seed."""
Label = str | int | float | bool | None

CONTROL = "control"
"""Name of the unperturbed condition."""
REPEAT_STRIDE = 1_000_000
"""Difference between the seeds of a control and of its next repetition."""
REPEAT = "repeat"
"""Label of repeated controls; its value counts the repetitions, from 1."""
OWN_LATENCY = "latency"
"""Label of conditions whose latency differs from that of their control; its value is in control steps."""


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Specification of one rollout, without the policy.

    Equal specs give equal rollouts. The key is a hash of the content.
    """

    task: str
    """Id of the unperturbed task. Its first part is the name of the world, if there is a world with that name."""
    seed: int
    """Seed of the initial state and of all sampling; if ``start`` is set, seed of the policy's randomness only."""
    pack: str = "primitives"
    """Name of the asset pack."""
    experiment: str = "libero"
    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    steps: int | None = None
    """Maximum number of control steps; None for the task's default horizon."""
    replan: int | None = None
    """Number of actions executed from each chunk; None for all."""
    initial: Initial = "sampled"
    labels: dict[str, Label] = field(default_factory=dict, compare=False)
    """Metadata of the condition, used by the measures; not part of the spec's identity."""
    start: int | None = None
    """Seed or stored-state index of an initial state that is fixed while ``seed`` varies; None if ``seed`` determines
    the initial state.
    """
    latency: int = 0
    """Inference latency in control steps: a decision based on the observation at step t takes effect at step t +
    latency.
    """
    while_waiting: WhileWaiting = "play"
    """Behaviour during inference; ignored without latency."""

    @property
    def world_seed(self) -> int:
        """Seed of everything that the world samples: initial state, perturbations and senses."""
        return self.seed if self.start is None else self.start

    @property
    def key(self) -> str:
        """Hash of the content, 32 hexadecimal digits."""
        return key_of(self.to_json())

    @property
    def scene_key(self) -> str:
        """Key of the compiled scene, which episodes with equal scene keys share."""
        rebuilding = tuple(perturbation for perturbation in self.perturbations if perturbation.rebuilds)
        return f"{self.pack} {self.task}" + (
            f" {self.world_seed} {_perturbations_json(rebuilding)}" if rebuilding else ""
        )

    def repeat(self, number: int) -> EpisodeSpec:
        """Return the same episode with another random stream of the policy; 0 returns the episode itself.

        The initial state is fixed, and the seed, which then varies the policy only, is above `REPEAT_STRIDE`.
        """
        if not number:
            return self
        seed, labels = self.seed + number * REPEAT_STRIDE, self.labels | {REPEAT: number}
        return replace(self, seed=seed, start=self.world_seed, labels=labels)

    @property
    def paired_seed(self) -> int:
        """Seed shared by perturbed episodes, their control and its repetitions."""
        return self.world_seed if self.seed % REPEAT_STRIDE == self.start else self.seed

    def control(self) -> EpisodeSpec:
        """Return the unperturbed spec with the same task and seed.

        The latency is the same, unless the condition changes the latency; the control then has no latency.
        """
        control = replace(self, condition=CONTROL, perturbations=(), labels={})
        return replace(control, latency=0, while_waiting="play") if OWN_LATENCY in self.labels else control

    def to_json(self) -> str:
        """Return canonical JSON: equal specs give equal texts. Labels are omitted.

        Keys of specs are hashes of this text. Its field names are therefore frozen, even if attributes are
        renamed, and a start of None and a latency of zero are omitted.
        """
        # Formatted by hand, with cached parts: a plan has hundreds of thousands of specs.
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
        """Parse a spec from its canonical JSON text."""
        try:
            content: dict[str, Any] = json.loads(text)
            changes = tuple(from_json(perturbation) for perturbation in content.pop("perturbations"))
            content["experiment"] = content.pop("suite")
            return cls(**_Plain(**content).model_dump(), perturbations=changes, labels=labels or {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = one_line(str(error), 120)
            raise SpecError(f"not an episode spec ({reason}): {text[:120]}") from None


class _Plain(BaseModel, extra="forbid", strict=True):
    """The fields of a spec that need no conversion from JSON."""

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
    """Return the key of the spec with this canonical JSON text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def _perturbations_json(perturbations: tuple[Perturbation, ...]) -> str:
    content = [to_json(perturbation) for perturbation in perturbations]
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


_canonical = json.JSONEncoder(ensure_ascii=False).encode
