"""Instructions edited: another thing, another action, another outcome, where no four of one scene were heard.

Edits of one text flock around it, and the middle of the flock is the answer. So two parts are exchanged, each
for itself: with "put the carrot on the plate" stand "put the pot on the plate" (another thing), "put the
carrot on the stove" (another outcome) and "put the pot on the stove", and none is in the middle. What is put
in is drawn from the data set as often as it occurs there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from types import MappingProxyType

import numpy as np

from assay.errors import PerturbationError
from assay.extensions.eqa.drafts.draft import OPTIONS
from assay.extensions.eqa.drafts.likeness import is_other
from assay.tasks.language import Action, Step, read_steps, verb_named, write_steps

OPPOSITE: Mapping[Action, str] = MappingProxyType(
    {Action.OPEN: "close", Action.CLOSE: "open", Action.TURN_ON: "turn off", Action.TURN_OFF: "turn on"}
)


def step_of(text: str) -> Step | None:
    """The one step of an instruction; None where the grammar finds none, or several."""
    try:
        steps = read_steps(text)
    except PerturbationError:
        return None
    plain = text.strip(" .!").lower()
    return steps[0] if len(steps) == 1 and steps[0].thing and write_steps(steps).lower() == plain else None


def edits(text: str, heard: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """An instruction, as the grammar says it, and three edits; nothing where one of them cannot be had.

    ``heard`` are the instructions that things and places are taken from, each as often as it occurs.
    """
    step = step_of(text)
    if step is None:
        return ()
    others = [found for each in heard if (found := step_of(each)) is not None]
    alike = [other for other in others if (other.action in _PLACING) == (step.action in _PLACING)]
    things = [each.thing for each in alike if (each.action in OPPOSITE) == (step.action in OPPOSITE)]
    if step.action in _PLACING:
        places = [(each.preposition, each.target) for each in alike if each.target]
        thing = next(_drawn(things, [step.thing, step.target], rng), None)
        taken = [step.thing, step.target, *([thing] if thing else [])]
        target = next(_drawn([each for _, each in places], taken, rng), None)
        if thing is None or target is None:
            return ()
        preposition = next(each for each, name in places if name == target)
        chosen = [
            replace(step, thing=one, preposition=how, target=where)
            for one, (how, where) in product(
                (step.thing, thing), ((step.preposition, step.target), (preposition, target))
            )
        ]
    elif step.action in OPPOSITE:
        thing = next(_drawn(things, [step.thing], rng), None)
        if thing is None:
            return ()
        verbs = (step.verb, verb_named(OPPOSITE[step.action]))
        chosen = [replace(step, verb=verb, thing=one) for verb, one in product(verbs, (step.thing, thing))]
    else:
        names = [step.thing]
        names += islice(_drawn(things, names, rng), OPTIONS - 1)
        chosen = [replace(step, thing=name) for name in names]
    texts = tuple(dict.fromkeys(write_steps([each]) for each in chosen))
    return texts if len(texts) == OPTIONS else ()


_PLACING = (Action.PUT, Action.PUSH)


def _drawn(names: Sequence[str], taken: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """Names in a random order, the frequent ones early, each unlike what is taken and what came before."""
    gone = list(taken)
    for place in rng.permutation(len(names)).tolist():
        if all(is_other(names[place], each) for each in gone):
            gone.append(names[place])
            yield names[place]
