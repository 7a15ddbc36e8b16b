"""Answers without a model: what a set of questions must not, and must, give away.

random      any letter
longest     the longest option
text-only   the option that has the most in common with the others: distractors flock to what they are made of
geometry    privileged: computes the action from the states; must be right always
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from assay.extensions.eqa.actions import Level, described, difference, signs
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, Kind, Question
from assay.support.streams import stream

Baseline = Callable[[Question], str]
"""Gives a letter; nothing where it cannot know."""


def random(question: Question) -> str:
    """Any letter; the same for the same question."""
    return LETTERS[stream("eqa", "random", question.id).integers(len(LETTERS))]


def longest(question: Question) -> str:
    """The longest option, any of those that are."""
    return _best(question, [float(len(option)) for option in question.options])


def text_only(question: Question) -> str:
    """The option that shares the most words and figures with the others."""
    words = [frozenset(re.findall(r"[-+.\w]+", option)) for option in question.options]
    shared = [sum(len(mine & other) for other in words) / max(len(mine), 1) for mine in words]
    return _best(question, shared)


def geometry(question: Question) -> str:
    """The option that fits the states and goals, which no model sees; nothing where no goal is known."""
    if question.kind.level is Level.HIGH:
        if not question.achieved:
            return ""
        fits = [float(each) for each in question.achieved]
    elif not question.states:
        return ""
    elif question.kind.predicts:
        start, *ends = np.asarray(question.states)
        found = difference(start, np.asarray(ends), question.turning)
        fits = [-_distance(action, question.actions[0], question) for action in found]
        labels = described(signs(np.array(question.actions[0]), question.thresholds).tolist())
        if question.kind is Kind.M_SP and f": {labels}. " in question.text:  # no word of how far
            fits = [float(described(each) == labels) for each in signs(found, question.thresholds).tolist()]
    else:
        start, end = np.asarray(question.states)
        action = difference(start, end, question.turning)
        if question.kind.level is Level.MID:
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
    """In thresholds, the largest over all dimensions; angles the short way round."""
    gap = np.asarray(one) - np.asarray(other, dtype=np.float64)
    if question.turning == "wrapped" and (question.kind.predicts or question.kind.level is Level.LOW):
        gap = difference(np.zeros_like(gap), gap)
    return float(np.abs(gap / np.asarray(question.thresholds)).max())


def _best(question: Question, scores: list[float]) -> str:
    """A letter with the highest score, any of them; any letter if there are no scores."""
    if not scores:
        return random(question)
    best = [letter for letter, score in zip(LETTERS, scores, strict=True) if score == max(scores)]
    return best[stream("eqa", "tie", question.id).integers(len(best))]
