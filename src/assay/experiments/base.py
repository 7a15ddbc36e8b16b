"""What an experiment is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.episodes import CONTROL, LIBERO, EpisodeSpec, Initial, Label, Perturbation, World, load_world
from assay.errors import ExperimentError
from assay.experiments.labels import nature


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which an experiment changes a task; several may share a condition."""

    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    """What is known about it, besides what its perturbations say of themselves: axis, change, plausible."""
    steps: int | None = None
    """The most control steps, where there is more to do than in the task; None for the usual horizon."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A design: variants x tasks x seeds. The control is the first variant of every task."""

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
    with the demonstrator's time as a label all the same; None for the task's usual horizon."""
    world: str = LIBERO
    """The name of the world whose tasks it changes."""
    complete: Callable[[EpisodeSpec], EpisodeSpec] = lambda spec: spec
    """Adds to each spec what only its seed tells: labels, a time limit."""
    keep: Callable[[EpisodeSpec], bool] = lambda spec: True
    """Which episodes of the design are run."""

    @property
    def played_in(self) -> World:
        """The world its tasks are played in."""
        return load_world(self.world)

    def choose(self, selection: str | None = None) -> Sequence[Any]:
        """The tasks that a selection names; the experiment's own by default. Raises TaskError."""
        return self.played_in.select(self.tasks if selection is None else selection)

    def plan(
        self,
        chosen: Iterable[Any],
        seeds: Sequence[int],
        *,
        pack: str | None = None,
        initial: Initial = "sampled",
        steps: int | None = None,
        replan: int | None = None,
    ) -> Iterator[EpisodeSpec]:
        """Every episode of the design. Raises ExperimentError for what its world does not have."""
        pack = self.checked_pack(pack, initial)
        for task in chosen:
            for variant in (Variant(), *self.variants(task)):
                labels = nature(variant.perturbations, self.played_in.cameras) | variant.labels
                for seed in seeds:
                    spec = EpisodeSpec(
                        task=task.id,
                        seed=seed,
                        pack=pack,
                        experiment=self.name,
                        condition=variant.condition,
                        perturbations=variant.perturbations,
                        steps=variant.steps if steps is None else steps,
                        replan=replan,
                        initial=initial,
                        labels=labels,
                    )
                    if self.keep(spec):
                        yield self.complete(spec)

    def checked_pack(self, pack: str | None, initial: Initial = "sampled") -> str:
        """The asset pack to use. Raises AssetError or ExperimentError where the world has not what is asked for."""
        if pack is not None:
            self.played_in.pack_source(pack)
        if initial == "stored" and self.played_in.stored_states is None:
            raise ExperimentError(f"--states: the tasks of {self.name} have no stored initial states")
        return self.played_in.packs[0] if pack is None else pack

    def named(self, address: str) -> Experiment:
        """The same under the address that made it."""
        return replace(self, name=address)
