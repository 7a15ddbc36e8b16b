"""What a suite is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from assay.perturb import Perturbation
from assay.suites.spec import CONTROL, EpisodeSpec, Initial, Label
from assay.tasks import Task


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which a suite changes a task; several may share a condition."""

    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    steps: int | None = None
    """The most control steps, where there is more to do than in the task; None for what the field gives."""


@dataclass(frozen=True, slots=True)
class Suite:
    """An experiment design: variants x tasks x seeds. The control is the first variant of every task."""

    name: str
    about: str
    variants: Callable[[Task], Iterable[Variant]]
    """The ways in which a task is changed, besides the control."""
    tasks: str = "all"
    """The tasks it is meant for: a selection as on the command line."""
    seeds: tuple[int, ...] = tuple(range(5))
    certified: bool = False
    """Whether it changes what can be done, so that episodes need a certificate to be served."""
    limit: float | None = None
    """The time limit as a multiple of the demonstrator's time, which its certificate knows; 0 for no limit,
    with the demonstrator's time as a label all the same; None for what the field gives the task."""

    def plan(
        self,
        chosen: Iterable[Task],
        seeds: Sequence[int],
        *,
        pack: str = "primitives",
        initial: Initial = "sampled",
        steps: int | None = None,
        replan: int | None = None,
    ) -> Iterator[EpisodeSpec]:
        """Every episode of the design."""
        for task in chosen:
            for variant in (Variant(), *self.variants(task)):
                for seed in seeds:
                    yield EpisodeSpec(
                        task=task.id,
                        seed=seed,
                        pack=pack,
                        suite=self.name,
                        condition=variant.condition,
                        perturbations=variant.perturbations,
                        steps=variant.steps if steps is None else steps,
                        replan=replan,
                        initial=initial,
                        labels=variant.labels,
                    )
