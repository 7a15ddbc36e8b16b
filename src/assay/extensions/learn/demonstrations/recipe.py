"""Variation of demonstrations: disturbed actions, a limited number of initial states, relocated objects."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from assay.episodes import EpisodeSpec, apply_perturbations
from assay.errors import DemonstrationError
from assay.perturb.world.position import Relocate
from assay.sim.packs.registry import planned_on
from assay.tasks import Task


@dataclass(frozen=True, slots=True)
class Recipe:
    """Variation of demonstrations; none by default."""

    noise: float = 0.0
    """Standard deviation of the disturbance added to the oracle's actions, which are in [-1, 1].

    The disturbed action is executed and the undisturbed one is recorded, so that demonstrations show how to recover
    (after DART, Laskey et al. 2017).
    """
    starts: int = 0
    """Number of distinct initial states, taken from the first seeds in turn; 0 for one per seed."""
    relocate: float = 0.0
    """Displacement of objects as a fraction of the distance to their nearest neighbour; 0 for none."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise <= 1.0:
            raise DemonstrationError(f"--noise {self.noise:g}: expected a number from 0 to 1")
        if not (self.relocate == 0.0 or 0.05 <= self.relocate <= 2.0):
            raise DemonstrationError(f"--relocate {self.relocate:g}: expected 0, or a number from 0.05 to 2")
        if self.starts < 0 or (self.starts and not self.noise):
            raise DemonstrationError(
                f"--starts {self.starts}: also set --noise, or demonstrations from the same start would be identical"
            )

    def __str__(self) -> str:
        return " ".join(f"--{name} {value:g}" for name, value in asdict(self).items() if value)

    def spec(self, task: str, seed: int, pack: str, first_seed: int) -> EpisodeSpec:
        """Return the episode of a seed; initial states are counted from ``first_seed``."""
        changes = (Relocate(self.relocate),) if self.relocate else ()
        start = first_seed + (seed - first_seed) % self.starts if self.starts else None
        return EpisodeSpec(task, seed, pack, perturbations=changes, start=start)

    def task(self, task: Task, spec: EpisodeSpec) -> Task:
        """Return the task with its objects relocated for an episode. Raise PerturbationError if this fails."""
        with planned_on(spec.pack):
            return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)


PLAIN = Recipe()
"""The undisturbed oracle, with a separate initial state for each seed."""
