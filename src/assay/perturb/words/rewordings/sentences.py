"""LIBERO-X's fifth level: the same request in another sentence. (Its synonyms are in `synonyms`.)"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.text import TextPerturbation
from assay.perturb.world.kinds import unseen
from assay.tasks import Scene
from assay.tasks.language import Action, Step, Verb, lexicon, read_steps, verb_named, write_steps
from assay.tasks.language.lexicon import plain_synonyms
from assay.tasks.language.phrases import (
    TOWARDS,
    is_located,
    pronoun,
    with_place_clause,
    without_articles,
    without_whole,
)
from assay.tasks.language.steps import depends, is_named_before, with_before, write_place, write_step

_FRAMES = (
    "Have a look at what is in front of you and then, please, {}. That is all there is to do.",
    "What I would like you to do now is the following: {}. Take as long as you need.",
    "Your next job, and the only one for the moment, is to {}.",
    "I have just one request, which is to {}. The rest of the things can stay as they are.",
    "As soon as you are ready, go ahead and {}; nothing more needs to be done after that.",
)


@perturbation
@dataclass(frozen=True, slots=True)
class Concise(TextPerturbation):
    """Keeps what matters: ``bowl on stove``."""

    kind = "words/concise"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in fewer words."""
        return make_concise(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Reorder(TextPerturbation):
    """Says the same in another order: ``on the stove, put the bowl``."""

    kind = "words/reorder"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in another order of words."""
        return reorder(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Passive(TextPerturbation):
    """Says what should be done to the thing: ``the bowl should be put on the stove``."""

    kind = "words/passive"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in the passive voice."""
        return make_passive(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Verbose(TextPerturbation):
    """Wraps the request into more words than it needs."""

    kind = "words/verbose"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in more words."""
        return verbose_variants(text)[int(rng.integers(len(_FRAMES)))]


def make_concise(text: str) -> str:
    """An instruction without articles and without the verbs that its places make plain."""
    return ", ".join(_concise(step, before) for step, before in with_before(read_steps(text)))


def reorder(text: str) -> str:
    """An instruction with its places first; where steps build on each other, with the last step first."""
    steps = read_steps(text)
    if len(steps) == 2 and depends(steps[1], steps[0]):
        return last_step_first(steps[1], steps[0])
    if len(steps) == 1 and not steps[0].preposition:
        return f"{steps[0].thing}, {steps[0].verb.phrase(pronoun(steps[0].thing))}"
    return ", and ".join(_place_first(step) for step in steps)


def make_passive(text: str) -> str:
    """An instruction in the passive voice."""
    return " and ".join(_passive(step, before) for step, before in with_before(read_steps(text)))


def verbose_variants(text: str) -> tuple[str, ...]:
    """An instruction inside longer ones, one for each frame."""
    plain = write_steps(read_steps(text))
    return tuple(frame.format(plain) for frame in _FRAMES)


def last_step_first(step: Step, before: Step) -> str:
    """Two steps, the last one first: ``put the pot on the stove after turning it on``."""
    if before.thing == step.target:
        earlier = f"{before.verb.phrase(pronoun(before.thing), 'ing')} {before.place}".rstrip()
    else:
        earlier = f"{before.verb.phrase(before.thing, 'ing')} {before.preposition} it"
    return f"{write_step(step)} after {earlier}"


def _concise(step: Step, before: Step | None) -> str:
    thing = without_articles(step.thing)
    if thing.startswith("both ") and " and " in thing:
        thing = thing.removeprefix("both ")
    if step.action in (Action.TURN_ON, Action.TURN_OFF):
        return f"{thing} {step.outcome}"
    if not step.preposition:
        return step.verb.phrase("it" if is_named_before(step, before) else thing)
    where = without_articles(write_place(step, before))
    if step.fetch is not None:
        where = f"{TOWARDS.get(step.preposition, step.preposition)} {without_articles(step.target)}"
    return f"{thing}{',' if is_located(step.thing) else ''} {where}"


def _place_first(step: Step) -> str:
    if not step.preposition:
        return write_step(step)
    if is_located(step.thing):
        # "on the plate, place the bowl on the stove" would say where to put it twice.
        return f"{step.verb.base} {step.place} {with_place_clause(step.thing)}"
    return f"{step.place}, {step.verb.phrase(step.thing)}"


def _passive(step: Step, before: Step | None) -> str:
    thing = without_whole(step.thing) if is_named_before(step, before) else step.thing
    verbs = " and ".join(verb.passive for verb in (step.fetch, step.verb) if verb is not None)
    return f"{thing} should be {verbs} {write_place(step, before)}".rstrip()


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


PLAIN = 2
"""How many synonyms of a noun are plain enough; the lexicon lists the plainest first."""


@perturbation
@dataclass(frozen=True, slots=True)
class Synonyms(TextPerturbation):
    """Swaps every verb, and every name for which a synonym is known, and keeps the sentence as it is."""

    kind = "words/synonyms"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in synonyms."""
        return swap_synonyms(text, scene, rng)


def swap_synonyms(text: str, scene: Scene, rng: np.random.Generator) -> str:
    """An instruction in synonyms: plain names that nothing else in the scene could have, and any verb."""
    others = synonyms_in(scene)
    known = "|".join(sorted(map(re.escape, others), key=len, reverse=True))

    def rename(phrase: str) -> str:
        return re.sub(rf"\b(?:{known})\b", lambda found: others[found[0]], phrase) if known else phrase

    def swap(step: Step) -> Step:
        verb = _draw_verb(step.action, step.verb, rng)
        fetch = None if step.fetch is None else _draw_verb(Action.TAKE, step.fetch, rng)
        return replace(step, verb=verb, fetch=fetch, thing=rename(step.thing), target=rename(step.target))

    return write_steps([swap(step) for step in read_steps(text)])


def synonyms_in(scene: Scene) -> Mapping[str, str]:
    """What instructions may call the things of a scene -> a synonym; what has none, to itself.

    So does what no built-in task has: no policy knows its name, and another would be no synonym of a known one.
    """
    categories = {entity.category for entity in scene.entities}
    new = categories.intersection(unseen())
    named = (noun for noun in lexicon().nouns.values() if categories.intersection(noun.things))
    here = lexicon().with_parts(named)
    found: dict[str, str] = {}
    for noun in here:
        taken = {name for other in here if not noun.names_same_thing(other) for name in other.all_names}
        for form in noun.original_forms:
            plain = () if new.intersection(noun.things) else noun.habitual[:PLAIN]
            free = (name for name in plain if name.lower() not in taken and name != form)
            other = next(free, form)
            found |= {form: other, noun.plural_of(form): noun.plural_of(other)}
    return found


def _draw_verb(action: Action, verb: Verb, rng: np.random.Generator) -> Verb:
    others = plain_synonyms(action, verb)
    return others[int(rng.integers(len(others)))]


@perturbation
@dataclass(frozen=True, slots=True)
class Telegraphic(TextPerturbation):
    """Leaves out articles, pronouns and conjunctions: ``turn on stove, put moka pot on stove``."""

    kind = "words/telegraphic"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction as a telegram."""
        return make_telegraphic(text)


def make_telegraphic(text: str) -> str:
    """An instruction in telegram style."""
    return ", ".join(_telegram(step, before) for step, before in with_before(read_steps(text)))


def _telegram(step: Step, before: Step | None) -> str:
    thing, where = without_articles(step.thing), without_articles(step.place)
    if is_named_before(step, before):
        thing = without_whole(thing).split()[-1]
    if write_place(step, before) == "inside":
        where = "inside"
    if step.fetch is None:
        return " ".join(filter(None, (step.verb.name, thing, where)))
    return f"{step.fetch.name} {thing}, {step.verb.name} {where}".rstrip()
