"""The same request in another sentence: LIBERO-X's fifth level, LIBERO-PRO's semantic variants, telegraphic style."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.text import TextPerturbation
from assay.perturb.world.kinds import unseen
from assay.tasks import Scene
from assay.tasks.language import phrases
from assay.tasks.language.lexicon import Action, Verb, lexicon, plain_synonyms, verb_named
from assay.tasks.language.steps import (
    Step,
    adapt_pronouns,
    depends,
    read_steps,
    write_in_full,
    write_passive,
    write_steps,
)

VERBOSE_FRAMES = (
    "Have a look at what is in front of you and then, please, {}. That is all there is to do.",
    "What I would like you to do now is the following: {}. Take as long as you need.",
    "Your next job, and the only one for the moment, is to {}.",
    "I have just one request, which is to {}. The rest of the things can stay as they are.",
    "As soon as you are ready, go ahead and {}; nothing more needs to be done after that.",
)
MAX_PLAIN_SYNONYMS = 2
"""Number of synonyms of a noun that count as plain; the lexicon lists the plainest first."""
_PART = re.compile(r"the (?P<part>(?:[\w-]+ )?[\w-]+) of the (?P<whole>[\w -]+)")


@perturbation
class Concise(TextPerturbation):
    """Omits articles, and verbs that a location implies: ``bowl on stove``."""

    kind = "words/concise"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Shorten the instruction."""

        def shorten(step: Step) -> str:
            thing = phrases.without_articles(step.thing)
            if thing.startswith("both ") and " and " in thing:
                thing = thing.removeprefix("both ")
            if step.action in (Action.TURN_ON, Action.TURN_OFF):
                return f"{thing} {step.outcome}"
            if not step.preposition:
                return step.verb.phrase("it" if step.thing_again else thing)
            where = phrases.without_articles(step.place_wording)
            if step.fetch is not None:
                where = f"{_direct(step).preposition} {phrases.without_articles(step.target)}"
            return f"{thing}{',' if phrases.is_located(step.thing) else ''} {where}"

        return ", ".join(map(shorten, adapt_pronouns(read_steps(text))))


@perturbation
class Reorder(TextPerturbation):
    """Puts the location or the last step at the beginning: ``on the stove, put the bowl``."""

    kind = "words/reorder"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Put the location of each step first; if two steps depend on each other, put the last step first."""
        steps = read_steps(text)
        if len(steps) == 2 and depends(steps[1], steps[0]):
            return _write_last_first(steps[1], steps[0])
        if len(steps) == 1 and not steps[0].preposition:
            return f"{steps[0].thing}, {steps[0].verb.phrase(phrases.pronoun(steps[0].thing))}"

        def put_place_first(step: Step) -> str:
            if not step.preposition:
                return write_in_full(step)
            if phrases.is_located(step.thing):
                # "on the plate, place the bowl on the stove" would have two destinations.
                return f"{step.verb.base} {step.place} {phrases.with_place_clause(step.thing)}"
            return f"{step.place}, {step.verb.phrase(step.thing)}"

        return ", and ".join(map(put_place_first, steps))


@perturbation
class Passive(TextPerturbation):
    """Uses the passive voice: ``the bowl should be put on the stove``."""

    kind = "words/passive"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Rewrite the instruction in the passive voice."""
        return " and ".join(
            f"{phrases.without_whole(step.thing) if step.thing_again else step.thing} should be {write_passive(step)}"
            for step in adapt_pronouns(read_steps(text))
        )


@perturbation
class Verbose(TextPerturbation):
    """Embeds the request in a wordy sentence."""

    kind = "words/verbose"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Insert the instruction into a randomly chosen sentence template."""
        plain = write_steps(read_steps(text))
        return VERBOSE_FRAMES[int(rng.integers(len(VERBOSE_FRAMES)))].format(plain)


@perturbation
class Telegraphic(TextPerturbation):
    """Omits articles, pronouns and conjunctions: ``turn on stove, put moka pot on stove``."""

    kind = "words/telegraphic"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Rewrite the instruction in telegraphic style."""

        def shorten(step: Step) -> str:
            thing, where = phrases.without_articles(step.thing), phrases.without_articles(step.place)
            if step.thing_again:
                thing = phrases.without_whole(thing).split()[-1]
            if step.place_wording == "inside":
                where = "inside"
            if step.fetch is None:
                return " ".join(filter(None, (step.verb.name, thing, where)))
            return f"{step.fetch.name} {thing}, {step.verb.name} {where}".rstrip()

        return ", ".join(map(shorten, adapt_pronouns(read_steps(text))))


@perturbation
class Synonyms(TextPerturbation):
    """Replaces every verb, and every name that has a synonym, keeping the sentence structure."""

    kind = "words/synonyms"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Replace names with unambiguous synonyms, and verbs with randomly chosen synonyms."""
        names = synonyms_in(scene)
        pattern = "|".join(sorted(map(re.escape, names), key=len, reverse=True))

        def rename(phrase: str) -> str:
            return re.sub(rf"\b(?:{pattern})\b", lambda name: names[name[0]], phrase) if pattern else phrase

        def draw_verb(action: Action, verb: Verb) -> Verb:
            others = plain_synonyms(action, verb)
            return others[int(rng.integers(len(others)))]

        def swap(step: Step) -> Step:
            verb = draw_verb(step.action, step.verb)
            fetch = None if step.fetch is None else draw_verb(Action.TAKE, step.fetch)
            return replace(step, verb=verb, fetch=fetch, thing=rename(step.thing), target=rename(step.target))

        return write_steps([swap(step) for step in read_steps(text)])


@perturbation
class Semantic(TextPerturbation):
    """Uses other verbs, prepositions and phrases; the names of objects do not change."""

    kind = "words/semantic"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Return a randomly chosen semantic variant of the instruction."""
        options = variants(text)
        return options[int(rng.integers(len(options)))]


def variants(text: str) -> tuple[str, ...]:
    """Return the semantic variants of an instruction, without duplicates and without the instruction itself."""
    steps = read_steps(text)
    options = [_vary(step, alone=len(steps) == 1) for step in steps]
    count = max(map(len, options))
    texts = [write_steps([option[index % len(option)] for option in options]) for index in range(count)]
    texts.append(
        write_steps(
            [replace(step, thing=_with_owner(step.thing), target=_with_owner(step.target)) for step in steps]
        )
    )
    renamed = [replace(step, verb=plain_synonyms(step.action, step.verb)[0]) for step in steps]
    if len(steps) > 1:
        texts.append(write_steps(renamed, joint=" and then "))
    if len(steps) == 2 and depends(steps[1], steps[0]):
        texts.append(_write_last_first(renamed[1], steps[0]))
    return tuple(variant for variant in dict.fromkeys(texts) if variant != write_steps(steps))


def synonyms_in(scene: Scene) -> Mapping[str, str]:
    """Map each name of an object in a scene to a synonym, or to itself if it has none.

    Categories that occur in no built-in task keep their names, because policies were not trained on these objects.
    """
    categories = {entity.category for entity in scene.entities}
    new = categories.intersection(unseen())
    named = (noun for noun in lexicon().nouns.values() if categories.intersection(noun.things))
    here = lexicon().with_parts(named)
    synonyms: dict[str, str] = {}
    for noun in here:
        taken = {name for other in here if not noun.names_same_thing(other) for name in other.all_names}
        for form in noun.original_forms:
            plain = () if new.intersection(noun.things) else noun.habitual[:MAX_PLAIN_SYNONYMS]
            free = (name for name in plain if name.lower() not in taken and name != form)
            other = next(free, form)
            synonyms |= {form: other, noun.plural_of(form): noun.plural_of(other)}
    return synonyms


def _write_last_first(step: Step, before: Step) -> str:
    """Return two steps as one phrase, last step first: ``put the pot on the stove after turning it on``."""
    if before.thing == step.target:
        earlier = f"{before.verb.phrase(phrases.pronoun(before.thing), 'ing')} {before.place}".rstrip()
    else:
        earlier = f"{before.verb.phrase(before.thing, 'ing')} {before.preposition} it"
    return f"{write_in_full(step)} after {earlier}"


def _vary(step: Step, *, alone: bool) -> list[Step]:
    """Return other phrases for a step; long phrases are included only if the instruction has a single step."""
    others = [replace(step, verb=verb) for verb in plain_synonyms(step.action, step.verb)]
    moved = replace(_direct(step), verb=verb_named("move"))
    match step.action:
        case Action.PUT if step.fetch is not None:
            return [
                replace(step, fetch=verb_named("take"), verb=verb_named("put")),
                replace(step, fetch=verb_named("lift"), verb=verb_named("set")),
                replace(moved, fetch=None, thing=phrases.with_place_clause(step.thing)),
                replace(_direct(step), fetch=verb_named("grab")),
            ]
        case Action.PUT:
            can_move = moved.preposition.startswith("to ") or moved.preposition in phrases.TOWARDS.values()
            fetched = replace(step, fetch=verb_named("take"))
            return [*others, *([moved] if can_move else []), *([fetched] if alone else [])]
        case Action.PUSH:
            over = replace(step, preposition=f"over {step.preposition}")
            moved = replace(step, verb=verb_named("move"))
            return [*others, moved, *([over] if step.preposition.startswith("to ") else [])]
        case _ if step.verb.particle:
            return [*others, *(replace(other, late=True) for other in (step, *others))]
        case _:
            return [*others, *(replace(other, late=True) for other in others if other.verb.particle)]


def _direct(step: Step) -> Step:
    """Return the step with a preposition of direction, such as "onto" for "on"."""
    return replace(step, preposition=phrases.TOWARDS.get(step.preposition, step.preposition))


def _with_owner(phrase: str) -> str:
    """Rewrite "of" as a genitive: ``the cabinet's middle drawer`` for ``the middle drawer of the cabinet``."""
    return _PART.sub(r"the \g<whole>'s \g<part>", phrase)
