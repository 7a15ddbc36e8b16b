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
                        steps=steps,
                        replan=replan,
                        initial=initial,
                        labels=variant.labels,
                    )
