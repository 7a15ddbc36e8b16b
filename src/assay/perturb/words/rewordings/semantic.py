"""LIBERO-PRO's semantic variants: the same request about the same things in slightly other words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.perturb.words.rewordings.level5 import last_step_first
from assay.tasks import Scene
from assay.tasks.language import Action, Step, read_steps, verb_named, write_steps
from assay.tasks.language.phrases import TOWARDS, with_place_clause
from assay.tasks.language.sentences import depends
from assay.tasks.language.verbs import plain_synonyms

_PART = re.compile(r"the (?P<part>(?:[\w-]+ )?[\w-]+) of the (?P<whole>[\w -]+)")


@perturbation
@dataclass(frozen=True, slots=True)
class Semantic(TextPerturbation):
    """Other verbs, prepositions and turns of phrase; things keep their names."""

    kind = "words/semantic"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in one of its variants."""
        options = variants(text)
        return options[int(rng.integers(len(options)))]


def variants(text: str) -> tuple[str, ...]:
    """Every variant of an instruction: none like it, no two alike."""
    steps = read_steps(text)
    options = [_options(step, alone=len(steps) == 1) for step in steps]
    count = max(map(len, options))
    found = [write_steps([option[index % len(option)] for option in options]) for index in range(count)]
    owned = [replace(step, thing=_with_owner(step.thing), target=_with_owner(step.target)) for step in steps]
    found.append(write_steps(owned))
    if len(steps) > 1:
        found.append(write_steps([_with_synonym(step) for step in steps], joint=" and then "))
    if len(steps) == 2 and depends(steps[1], steps[0]):
        found.append(last_step_first(_with_synonym(steps[1]), steps[0]))
    return tuple(name for name in dict.fromkeys(found) if name != write_steps(steps))


def _options(step: Step, *, alone: bool) -> list[Step]:
    """Other ways to say a step; longer ones only where it stands alone."""
    others = [replace(step, verb=verb) for verb in plain_synonyms(step.action, step.verb)]
    match step.action:
        case Action.PUT if step.fetch is not None:
            return [
                replace(step, fetch=verb_named("take"), verb=verb_named("put")),
                replace(step, fetch=verb_named("lift"), verb=verb_named("set")),
                replace(
                    _directed_step(step),
                    fetch=None,
                    thing=with_place_clause(step.thing),
                    verb=verb_named("move"),
                ),
                replace(_directed_step(step), fetch=verb_named("grab")),
            ]
        case Action.PUT:
            moved = replace(_directed_step(step), verb=verb_named("move"))
            can_move = moved.preposition.startswith("to ") or moved.preposition in TOWARDS.values()
            taken = replace(step, fetch=verb_named("take"))
            return [*others, *([moved] if can_move else []), *([taken] if alone else [])]
        case Action.PUSH:
            over = replace(step, preposition=f"over {step.preposition}")
            moved = replace(step, verb=verb_named("move"))
            return [*others, moved, *([over] if step.preposition.startswith("to ") else [])]
        case _ if step.verb.particle:
            return [*others, *(replace(each, late=True) for each in (step, *others))]
        case _:
            return [*others, *(replace(other, late=True) for other in others if other.verb.particle)]


def _with_synonym(step: Step) -> Step:
    return replace(step, verb=plain_synonyms(step.action, step.verb)[0])


def _directed_step(step: Step) -> Step:
    return replace(step, preposition=TOWARDS.get(step.preposition, step.preposition))


def _with_owner(phrase: str) -> str:
    """``the cabinet's middle drawer`` for ``the middle drawer of the cabinet``."""
    return _PART.sub(r"the \g<whole>'s \g<part>", phrase)
