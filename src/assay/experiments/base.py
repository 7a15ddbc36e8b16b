"""Experiments, their variants, and the selection of conditions by name: ``position,displace=*``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from assay.episodes import (
    CONTROL,
    LIBERO,
    Change,
    EpisodeSpec,
    Initial,
    Label,
    Perturbation,
    World,
    load_world,
)
from assay.episodes.latency import MOST_LATENCY, WhileWaiting
from assay.episodes.spec import OWN_LATENCY
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.labels import nature
from assay.support.addresses import call_with_fields
from assay.support.plugins import Registry

if TYPE_CHECKING:
    from assay.experiments.reference_times import ReferenceTimes


MAX_NAMES_SHOWN = 12
"""Maximum number of valid names listed in an error message."""


def choose_conditions(selection: str, names: Iterable[str], experiment: str) -> frozenset[str]:
    """Return the ``names`` that match a selection: names and patterns with ``*``, separated by commas.

    The part before a name's first slash may be omitted. Because names may contain commas, as in
    ``para/obj=none,act=need``, the longest match is used. Raises ExperimentError with the valid names if a part matches
    nothing.
    """
    conditions = tuple(names)
    parts = [part.strip() for part in selection.split(",") if part.strip()]
    if not parts:
        valid = did_you_mean("", conditions, most=MAX_NAMES_SHOWN)
        raise ExperimentError(f"conditions '{selection}': expected at least one name; {valid}")
    chosen: set[str] = set()
    while parts:
        for size in range(len(parts), 0, -1):
            pattern = ",".join(parts[:size])
            matches = [
                name
                for name in conditions
                if fnmatchcase(name, pattern) or fnmatchcase(name.partition("/")[2], pattern)
            ]
            if matches:
                break
        else:
            unknown = ",".join(parts[: 1 + max(name.count(",") for name in conditions)])
            options = (
                conditions if "/" in unknown else {name.partition("/")[2] or name for name in conditions}
            )
            valid = did_you_mean(unknown, options, most=MAX_NAMES_SHOWN)
            raise ExperimentError(f"{experiment} has no condition '{unknown}' for these tasks; {valid}")
        chosen.update(matches)
        parts = parts[size:]
    return frozenset(chosen)


@dataclass(frozen=True, slots=True)
class Variant:
    """One modification of a task by an experiment; several variants may share a condition."""

    condition: str = CONTROL
    perturbations: tuple[Perturbation, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    """Labels in addition to those derived from the perturbations: axis, change, plausible."""
    steps: int | None = None
    """Maximum number of control steps, if the variant needs more than the task; None for the default horizon."""
    latency: int | None = None
    """Inference latency in control steps, if the condition changes it; None otherwise."""


@dataclass(frozen=True, slots=True)
class LazyVariant:
    """A variant that is expensive to create, and is created only if its condition is selected."""

    condition: str
    make: Callable[[], Variant | None]
    """Function that returns the variant; None if the task does not have this variant."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experimental design: variants x tasks x seeds. The control is the first variant of every task."""

    name: str
    about: str
    variants: Callable[[Any], Iterable[Variant | LazyVariant]]
    """Function that returns the variants of a task, without the control."""
    tasks: str = "all"
    """Default selection of tasks, written as on the command line."""
    seeds: tuple[int, ...] = tuple(range(5))
    certified: bool = False
    """Whether the changes affect solvability, so that episodes require a certificate."""
    limit: float | None = None
    """Time limit as a multiple of the reference time, which is the demonstrator's time in the certificate or a
    human's time in ``reference``; 0 for no limit, with the time still recorded as a label; None for the task's
    default horizon.
    """
    reference: ReferenceTimes | None = None
    """Human completion times of the tasks, if the time limit is a multiple of them."""
    world: str = LIBERO
    """Name of the world whose tasks the experiment modifies."""
    complete: Callable[[EpisodeSpec], EpisodeSpec] = lambda spec: spec
    """Function that adds seed-dependent values, such as labels or a time limit, to each spec."""
    keep: Callable[[EpisodeSpec], bool] = lambda spec: True
    """Predicate that selects which of the design's episodes to run."""
    conditions: str | None = None
    """Conditions to run in addition to the control, as names or patterns (`choose_conditions`); None for all."""
    control: Callable[[Any], Variant] = lambda task: Variant()
    """Function that returns the control of a task; it may have labels or extra time, but no perturbations."""

    @property
    def played_in(self) -> World:
        """The world in which the experiment's tasks are run."""
        return load_world(self.world)

    def choose(self, selection: str | None = None) -> Sequence[Any]:
        """Return the tasks in a selection, or the experiment's default tasks if None. Raises TaskError."""
        return self.played_in.select(self.tasks if selection is None else selection)

    def plan(
        self,
        chosen: Iterable[Any],
        seeds: Sequence[int],
        *,
        pack: str | None = None,
        initial: Initial = "sampled",
        start: int | None = None,
        repeats: int = 1,
        steps: int | None = None,
        replan: int | None = None,
        latency: int = 0,
        while_waiting: WhileWaiting = "play",
    ) -> Iterator[EpisodeSpec]:
        """Yield every episode of the design.

        With a ``start``, all episodes share that initial state, and seeds affect only the policy. Each control is
        planned ``repeats`` times. Raises ExperimentError for options that the world does not support, and for unknown
        conditions.
        """
        pack = self.checked_pack(pack, initial)
        for task, variants in self._select_variants(chosen):
            for place, variant in enumerate((self.control(task), *variants)):
                if variant.latency is not None and latency:
                    raise ExperimentError(f"--latency: the conditions of {self.name} already set latencies")
                late = variant.latency or latency
                labels = nature(variant.perturbations, self.played_in.cameras) | variant.labels
                if variant.latency is not None:
                    labels[OWN_LATENCY] = variant.latency
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
                        start=start,
                        latency=late,
                        while_waiting=while_waiting if late else "play",
                    )
                    if self.keep(spec):
                        spec = self.complete(spec)
                        yield from (spec.repeat(number) for number in range(1 if place else repeats))

    def _select_variants(self, chosen: Iterable[Any]) -> list[tuple[Any, list[Variant]]]:
        """Return each task with its variants, or only those whose conditions are selected."""
        by_task: list[tuple[Any, Iterable[Variant | LazyVariant]]]
        by_task = [(task, tuple(self.variants(task))) for task in chosen]
        if self.conditions is not None:
            names = dict.fromkeys(variant.condition for _, variants in by_task for variant in variants)
            wanted = choose_conditions(self.conditions, (CONTROL, *names), self.name)
            by_task = [
                (task, [variant for variant in variants if variant.condition in wanted])
                for task, variants in by_task
            ]
        selected = []
        for task, variants in by_task:
            made = (variant.make() if isinstance(variant, LazyVariant) else variant for variant in variants)
            selected.append((task, [variant for variant in made if variant is not None]))
        if self.conditions is not None and wanted != {CONTROL} and not any(made for _, made in selected):
            raise ExperimentError(f"{self.name} has no condition '{self.conditions}' for these tasks")
        return selected

    def only(self, conditions: str | None) -> Experiment:
        """Return the experiment restricted to some conditions and the control; None leaves it unchanged."""
        return self if conditions is None else replace(self, conditions=conditions)

    def checked_pack(self, pack: str | None, initial: Initial = "sampled") -> str:
        """Return the asset pack to use.

        Raises AssetError or ExperimentError if the world does not support the pack or stored initial states.
        """
        if pack is not None:
            self.played_in.pack_source(pack)
        if initial == "stored" and not self.played_in.has_stored_states:
            raise ExperimentError(f"--states: the tasks of {self.name} have no stored initial states")
        return self.played_in.packs[0] if pack is None else pack


EXPERIMENTS: Registry[Callable[..., Experiment] | Experiment] = Registry(
    "experiment",
    ExperimentError,
    {
        "libero": "assay.experiments.base:libero",
        "para": "assay.experiments.para:para",
        "corruption": "assay.experiments.para:corruption",
        "surface": "assay.experiments.para:surface",
        "events": "assay.experiments.events:events",
        "pro": "assay.experiments.pro:pro",
        "x": "assay.experiments.x:x",
        "latency": "assay.experiments.base:latency",
        "plus": "assay.experiments.plus:plus",
        "factors": "assay.experiments.factors:factors",
        "search": "assay.experiments.axes:search",
    },
)
"""Registered experiments, or functions that return an experiment, by name."""


def load_experiment(address: str) -> Experiment:
    """Load an experiment by name or as ``python:module:object``, with the parameters set in its address.

    Raises ExperimentError with the valid names.
    """
    name, _, query = address.partition("?")
    source = EXPERIMENTS.load(name)
    if isinstance(source, Experiment) and query:
        raise ExperimentError(f"'{address}': {name} has no parameters")
    experiment = call_with_fields(source, query, address, ExperimentError) if callable(source) else source
    if not isinstance(experiment, Experiment):
        verb = "returned" if callable(source) else "is"
        raise ExperimentError(f"'{address}' {verb} a {type(experiment).__name__}, not an Experiment")
    return replace(experiment, name=f"{name}?{query}" if query else name)


def libero() -> Experiment:
    """The unperturbed baseline."""
    return Experiment("libero", "The unperturbed tasks: the baseline.", variants=lambda task: ())


def latency(steps: tuple[int, ...] = (1, 2, 4, 8)) -> Experiment:
    """Inference latencies in control steps of 50 ms; the control has no latency."""
    if not steps or len(set(steps)) < len(steps) or not all(1 <= step <= MOST_LATENCY for step in steps):
        raise ExperimentError(
            f"latency?steps={steps!r:.60}: expected distinct numbers from 1 to {MOST_LATENCY}"
        )
    labels: dict[str, Label] = {"axis": "senses", "change": Change.LATENCY, "plausible": True}
    return Experiment(
        name="latency",
        about="Inference that takes 1, 2, 4, ... control steps: how much latency does the policy tolerate?",
        variants=lambda task: (
            Variant(f"latency/steps={step}", labels=dict(labels), latency=step) for step in steps
        ),
    )
