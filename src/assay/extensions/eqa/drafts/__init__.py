"""Question drafts: four options are chosen first, and the correct one is drawn afterwards.

A reader without the images must do no better than chance. Therefore no option is derived from the correct one: each
of the four occurred in the data set, and all are chosen before the correct one is known. Then one is drawn uniformly
and its images are shown, so that given the options, each is correct with probability 1/4. Optional exceptions are
instructions written by a model and the paper's derived options (`motions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from types import MappingProxyType
from typing import Literal

import numpy as np

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot
from assay.extensions.eqa.drafts.instructions import WrongInstructions, draft_instructions
from assay.extensions.eqa.drafts.motions import draft_motions
from assay.extensions.eqa.episode import QualityRules
from assay.extensions.eqa.pairs import PreparedEpisode
from assay.extensions.eqa.question import QuestionKind
from assay.support.streams import stream

__all__ = ["NEEDS", "Draft", "OptionMethod", "Plan", "Shot", "WrongInstructions", "plan_drafts"]

NEEDS = {
    QuestionKind.H_SP: "four tasks with the same initial state, or an episode with four distinct moments",
    QuestionKind.M_SP: "four moments of one episode that the labels distinguish",
    QuestionKind.L_SP: "four distinct moments of one episode",
    QuestionKind.H_AI: "four instructions with the same initial state, or four from the data set",
    QuestionKind.M_AI: "four actions with the same components and different signs",
    QuestionKind.L_AI: "four distinct actions",
}
"""Data required for one question of each kind; no item is used for more than one question."""
Plan = dict[QuestionKind, int]
"""Number of questions of each kind."""
OptionMethod = Literal["matched", "paper"]
"""How options are chosen.

matched: four actions that occurred in the data set, one of which is drawn as the correct one. paper: the correct
action and three actions derived from it.
"""


def plan_drafts(
    prepared: Sequence[PreparedEpisode],
    rules: QualityRules,
    plan: Plan,
    *key: str | int,
    wrong: WrongInstructions = MappingProxyType({}),
    options: OptionMethod = "matched",
) -> dict[QuestionKind, list[Draft]]:
    """Draft questions of each kind whose level the data set supports: the planned number, or as many as possible.

    ``key`` seeds the random streams. ``wrong`` maps episode ids to three wrong instructions each.
    """
    drafts = {}
    for kind, count in plan.items():
        if kind.level in rules.levels:
            rng = stream(*key, "eqa", "options", str(kind))
            candidates = (
                draft_instructions(kind, prepared, rules, rng, wrong)
                if kind.level is ActionLevel.HIGH
                else draft_motions(kind, prepared, rules, rng, derived=options == "paper")
            )
            chosen = list(islice(candidates, count))
            rng = stream(*key, "eqa", "letters", str(kind))
            # Every letter is correct exactly once in each block of four questions.
            letters = np.concatenate(
                [rng.permutation(OPTIONS) for _ in range(0, len(chosen) + OPTIONS, OPTIONS)]
            )
            drafts[kind] = [
                draft.arrange(int(letter), rng) for draft, letter in zip(chosen, letters, strict=False)
            ]
    return drafts
