"""All questions of a data set: so many of each kind, the right letters in balance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import numpy as np

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.drafts.derived import low_derived, mid_derived
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft
from assay.extensions.eqa.drafts.high import Wrong, high
from assay.extensions.eqa.drafts.inference import low_inference, mid_inference
from assay.extensions.eqa.drafts.prediction import predictions
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.pairs import Prepared
from assay.extensions.eqa.question import Kind
from assay.support.streams import stream

NEEDS = {
    Kind.H_SP: "four tasks done from one beginning, or an episode with four moments that lie apart",
    Kind.M_SP: "four moments of one episode that labels tell apart",
    Kind.L_SP: "four moments of one episode that lie apart",
    Kind.H_AI: "four instructions of one beginning, or of the data set",
    Kind.M_AI: "four actions with the same components and other signs",
    Kind.L_AI: "four actions that lie apart",
}
"""What a question takes; no moment, or action, is asked about twice."""
Plan = dict[Kind, int]
"""How many questions of each kind."""
Options = Literal["matched", "paper"]
"""Actions to choose from: four that occurred, one of which is drawn; or one that occurred and three made from it, as
ActionEQA's are."""
OPTIONS_OF: tuple[Options, ...] = ("matched", "paper")


def planned(
    prepared: Sequence[Prepared],
    rules: Rules,
    plan: Plan,
    *key: str | int,
    wrong: Wrong | None = None,
    options: Options = "matched",
) -> dict[Kind, list[Draft]]:
    """Drafts of each kind that the data set's levels allow: as many as asked for, or as there can be.

    ``wrong``: see `high`.
    """
    found = {}
    for kind, count in plan.items():
        if kind.level in rules.levels:
            rng = stream(*key, "eqa", "options", str(kind))
            drafts = list(islice(_drafts(kind, prepared, rules, rng, wrong, options), count))
            found[kind] = _arranged(drafts, stream(*key, "eqa", "letters", str(kind)))
    return found


def _drafts(
    kind: Kind,
    prepared: Sequence[Prepared],
    rules: Rules,
    rng: np.random.Generator,
    wrong: Wrong | None = None,
    options: Options = "matched",
) -> Iterator[Draft]:
    if kind.level is Level.HIGH:
        return high(kind, prepared, rules, rng, wrong)
    if kind.predicts:
        return predictions(kind, prepared, rules, rng)
    mid, low = (mid_derived, low_derived) if options == "paper" else (mid_inference, low_inference)
    return (mid if kind.level is Level.MID else low)(prepared, rules, rng)


def _arranged(drafts: Sequence[Draft], rng: np.random.Generator) -> list[Draft]:
    """Each letter is right in a quarter of any four that follow one another."""
    letters = np.concatenate([rng.permutation(OPTIONS) for _ in range(0, len(drafts) + OPTIONS, OPTIONS)])
    return [draft.arranged(int(letter), rng) for draft, letter in zip(drafts, letters, strict=False)]
