"""Whether the options of a set of questions tell the answer to a reader who does not see what they are about.

Probes learn from the clues of most questions which option tends to be right, and answer the others. Questions
of one group are never on both sides. If nothing leaks, they are right as often as chance. What they learn with,
scikit-learn, takes a second to import: functions do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.extensions.eqa.clues import clues
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, Kind, Question
from assay.support.stats.power import POWER

CHANCE = 1.0 / len(LETTERS)
FOLDS = 5
LEVEL = 0.95
"""How sure the interval of chance is, for all probes and kinds together."""
PROBES = ("logistic regression", "boosted trees")


@dataclass(frozen=True, slots=True)
class Probed:
    """How often one probe was right about one kind."""

    kind: Kind
    view: str
    """Of the pictures, where the options are pictures; empty where they are texts."""
    probe: str
    questions: int
    accuracy: float
    interval: tuple[float, float]
    """Accuracies that chance alone gives, at `LEVEL` over everything that was probed."""
    missed: float
    """A probe that is right so often would have been taken for chance once in five times: a smaller leak may well be
    there."""

    @property
    def leaks(self) -> bool:
        """Whether it did otherwise than chance: who is wrong too often knows something, too."""
        return not self.interval[0] <= self.accuracy <= self.interval[1]


def sets(questions: Sequence[Question]) -> dict[tuple[Kind, str], list[Question]]:
    """The questions of each kind, and view where options are pictures; in each of them no item twice."""
    found: defaultdict[tuple[Kind, str], dict[str, Question]] = defaultdict(dict)
    for question in questions:
        view = question.view if question.kind.predicts else ""
        found[question.kind, view].setdefault(question.item, question)
    order = list(Kind)
    return {
        key: list(found[key].values()) for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))
    }


def learnable(questions: Sequence[Question]) -> bool:
    """Whether there are two groups: one to learn from, and one to be asked about."""
    return len({question.group for question in questions}) > 1


def probe(questions: Sequence[Question], folder: Path, *, seed: int = 0) -> list[Probed]:
    """Let every probe learn and answer each `learnable` one of the `sets`. Raises QuestionError if none."""
    found = {key: each for key, each in sets(questions).items() if learnable(each)}
    if not found:
        raise QuestionError(f"{folder}: each kind of question shows one scene only: nothing to learn from")
    from scipy.stats import binom

    outside = (1.0 - LEVEL) / (len(found) * len(PROBES))
    results = []
    for (kind, view), each in found.items():
        groups = [question.group for question in each]
        features = clues(each, folder)
        right = np.array([question.right for question in each])
        low, high = binom.interval(1.0 - outside, len(each), CHANCE)
        for name in PROBES:
            accuracy = float((_answers(name, features, right, groups, seed) == right).mean())
            chance = (low / len(each), high / len(each))
            results.append(
                Probed(kind, view, name, len(each), accuracy, chance, _missed(int(high), len(each)))
            )
    return results


def _missed(high: int, count: int) -> float:
    """With which accuracy more than ``high`` of ``count`` answers are right in 80 %."""
    from scipy.stats import beta

    return float(beta.ppf(POWER, high + 1, count - high)) if high < count else 1.0


def _answers(
    name: str, features: np.ndarray, right: np.ndarray, groups: Sequence[str], seed: int
) -> np.ndarray:
    """What a probe answers to each question when it has learnt from other groups, (questions,)."""
    from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    count = features.shape[-1]
    target = np.eye(len(LETTERS), dtype=int)[right]
    answers = np.empty(len(right), dtype=int)
    # Small problems: threads would wait for one another more than they work.
    with threadpool_limits(1):
        for learnt, asked in GroupKFold(min(FOLDS, len(set(groups)))).split(features, groups=groups):
            model = _model(name, seed)
            model.fit(features[learnt].reshape(-1, count), target[learnt].ravel())
            scores = model.predict_proba(features[asked].reshape(-1, count))[:, 1]
            answers[asked] = scores.reshape(-1, len(LETTERS)).argmax(axis=1)
    return answers


def _model(name: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    if name == PROBES[0]:
        return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=10, random_state=seed
    )
