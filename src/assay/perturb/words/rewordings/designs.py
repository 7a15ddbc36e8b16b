"""Rewordings for experiments: each with a name, what it does, whether it is plausible, and labels.

A *plausible* one is a request like another: a good policy still succeeds. An *implausible* one says no
longer what is wanted, or something else: a policy that reaches the task's goal all the same was not
listening. (The distinction is CoGeLoT's.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.episodes.perturbation import Perturbation
from assay.perturb.words.mask import Mask
from assay.perturb.words.rewordings.corrupt import Shuffle, Substitute
from assay.perturb.words.rewordings.goals import Alternative, alternatives, new_goals
from assay.perturb.words.rewordings.gobbledygook import GobbledygookTokens, GobbledygookWords
from assay.perturb.words.rewordings.level5 import Concise, Passive, Reorder, Verbose
from assay.perturb.words.rewordings.other_task import Counterfactual, OtherTask, fields_of
from assay.perturb.words.rewordings.semantic import Semantic
from assay.perturb.words.rewordings.synonyms import Synonyms
from assay.perturb.words.rewordings.telegraphic import Telegraphic
from assay.perturb.words.rewordings.typos import Typos
from assay.perturb.words.say import Say
from assay.tasks import Task

Label = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Rewording:
    """One way in which an experiment rewords a task."""

    name: str
    """Unique in its design; fit for the name of a condition."""
    perturbation: Perturbation
    plausible: bool
    labels: dict[str, Label] = field(default_factory=dict)
    """For the measures; ``plausible`` is among them."""


def _design(numbered: str, *rewordings: tuple[str, Perturbation, bool]) -> tuple[Rewording, ...]:
    """Rewordings with a label that numbers them, from 1."""
    return tuple(
        Rewording(name, change, plausible, {"plausible": plausible, numbered: number})
        for number, (name, change, plausible) in enumerate(rewordings, start=1)
    )


LADDER = _design(
    "rung",
    ("paraphrase", Semantic(), True),
    ("synonyms", Synonyms(), True),
    ("substitute", Substitute(), False),
    ("shuffle", Shuffle(), False),
    ("gobbledygook_words", GobbledygookWords(), False),
    ("gobbledygook_tokens", GobbledygookTokens(), False),
    ("xxx", Say("xxx", plausible=False), False),
    ("empty", Mask(), False),
)
"""The corruption ladder: less and less of the instruction, from rung 1 to rung 8."""
LEVEL5 = _design(
    "form",
    ("synonym", Synonyms(), True),
    ("concise", Concise(), True),
    ("reorder", Reorder(), True),
    ("passive", Passive(), True),
    ("verbose", Verbose(), True),
)
"""LIBERO-X's level 5, in its order: 5-1 to 5-5."""
SEMANTIC = _design("variant", ("semantic", Semantic(), True))
"""LIBERO-PRO's semantic perturbation."""
STYLES = _design("style", ("telegraphic", Telegraphic(), True), ("typos", Typos(), True))
"""How people write in a hurry."""


def new_tasks(task: Task) -> tuple[Rewording, ...]:
    """LIBERO-PRO's task perturbation: every goal that was never trained in the scene, with its instruction."""
    return _asked(new_goals(task))


def other_tasks(task: Task) -> tuple[Rewording, ...]:
    """Every other goal known for the scene or derived from the task's own, with its instruction."""
    return _asked(alternatives(task))


def _asked(found: tuple[Alternative, ...]) -> tuple[Rewording, ...]:
    return tuple(
        Rewording(
            f"task_{number}", OtherTask(*fields_of(each)), True, {"plausible": True} | _asked_labels(each)
        )
        for number, each in enumerate(found, start=1)
    )


def counterfactuals(task: Task) -> tuple[Rewording, ...]:
    """Every instruction that asks for something else in the scene; the task's own goal still counts.

    Number by number the same as `other_tasks`: of two episodes with one number and one seed, that one says
    whether the policy did what it was asked, and this one whether it did what it had learnt.
    """
    return tuple(
        Rewording(
            f"counterfactual_{number}",
            Counterfactual(*fields_of(each)),
            False,
            {"plausible": False} | _asked_labels(each),
        )
        for number, each in enumerate(alternatives(task), start=1)
    )


def _asked_labels(alternative: Alternative) -> dict[str, Label]:
    return {"asked_goal": str(alternative.goal), "asked_from": alternative.known_from}
