"""LIBERO-PRO's semantic variants: the same request about the same things in slightly other words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.perturb.words.rewordings.clauses import Step, depends, parse, said, that_is
from assay.perturb.words.rewordings.level5 import DIRECTED, after
from assay.perturb.words.rewordings.text import reworded
from assay.perturb.words.rewordings.verbs import VERBS, Role, synonyms
from assay.tasks import Task

_PART = re.compile(r"the (?P<part>(?:[\w-]+ )?[\w-]+) of the (?P<whole>[\w -]+)")


@perturbation
@dataclass(frozen=True, slots=True)
class Semantic(Perturbation):
    """Other verbs, prepositions and turns of phrase; things keep their names."""

    kind = "words/semantic"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in one of its variants."""

        def one(text: str) -> str:
            options = variants(text)
            return options[int(rng.integers(len(options)))]

        return reworded(task, self.kind, one)


def variants(text: str) -> tuple[str, ...]:
    """Every variant of an instruction: none like it, no two alike."""
    steps = parse(text)
    options = [_options(step, alone=len(steps) == 1) for step in steps]
    found = [said([each[index % len(each)] for each in options]) for index in range(max(map(len, options)))]
    found.append(
        said([replace(step, thing=_owned(step.thing), target=_owned(step.target)) for step in steps])
    )
    if len(steps) > 1:
        found.append(said([_synonymous(step) for step in steps], joint=" and then "))
    if len(steps) == 2 and depends(steps[1], steps[0]):
        found.append(after(_synonymous(steps[1]), steps[0]))
    return tuple(each for each in dict.fromkeys(found) if each != said(steps))


def _options(step: Step, *, alone: bool) -> list[Step]:
    """Other ways to say a step; longer ones only where it stands alone."""
    others = [replace(step, verb=verb) for verb in synonyms(step.verb)]
    match step.verb.role:
        case Role.PLACE if step.fetch is not None:
            return [
                replace(step, fetch=VERBS["take"], verb=VERBS["put"]),
                replace(step, fetch=VERBS["lift"], verb=VERBS["set"]),
                replace(_directed(step), fetch=None, thing=that_is(step.thing), verb=VERBS["move"]),
                replace(_directed(step), fetch=VERBS["grab"]),
            ]
        case Role.PLACE:
            moved = replace(_directed(step), verb=VERBS["move"])
            can_move = moved.preposition.startswith("to ") or moved.preposition in DIRECTED.values()
            taken = replace(step, fetch=VERBS["take"])
            return [*others, *([moved] if can_move else []), *([taken] if alone else [])]
        case Role.PUSH:
            over = replace(step, preposition=f"over {step.preposition}")
            moved = replace(step, verb=VERBS["move"])
            return [*others, moved, *([over] if step.preposition.startswith("to ") else [])]
        case _ if step.verb.particle:
            return [*others, *(replace(each, late=True) for each in (step, *others))]
        case _:
            return [*others, *(replace(each, late=True) for each in others if each.verb.particle)]


def _synonymous(step: Step) -> Step:
    return replace(step, verb=synonyms(step.verb)[0])


def _directed(step: Step) -> Step:
    return replace(step, preposition=DIRECTED.get(step.preposition, step.preposition))


def _owned(phrase: str) -> str:
    """``the cabinet's middle drawer`` for ``the middle drawer of the cabinet``."""
    return _PART.sub(r"the \g<whole>'s \g<part>", phrase)
