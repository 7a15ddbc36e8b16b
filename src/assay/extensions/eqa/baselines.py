"""Baselines: answers without a model, which show how easily a set of questions can be guessed.

random      a random letter
longest     the longest option
text-only   the option that has most in common with the others: derived distractors resemble the correct option
geometry    privileged: computes the action from the states; must always be correct
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from assay.extensions.eqa.actions import ActionLevel, describe, difference, signs
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind
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
    """Return the letter of the option that fits the privileged states and goals; empty if the question has none."""
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
        raise QuestionError(f"question {question.id}: {len(best)} options fit equally well")
    return best[0]


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {"random": random, "longest": longest, "text-only": text_only, "geometry": geometry}
)


def _distance(one: np.ndarray, other: object, question: Question) -> float:
    """Return the largest distance over all dimensions, in units of the threshold; angles are wrapped."""
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
