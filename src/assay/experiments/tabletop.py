"""Experiments of tabletop tasks: four levels of novelty made harder, and prompts that say less and less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.experiments.spec import EpisodeSpec, Initial, Label
from assay.perturb.prompts import (
    Gobbledygook,
    OtherInstruction,
    Paraphrase,
    Part,
    PromptMask,
    TextReferents,
    Unit,
)
from assay.perturb.senses.order import PermutedObjects
from assay.perturb.table import TablePerturbation
from assay.perturb.world import Harder
from assay.tabletop import Difficulty, TableEntry, resolve_tables
from assay.tasks import Task

PACK = "tabletop"
"""What stands in place of an asset pack: shapes and textures are made by arithmetic."""
SEEDS = tuple(range(20))


@dataclass(frozen=True, slots=True)
class TableExperiment(Experiment):
    """An experiment design on the table."""

    mistakes: bool = True
    """Whether there are more actions than the task takes."""

    @property
    def on_table(self) -> bool:
        """Whether its tasks are those of `assay.tabletop`."""
        return True

    def choose(self, selection: str | None = None) -> tuple[TableEntry, ...]:
        """The tasks that a selection names; the experiment's own by default. Raises TaskError."""
        return resolve_tables(self.tasks if selection is None else selection)

    def plan(
        self,
        chosen: Iterable[Task | TableEntry],
        seeds: Sequence[int],
        *,
        pack: str = PACK,
        initial: Initial = "sampled",
        steps: int | None = None,
        replan: int | None = None,
    ) -> Iterator[EpisodeSpec]:
        """Every episode of the design, each labelled with the fewest actions it takes.

        Every prompt is made, so that one which cannot be is an error now and not later.
        """
        if pack != PACK or initial != "sampled":
            raise ExperimentError(f"{self.name}: tables have no asset packs and no stored states")
        for entry in chosen:
            assert isinstance(entry, TableEntry)
            about = {"kind": entry.kind, "level": str(entry.level)}
            for variant in (Variant(), *self.variants(entry)):
                for seed in seeds:
                    spec = EpisodeSpec(
                        task=entry.id,
                        seed=seed,
                        pack=PACK,
                        experiment=self.name,
                        condition=variant.condition,
                        perturbations=variant.perturbations,
                        replan=replan,
                    )
                    best = spec.realised_table().best
                    limit = steps if steps is not None or self.mistakes else best
                    labels = {**about, "best": best, **variant.labels}
                    yield replace(spec, steps=limit, labels=labels)


def tabletop(mistakes: bool = True) -> Experiment:
    """Seventeen tasks, as they are and harder; ``mistakes``: whether a policy may make some."""
    harder = [each for each in Difficulty if each is not Difficulty.DEFAULT]
    return TableExperiment(
        name="tabletop",
        about="Tasks told in words and pictures at four levels of novelty, and harder (after CoGeLoT).",
        variants=lambda entry: [_variant(f"difficulty={each}", Harder(each)) for each in harder],
        seeds=SEEDS,
        mistakes=mistakes,
    )


def prompts(mistakes: bool = True) -> Experiment:
    """The same tasks told otherwise, or nothing; ``mistakes``: whether a policy may make some."""
    return TableExperiment(
        name="prompts",
        about="Tabletop prompts reworded, masked, as nonsense or another's; objects in another order.",
        variants=_prompt_variants,
        seeds=SEEDS,
        mistakes=mistakes,
    )


PROMPT_CHANGES: tuple[tuple[str, TablePerturbation], ...] = (
    ("paraphrase", Paraphrase()),
    ("referents=text", TextReferents()),
    *((f"gobbledygook={unit}", Gobbledygook(unit)) for unit in Unit),
    *((f"mask={part}", PromptMask(part)) for part in Part),
    ("instruction=other", OtherInstruction()),
    ("order=permuted", PermutedObjects()),
)
"""Conditions and what they change."""


def _prompt_variants(entry: TableEntry) -> Iterator[Variant]:
    for condition, change in PROMPT_CHANGES:
        if change.concerns(entry.kind):
            yield _variant(condition, change)


def _variant(condition: str, change: TablePerturbation) -> Variant:
    labels: dict[str, Label] = {"axis": change.kind.split("/")[0], "plausible": change.plausible}
    return Variant(condition, (change,), labels)
