"""All questions of a data set: so many of each kind, the right letters in balance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from assay.eqa.actions import Level
from assay.eqa.drafts.draft import OPTIONS, Draft
from assay.eqa.drafts.high import high
from assay.eqa.drafts.inference import low_inference, mid_inference
from assay.eqa.drafts.prediction import predictions
from assay.eqa.episode import Rules
from assay.eqa.pairs import Prepared
from assay.eqa.question import Kind
from assay.streams import stream

Plan = dict[Kind, int]
"""How many questions of each kind."""


def planned(
    prepared: Sequence[Prepared], rules: Rules, plan: Plan, *key: str | int
) -> dict[Kind, list[Draft]]:
    """Drafts of each kind that the data set's levels allow: as many as asked for, or as there can be."""
    found = {}
    for kind, count in plan.items():
        if kind.level in rules.levels:
            rng = stream(*key, "eqa", "options", str(kind))
            drafts = list(islice(_drafts(kind, prepared, rules, rng), count))
            found[kind] = _arranged(drafts, stream(*key, "eqa", "letters", str(kind)))
    return found


def _drafts(
    kind: Kind, prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    if kind.level is Level.HIGH:
        return high(kind, prepared, rules, rng)
    if kind.predicts:
        return predictions(kind, prepared, rules, rng)
    return (mid_inference if kind.level is Level.MID else low_inference)(prepared, rules, rng)


def _arranged(drafts: Sequence[Draft], rng: np.random.Generator) -> list[Draft]:
    """Each letter is right in a quarter of any four that follow one another."""
    letters = np.concatenate([rng.permutation(OPTIONS) for _ in range(0, len(drafts) + OPTIONS, OPTIONS)])
    return [draft.arranged(int(letter), rng) for draft, letter in zip(drafts, letters, strict=False)]
