"""How demonstrations are varied: a hand that is pushed about, few initial states, objects that stand elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from assay.episodes import EpisodeSpec, apply_perturbations
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.perturb.world.position import Relocate
from assay.sim.packs.registry import planned_on
from assay.tasks import Task


@dataclass(frozen=True, slots=True)
class Recipe:
    """How demonstrations are varied; by default not at all."""

    noise: float = 0.0
    """Standard deviation of what is added to the oracle's actions, which are in [-1, 1].

    The disturbed action is executed and the oracle's own is recorded, so that demonstrations show how to get
    back on course (after DART, Laskey et al. 2017).
    """
    starts: int = 0
    """How many different initial states there are, those of the first seeds in turn; 0 for one of each seed."""
    relocate: float = 0.0
    """How far objects are moved, as a share of the distance to their nearest neighbour; 0 for not at all."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise <= 1.0:
            raise DemonstrationError(f"--noise {self.noise:g}: valid: 0 to 1 (an action is from -1 to 1)")
        if not (self.relocate == 0.0 or 0.05 <= self.relocate <= 2.0):
            raise DemonstrationError(f"--relocate {self.relocate:g}: valid: 0, or 0.05 to 2")
        if self.starts < 0 or (self.starts and not self.noise):
            raise DemonstrationError(
                f"--starts {self.starts}: several demonstrations from one start differ by noise only: set --noise"
            )

    def __str__(self) -> str:
        said = (f"--{name} {value:g}" for name, value in asdict(self).items() if value)
        return " ".join(said) or "no variation"

    def spec(self, task: str, seed: int, pack: str, first: int) -> EpisodeSpec:
        """The episode of a seed; ``first`` is the first seed of all."""
        changes = (Relocate(self.relocate),) if self.relocate else ()
        start = first + (seed - first) % self.starts if self.starts else None
        return EpisodeSpec(task, seed, pack, perturbations=changes, start=start)

    def task(self, task: Task, spec: EpisodeSpec) -> Task:
        """A task with its objects where they stand in an episode. Raises PerturbationError."""
        with planned_on(spec.pack):
            return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)


PLAIN = Recipe()
"""The oracle as it is, from each seed's own initial state."""
