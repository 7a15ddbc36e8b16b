"""What the tables of ActionEQA are made from, and the shares and means that several of them show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Kind, Question
from assay.extensions.eqa.scoring.accuracy import Standing
from assay.extensions.eqa.scoring.errors import Component
from assay.extensions.eqa.scoring.score import ModelScore, Score
from assay.extensions.eqa.scoring.sheet import HUMAN
from assay.measures.result import MeasureError
from assay.measures.views.table import Value

SHARE = "Percent of right answers."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a model besides its answers."""

    open: bool | None = None
    """Whether its weights are public; None where nobody says."""
    size: float | None = None
    """Billions of parameters."""
    family: str = ""


@dataclass(frozen=True)
class Results:
    """Everything the tables are made from."""

    score: Score
    questions: Sequence[Question]
    facts: Mapping[str, Facts]

    @property
    def models(self) -> dict[str, ModelScore]:
        """Models alone, the best first: no people, no baselines."""
        found = {
            name: model
            for name, model in self.score.models.items()
            if not name.startswith(HUMAN) and name not in BASELINES
        }
        if not found:
            raise MeasureError("needs answers of a model")
        return found

    @property
    def people(self) -> dict[str, ModelScore]:
        """Annotators."""
        return {name: model for name, model in self.score.models.items() if name.startswith(HUMAN)}

    @property
    def main_view(self) -> str:
        """One camera outside where there is one, or else the only view, or the first."""
        return "exo" if "exo" in self.score.views else self.score.views[0]

    def standing(self, each: ModelScore, view: str = "") -> Standing | None:
        """How a model stands in one view, the main one if none is named; None where it has no answers in it."""
        if len(self.score.views) == 1:
            return each.standing if (view or self.main_view) in self.score.views else None
        return each.views.get(view or self.main_view)

    def fact(self, name: str) -> Facts:
        """What is known about a model, by its name with or without the style of its prompt."""
        return self.facts.get(name) or self.facts.get(name.rpartition(" (")[0]) or Facts()


def read_facts(path: Path) -> dict[str, Facts]:
    """Facts about models from a YAML file: name -> open, size (billions of parameters), family."""
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {str(name): Facts(**each) for name, each in told.items()}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())[:150]
        raise QuestionError(
            f"{path}: not facts about models (NAME: {{open: true, size: 7, family: Qwen}}): {why}"
        ) from None


def cells_of(found: Standing) -> dict[tuple[str, Kind], float]:
    """Shares by data set and kind."""
    return {(accuracy.dataset, Kind(accuracy.kind)): accuracy.share for accuracy in found.accuracies}


def shares_by_kind(results: Results, each: ModelScore, view: str = "") -> dict[Kind, float]:
    """Shares of each kind, mean over data sets."""
    found = results.standing(each, view)
    shares: defaultdict[Kind, list[float]] = defaultdict(list)
    for (_, kind), share in ({} if found is None else cells_of(found)).items():
        shares[kind].append(share)
    return {kind: float(np.mean(shares[kind])) for kind in Kind if kind in shares}


def overall_share(results: Results, each: ModelScore, view: str = "") -> float:
    """A model's overall mean in a view, the main one if none is named; NaN where it has no answers in it."""
    found = results.standing(each, view)
    return float("nan") if found is None else found.overall.share


def best_models(results: Results) -> list[tuple[str, ModelScore]]:
    """Models with answers in the main view, the best first. Raises MeasureError where there is none."""
    there = [(name, model) for name, model in results.models.items() if results.standing(model) is not None]
    if not there:
        raise MeasureError(f"needs answers of a model in the view {results.main_view}")
    return sorted(there, key=lambda each: -overall_share(results, each[1]))


def components_of(results: Results, each: ModelScore, view: str) -> tuple[Component, ...]:
    """What mid-level errors in a view are about; nothing where there are no answers."""
    return each.components["mid"] if len(results.score.views) == 1 else each.view_components.get(view, ())


def mean_proportions(results: Results, views: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Mean over models, of the views in which any has errors. Raises MeasureError where there is none."""
    found = {}
    for view in views:
        models = [components_of(results, model, view) for model in results.models.values()]
        shares = [
            [part.proportion for part in parts]
            for parts in models
            if parts and parts[0].proportion is not None
        ]
        if shares:
            found[view] = tuple(np.mean(np.array(shares, dtype=float), axis=0).tolist())
    if not found:
        raise MeasureError(f"needs wrong answers at the mid level in the views {', '.join(views)}")
    return found


def several_views(results: Results, wanted: Sequence[str], needs: str) -> list[str]:
    """Those of the wanted views that there are. Raises MeasureError, with what is needed, below two."""
    found = [view for view in wanted if view in results.score.views]
    if len(found) < 2:
        raise MeasureError(f"needs questions with {needs}")
    return found


def mean_of(values: Sequence[float | None]) -> float | None:
    """Of what is known; None where nothing is."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def means_of(rows: Sequence[Sequence[Value]]) -> list[float | None]:
    """Of numbers, column by column."""
    return [
        mean_of([value if isinstance(value, float | int) else None for value in column])
        for column in zip(*rows, strict=True)
    ]
