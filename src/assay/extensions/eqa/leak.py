"""Guessing without the images: baselines without a model, and probes that test whether options reveal the answer.

random      a random letter
longest     the longest option
text-only   the option that has the most in common with the others: derived distractors resemble the correct option
geometry    privileged: computes the action from the states; must always be correct

Probes learn from features of most questions which option tends to be correct, and answer the remaining questions.
Questions from one group are never in both the training and the test part. Without leaks, the accuracy of probes is at
chance level.

Features of a text option: the length, words and numbers of its text, its distance from the other options, its ranks
among them, and the words and numbers of the question. Its position is excluded: letters are balanced, so letters that
are rarer in the training part are more frequent in the test part. Features of an image option: brightness, sharpness,
file size, and distance from the other images and from the image before the action (the last moment of an episode is
the furthest from the first). The question's text is excluded for images, because matching words and images is the
task itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from PIL import Image

from assay.extensions.eqa.actions import ActionLevel, describe, difference, signs
from assay.extensions.eqa.pairs import sharpness
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind
from assay.support.stats.power import POWER
from assay.support.streams import stream

Baseline = Callable[[Question], str]
"""Function that returns a letter for a question; empty if the question lacks the necessary data."""


def random(question: Question) -> str:
    """Return a random letter, always the same for the same question."""
    return LETTERS[stream("eqa", "random", question.id).integers(len(LETTERS))]


def longest(question: Question) -> str:
    """Return the letter of the longest option; ties are broken at random."""
    return _best_letter(question, [float(len(option)) for option in question.options])


def text_only(question: Question) -> str:
    """Return the letter of the option that shares the most words and numbers with the others."""
    words = [frozenset(re.findall(r"[-+.\w]+", option)) for option in question.options]
    shared = [sum(len(own & other) for other in words) / max(len(own), 1) for own in words]
    return _best_letter(question, shared)


def geometry(question: Question) -> str:
    """Return the letter of the option that matches the privileged states and goals; empty without them."""
    if question.kind.level is ActionLevel.HIGH:
        if not question.achieved:
            return ""
        fits = [float(achieved) for achieved in question.achieved]
    elif not question.states:
        return ""
    elif question.kind.predicts:
        start, *ends = np.asarray(question.states)
        actions = difference(start, np.asarray(ends), question.turning)
        fits = [-_distance(action, question.actions[0], question) for action in actions]
        labels = describe(signs(np.array(question.actions[0]), question.thresholds).tolist())
        if question.kind is QuestionKind.M_SP and f": {labels}. " in question.text:  # without amounts
            patterns = signs(actions, question.thresholds).tolist()
            fits = [float(describe(pattern) == labels) for pattern in patterns]
    else:
        start, end = np.asarray(question.states)
        action = difference(start, end, question.turning)
        if question.kind.level is ActionLevel.MID:
            action = signs(action, question.thresholds).astype(np.float64)
        fits = [-_distance(action, option, question) for option in question.actions]
    best = [letter for letter, fit in zip(LETTERS, fits, strict=True) if fit == max(fits)]
    if len(best) != 1:
        raise QuestionError(f"question {question.id}: {len(best)} options match the action equally well")
    return best[0]


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {"random": random, "longest": longest, "text-only": text_only, "geometry": geometry}
)


def _distance(one: np.ndarray, other: object, question: Question) -> float:
    """Return the largest distance over all dimensions, each as a multiple of its threshold; angles are wrapped."""
    gap = np.asarray(one) - np.asarray(other, dtype=np.float64)
    is_signs = not question.kind.predicts and question.kind.level is ActionLevel.MID
    if question.turning == "wrapped" and not is_signs:
        gap = difference(np.zeros_like(gap), gap)
    return float(np.abs(gap / np.asarray(question.thresholds)).max())


def _best_letter(question: Question, scores: list[float]) -> str:
    """Return the letter with the highest score, breaking ties at random; without scores, all letters tie."""
    if not scores:
        return random(question)
    best = [letter for letter, score in zip(LETTERS, scores, strict=True) if score == max(scores)]
    return best[stream("eqa", "tie", question.id).integers(len(best))]


CHANCE = 1.0 / len(LETTERS)
FOLDS = 5
CONFIDENCE = 0.95
"""Confidence level of the chance interval, over all probes and kinds together."""
MAX_WORDS = 150
MAX_NUMBERS = 8
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class LeakProbe:
    """Accuracy of one probe on one kind of question."""

    kind: QuestionKind
    view: str
    """View of the images if the options are images; empty if they are texts."""
    probe: str
    questions: int
    accuracy: float
    chance: tuple[float, float]
    """Range of accuracies consistent with chance, at the level `CONFIDENCE` over all probes and kinds together."""
    missed: float
    """Smallest accuracy that is detected with 80 % power; smaller leaks may remain undetected."""

    @property
    def leaks(self) -> bool:
        """Whether the accuracy differs from chance in either direction: an accuracy below chance also shows a leak."""
        return not self.chance[0] <= self.accuracy <= self.chance[1]


def group_questions(questions: Sequence[Question]) -> dict[tuple[QuestionKind, str], list[Question]]:
    """Group questions by kind, and by view if options are images.

    A question that is asked in several views appears once in each group.
    """
    groups: defaultdict[tuple[QuestionKind, str], dict[str, Question]] = defaultdict(dict)
    for question in questions:
        view = question.view if question.kind.predicts else ""
        groups[question.kind, view].setdefault(question.item, question)
    order = list(QuestionKind)
    keys = sorted(groups, key=lambda key: (order.index(key[0]), key[1]))
    return {key: list(groups[key].values()) for key in keys}


def is_learnable(questions: Sequence[Question]) -> bool:
    """Return whether there are at least two groups: one for training and one for testing."""
    return len({question.group for question in questions}) > 1


def probe(questions: Sequence[Question], folder: Path) -> list[LeakProbe]:
    """Train and test every probe on each learnable group. Raises QuestionError if no group is learnable."""
    # scikit-learn takes a second to import.
    from scipy.stats import beta, binom
    from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    classifiers = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000)),
        "boosted trees": HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
        ),
    }
    groups = {key: group for key, group in group_questions(questions).items() if is_learnable(group)}
    if not groups:
        raise QuestionError(
            f"{folder}: every kind of question has a single group, so no probe can be trained"
        )
    outside = (1.0 - CONFIDENCE) / (len(groups) * len(classifiers))  # Bonferroni
    results = []
    for (kind, view), group in groups.items():
        scenes = [question.group for question in group]
        features = option_features(group, folder)
        right = np.array([question.right for question in group])
        count = len(group)
        low, high = (int(bound) for bound in binom.interval(1.0 - outside, count, CHANCE))
        missed = float(beta.ppf(POWER, high + 1, count - high)) if high < count else 1.0
        targets = np.eye(len(LETTERS), dtype=int)[right]
        folds = list(GroupKFold(min(FOLDS, len(set(scenes)))).split(features, groups=scenes))
        for name, model in classifiers.items():
            answers = np.empty(count, dtype=int)
            for train, test in folds:
                # The problems are small: several threads would mostly wait for one another.
                with threadpool_limits(1):
                    model.fit(np.concatenate(features[train]), targets[train].ravel())
                    scores = model.predict_proba(np.concatenate(features[test]))[:, 1]
                answers[test] = scores.reshape(-1, len(LETTERS)).argmax(axis=1)
            accuracy = float((answers == right).mean())
            chance = (low / count, high / count)
            results.append(LeakProbe(kind, view, name, count, accuracy, chance, missed))
    return results


def option_features(questions: Sequence[Question], folder: Path) -> np.ndarray:
    """Return the features of every option of every question, (questions, 4, n)."""
    frequency = Counter(
        word for question in questions for word in set(_words(" ".join((*question.options, question.text))))
    )
    # Words of one question only, or of all, do not generalise or discriminate.
    common = [word for word, count in frequency.most_common() if 1 < count < len(questions)]
    vocabulary = sorted(common[:MAX_WORDS])
    rows = []
    for question in questions:
        if question.option_pictures:
            paths = [folder / name for name in (*question.option_pictures, question.pictures[0])]
            images = [Image.open(path).convert("L") for path in paths]
            *thumbnails, before = (np.asarray(image.resize((16, 8)), np.float64).ravel() for image in images)
            small = np.array(thumbnails)
            looks = [(grey.mean(), grey.std(), sharpness(grey)) for grey in map(np.asarray, images[:-1])]
            own = np.column_stack([looks, [path.stat().st_size for path in paths[:-1]]])
        else:
            own = small = np.array([_text_features(option, vocabulary) for option in question.options])
        gaps = np.linalg.norm(small[:, None] - small[None], axis=-1)
        nearest = (gaps + np.diag([np.inf] * len(LETTERS))).min(axis=1)
        absolute = np.column_stack([own, gaps.sum(axis=1), nearest])
        if question.option_pictures:
            absolute = np.column_stack([absolute, np.linalg.norm(small - before, axis=1)])
        ranks = np.argsort(np.argsort(absolute, axis=0, kind="stable"), axis=0)
        features = [absolute, absolute - absolute.mean(axis=0), ranks]
        if not question.option_pictures:
            features.append(np.tile(_text_features(question.text, vocabulary), (len(LETTERS), 1)))
        rows.append(np.column_stack(features))
    return np.stack(rows)


def _text_features(text: str, vocabulary: Sequence[str]) -> np.ndarray:
    """Return the length, words and numbers of a text as features."""
    words = Counter(_words(text))
    numbers = [float(number) for number in _NUMBER.findall(text)][:MAX_NUMBERS]
    numbers += [0.0] * (MAX_NUMBERS - len(numbers))
    sizes = np.abs(numbers)
    negative, zero = sum(value < 0 for value in numbers), sum(value == 0 for value in numbers)
    counts = [len(text), sum(words.values()), negative, zero]
    vocabulary_counts = (words[word] for word in vocabulary)
    return np.array([*counts, *numbers, *sizes, sizes.sum(), sizes.max(), *vocabulary_counts])


def _words(text: str) -> list[str]:
    """Return the words of a text and its pairs of consecutive words."""
    words = _WORD.findall(text.lower())
    return words + [f"{one} {two}" for one, two in pairwise(words)]
