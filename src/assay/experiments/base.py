"""What an experiment is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.experiments.spec import CONTROL, EpisodeSpec, Initial, Label
from assay.perturb import Perturbation
from assay.tabletop import TableEntry
from assay.tasks import Task, resolve


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which an experiment changes a task; several may share a condition."""

    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    steps: int | None = None
    """The most control steps, where there is more to do than in the task; None for what the field gives."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment design: variants x tasks x seeds. The control is the first variant of every task."""

    name: str
    about: str
    variants: Callable[[Any], Iterable[Variant]]
    """The ways in which a task is changed, besides the control."""
    tasks: str = "all"
    """The tasks it is meant for: a selection as on the command line."""
    seeds: tuple[int, ...] = tuple(range(5))
    certified: bool = False
    """Whether it changes what can be done, so that episodes need a certificate to be served."""
    limit: float | None = None
    """The time limit as a multiple of the demonstrator's time, which its certificate knows; 0 for no limit,
    with the demonstrator's time as a label all the same; None for what the field gives the task."""

    @property
    def on_table(self) -> bool:
        """Whether its tasks are those of `assay.tabletop`."""
        return False

    def choose(self, selection: str | None = None) -> tuple[Task, ...] | tuple[TableEntry, ...]:
        """The tasks that a selection names; the experiment's own by default. Raises TaskError."""
        return resolve(self.tasks if selection is None else selection)

    def plan(
        self,
        chosen: Iterable[Task | TableEntry],
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
                        experiment=self.name,
                        condition=variant.condition,
                        perturbations=variant.perturbations,
                        steps=variant.steps if steps is None else steps,
                        replan=replan,
                        initial=initial,
                        labels=variant.labels,
                    )
