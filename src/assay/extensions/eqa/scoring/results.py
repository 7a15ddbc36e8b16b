"""Data for the tables and figures of the ActionEQA paper, and the means that several of them show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from assay.extensions.eqa.leak import BASELINES
from assay.extensions.eqa.question import Question, QuestionError, QuestionKind
from assay.extensions.eqa.scoring.accuracy import HUMAN, Standing
from assay.extensions.eqa.scoring.score import ComponentErrors, ModelScore, Score
from assay.measures.result import MeasureError
from assay.measures.views.table import Value

STATIC_VIEWS = ("exo", "exo2", "exo3", "exo4")
NEEDS_MARKS = "requires categorised mistakes (assay eqa judge, or assay eqa annotate --answers)"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Public facts about a model."""

    open: bool | None = None
    """Whether the weights are public; None if unknown."""
    size: float | None = None
    """Number of parameters, in billions."""
    family: str = ""

    @property
    def type(self) -> str:
        """Type of the model: open weights, proprietary, or "model" if unknown."""
        return "model" if self.open is None else "open weights" if self.open else "proprietary"

    @classmethod
    def read(cls, path: Path) -> dict[str, ModelFacts]:
        """Read facts by model from a YAML file: name -> open, size (billions of parameters), family."""
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            return {str(name): cls(**facts) for name, facts in content.items()}
        except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:150]
            raise QuestionError(
                f"{path}: invalid facts about models (expected NAME: {{open: true, size: 7, family: Qwen}}): {reason}"
            ) from None


@dataclass(frozen=True)
class ReportData:
    """Scores, questions and facts about the models."""

    score: Score
    questions: Sequence[Question]
    facts: Mapping[str, ModelFacts]

    @property
    def models(self) -> dict[str, ModelScore]:
        """Models, excluding people and baselines, best first. Raises MeasureError if none exist."""
        models = {
            name: model
            for name, model in self.score.models.items()
            if not name.startswith(HUMAN) and name not in BASELINES
        }
        if not models:
            raise MeasureError("requires answers from a model")
        return models

    @property
    def people(self) -> dict[str, ModelScore]:
        """Scores of the annotators by name."""
        return {name: model for name, model in self.score.models.items() if name.startswith(HUMAN)}

    @property
    def main_view(self) -> str:
        """Main view: a single static camera if there is one, otherwise the first view."""
        return "exo" if "exo" in self.score.views else self.score.views[0]

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets."""
        return sorted({question.dataset for question in self.questions})

    def standing(self, model: ModelScore, view: str = "") -> Standing:
        """Return the accuracies of a model in one view, by default the main view; empty without answers."""
        views = model.views or dict.fromkeys(self.score.views, model.standing)
        return views.get(view or self.main_view, Standing(0, (), {}, {}))

    def fact(self, name: str) -> ModelFacts:
        """Return the facts about a model, listed under its name with or without the prompt in parentheses."""
        return self.facts.get(name) or self.facts.get(name.rpartition(" (")[0]) or ModelFacts()

    def shares_by_kind(self, model: ModelScore, view: str = "") -> dict[QuestionKind, float]:
        """Return the accuracy of a model on each kind, averaged over data sets."""
        shares: defaultdict[QuestionKind, list[float]] = defaultdict(list)
        for accuracy in self.standing(model, view).accuracies:
            shares[QuestionKind(accuracy.kind)].append(accuracy.share)
        return {kind: float(np.mean(shares[kind])) for kind in QuestionKind if kind in shares}

    def overall(self, model: ModelScore, view: str = "") -> float:
        """Return the overall mean of a model in a view, by default the main view; NaN if there are no answers."""
        standing = self.standing(model, view)
        return standing.overall.share if standing.questions else float("nan")

    def best_models(self) -> list[tuple[str, ModelScore]]:
        """Return the models with answers in the main view, best first. Raises MeasureError if none exist."""
        answered = [(name, model) for name, model in self.models.items() if self.standing(model).questions]
        if not answered:
            raise MeasureError(f"requires answers from a model in the view {self.main_view}")
        return sorted(answered, key=lambda model: -self.overall(model[1]))

    def mid_level_errors(self, model: ModelScore, view: str) -> tuple[ComponentErrors, ...]:
        """Return mid-level errors by component in a view; empty without answers or without errors."""
        views = model.view_components or dict.fromkeys(self.score.views, model.components["mid"])
        return tuple(errors for errors in views.get(view, ()) if errors.proportion is not None)

    def mean_proportions(self, views: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return error proportions by view, averaged over models. Raises MeasureError if no view has errors."""
        means = {}
        for view in views:
            errors = [self.mid_level_errors(model, view) for model in self.models.values()]
            if shares := [[part.proportion for part in components] for components in errors if components]:
                means[view] = tuple(np.mean(np.array(shares, dtype=float), axis=0).tolist())
        if not means:
            raise MeasureError(f"requires wrong answers at the mid level in the views {', '.join(views)}")
        return means

    def several_views(self, wanted: Sequence[str]) -> list[str]:
        """Return the requested views that exist. Raises MeasureError if there are fewer than two."""
        views = [view for view in wanted if view in self.score.views]
        if len(views) < 2:
            raise MeasureError(f"requires questions in several views (--views {','.join(wanted)})")
        return views


def camera_count(view: str) -> int:
    """Return the number of cameras of a static view: exo, exo2, ..."""
    return int(view.removeprefix("exo") or 1)


def mean_of(values: Sequence[Value]) -> float | None:
    """Return the mean of the values that are numbers; None if none exist."""
    numbers = [value for value in values if isinstance(value, float | int)]
    return float(np.mean(numbers)) if numbers else None


def means_of(rows: Sequence[Sequence[Value]]) -> list[float | None]:
    """Return the mean of the numbers in each column."""
    return [mean_of(column) for column in zip(*rows, strict=True)]
