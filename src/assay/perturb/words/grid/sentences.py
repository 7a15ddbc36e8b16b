"""The action axis of the grid: sentence templates with fields for nouns, built from the frames in ``frames.yaml``.

"put the {n0} on the {n1}" becomes "could you put the {n0} on the {n1}?", "the {n0} still isn't on the {n1}", ...
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from assay.perturb.words.grid.cells import ActionType
from assay.tasks.language.lexicon import PrecedingVerbs, Verb, load_yaml, verb_named, verb_table
from assay.tasks.language.meaning import Meaning
from assay.tasks.language.phrases import FIELD, is_long, is_plural, pronoun
from assay.tasks.language.steps import Step, write_passive, write_step

Fields = Mapping[str, str]
_HOLDING = ("on", "onto", "in", "into", "inside", "on top of")
_TAKING = ("on", "onto", "in", "into")
_ADJACENT_PLACES = re.compile(r"\{(?:x|bare)\} \{there\}|\{so\}")
"""Matches frames in which an object's location ("the bowl on the tray") directly precedes its destination."""
_PART_OF_WHOLE = re.compile(r"the (?P<part>[^{]*\{\w+\}) of (?P<whole>the [^{]*\{\w+\})")
"""Matches "the middle {n0} of the {n1}"."""


@cache
def frames() -> Mapping[str, Any]:
    """Return the frames in ``frames.yaml`` by action type and, for some types, by steps to which they apply."""
    content: Mapping[str, Any] = load_yaml(files(__package__).joinpath("frames.yaml"))
    return content


def templates(meaning: Meaning, action: ActionType) -> tuple[str, ...]:
    """Return all sentences of an action type, without duplicates: "could you put the {n0} on the {n1}?"."""
    steps, sentences = meaning.steps, iter([meaning.slotted])
    match action:
        case ActionType.ADDITION:
            sentences = _add_adverbs(steps)
        case ActionType.HABITUAL | ActionType.CONTEXTUAL:
            versions = [[write_step(step), *_change_verbs(step, action)] for step in steps]
            combinations = itertools.product(*versions)
            next(combinations)  # the original
            sentences = map(" and ".join, combinations)
        case ActionType.COORDINATION:
            sentences = _coordinate(steps)
        case ActionType.SUBORDINATION:
            sentences = _subordinate(steps)
        case ActionType.QUESTION | ActionType.HINT:
            sentences = _ask_or_hint(frames()[action.value], steps)
        case ActionType.NEED | ActionType.EMBEDDED | ActionType.PERMISSION:
            subjects = [_subject(step) for step in steps]
            done, outcomes = [write_passive(step) for step in steps], [step.outcome for step in steps]
            clauses: dict[str, Iterable[str]] = {
                "do": map(write_step, steps),
                "doing": (write_step(step, "ing") for step in steps),
                "done": map("{} {}".format, subjects, done),
                "to_be_done": map("{} to be {}".format, subjects, done),
                "so": map("{} {}".format, subjects, outcomes),
                "to_be_so": map("{} to be {}".format, subjects, outcomes),
            }
            fields = {name: " and ".join(parts) for name, parts in clauses.items()}
            sentences = _fill(_select_frames(frames()[action.value], steps), fields)
    return tuple(dict.fromkeys(sentences))


def _fill(sentences: Iterable[str], fields: Fields) -> Iterator[str]:
    return (sentence.format_map(fields) for sentence in sentences)


def _select_frames(sentences: Iterable[str], steps: Sequence[Step]) -> list[str]:
    """Omit frames in which the location in a long noun phrase would be ambiguous."""
    long = any(is_long(step.thing) and step.states is None for step in steps)
    return [sentence for sentence in sentences if not (long and _ADJACENT_PLACES.search(sentence))]


def _add_adverbs(steps: Sequence[Step]) -> Iterator[str]:
    """Add a manner adverb to one step, before its verb or at the end."""
    adverbs, plain = verb_table().adverbs, [write_step(step) for step in steps]
    for index, step in enumerate(steps):
        for adverb in (*adverbs["any"], *adverbs.get(step.sense, ())):
            yield " and ".join([*plain[:index], f"{adverb} {plain[index]}", *plain[index + 1 :]])
            if step.fetch is not None:
                placing = write_step(step, thing=pronoun(step.thing))
                between = f"{step.fetch.phrase(step.thing)} and {adverb} {placing}"
                yield " and ".join([*plain[:index], between, *plain[index + 1 :]])
            if step is steps[-1]:
                yield f"{' and '.join(plain)} {adverb}"


def _change_verbs(step: Step, action: ActionType) -> list[str]:
    """Rewrite a step with each of the other verbs of a type."""

    def others(sense: str, verb: Verb) -> list[Verb]:
        listed = verb_table().senses[sense]
        names = listed.habitual if action is ActionType.HABITUAL else listed.contextual
        return [other for other in map(verb_named, names) if other.name != verb.name]

    verbs = others(step.sense, step.verb)
    if step.fetch is not None:
        fetches = others("take", step.fetch)
        pairs = itertools.product((step.verb, *verbs), (step.fetch, *fetches))
        next(pairs)  # the original
        return [write_step(replace(step, verb=verb, fetch=fetch)) for verb, fetch in pairs]
    # "pull the drawer of the cabinet out" is fine; "open the drawer of the cabinet up" is not.
    long = is_long(step.thing)
    versions = [replace(step, verb=verb) for verb in verbs]
    if not long or step.states is not None:
        particles = [verb for verb in verbs if verb.particle and not (long and verb.particle == "up")]
        versions += [replace(step, verb=verb, late=True) for verb in particles]
    return [write_step(version) for version in versions]


def _ask_or_hint(groups: Mapping[str, Sequence[str]], steps: Sequence[Step]) -> Iterator[str]:
    """Rewrite the steps as questions or hints that make the same statement about each step."""
    moving = all(step.states is None for step in steps)
    fitting = {
        "any": True,
        "move": moving,
        "holds": moving and all(step.preposition in _HOLDING for step in steps),
        "takes": moving and all(step.preposition in _TAKING for step in steps),
        "change": all(step.states is not None for step in steps),
    }
    sentences = (sentence for group, fits in fitting.items() if fits for sentence in groups[group])
    for sentence in _select_frames(sentences, steps):
        first, further, end = (part.strip() for part in sentence.split("//"))
        rest = (further.format_map(_describe(step)) for step in steps[1:])
        text = " ".join(filter(None, (first.format_map(_describe(steps[0])), *rest, end)))
        yield re.sub(r" ([,?])", r"\1", text)


def _coordinate(steps: Sequence[Step]) -> Iterator[str]:
    """Rewrite the step as coordinated main clauses, keeping its verb."""
    groups = frames()["coordination"]
    if len(steps) > 1 or steps[0].fetch is not None:
        yield from _fill(groups["several"], _split_steps(steps))
        return
    step = steps[0]
    parts = _PART_OF_WHOLE.fullmatch(step.thing)
    for verb in _preceding_verbs(step, verb_table().coordinated):
        yield from _fill(groups["one"], _describe_preceding(step, verb))
        if parts is not None and step.states is not None:
            do_part = write_step(step, thing=f"its {parts['part']}")
            fields = {"get_whole": verb.phrase(parts["whole"]), "do_part": do_part}
            yield from _fill(groups["part"], fields)


def _subordinate(steps: Sequence[Step]) -> Iterator[str]:
    """Rewrite the step as a main clause and a dependent clause, keeping its verb."""
    groups, first = frames()["subordination"], steps[0]
    if len(steps) > 1 or first.fetch is not None:
        fields = _split_steps(steps)
        yield from _fill(groups["several"], fields)
        if first.fetch is not None or first.sense in ("open", "open_door"):
            yield from _fill(groups["several_enables"], fields)
        if "two_full" in fields:
            yield from _fill(groups["several_reversed"], fields)
        if first.states is not None:
            yield from _fill(groups["several_state"], {**_describe(first), **fields})
        return
    for verb in _preceding_verbs(first, verb_table().subordinated):
        yield from _fill(groups["one"], _describe_preceding(first, verb))
    for verb in _preceding_verbs(first, verb_table().coordinated):
        yield from _fill(groups["enables"], _describe_preceding(first, verb))
    if first.states is None:
        fields = _describe(first) | {
            "do": write_step(first),
            "do_away": write_step(first, place=""),
            "do_it_away": write_step(first, thing=pronoun(first.thing), place=""),
        }
        yield from _fill(groups["push" if first.sense == "push" else "put"], fields)


def _preceding_verbs(step: Step, verbs: PrecedingVerbs) -> Iterable[Verb]:
    moves = step.states is None and step.sense != "push"
    return map(verb_named, verbs.move if moves else verbs.other)


def _describe_preceding(step: Step, verb: Verb) -> Fields:
    """Return the fields for an action that precedes a single step, and for this step with "it" as its object."""
    thing, it = step.thing, pronoun(step.thing)
    return {
        "get": verb.phrase(thing),
        "getting": verb.phrase(thing, "ing"),
        "got": verb.phrase(thing, "participle"),
        "getting_it": verb.phrase(it, "ing"),
        "got_it": verb.phrase(it, "participle"),
        "do": write_step(step),
        "do_it": write_step(step, thing=it),
    }


def _split_steps(steps: Sequence[Step]) -> Fields:
    """Return the fields for the first action and for the others; "pick up X and place it on Y" is two actions."""
    first, rest = steps[0], steps[1:]
    forms = {"": "base", "doing_": "ing", "done_": "participle"}

    def act(form: str, it: bool) -> str:
        """Return the first action; with ``it``, the object shared with the second is called "it"."""
        if first.fetch is not None:
            return first.fetch.phrase(pronoun(first.thing) if it else first.thing, form)
        return (
            write_step(first, form, thing=shared_thing, place=shared_place) if it else write_step(first, form)
        )

    shared_thing = shared_place = None
    if first.fetch is not None:
        two = " and ".join([write_step(first, thing=pronoun(first.thing)), *map(write_step, rest)])
        full = None if rest or is_long(first.thing) else write_step(first, thing=first.thing)
    else:
        second = rest[0]
        two, full = " and ".join(map(write_step, rest)), write_step(second)
        if second.thing_again and second.fetch is None:  # "... and close it"
            shared_place = f"{first.preposition} {pronoun(second.thing)}"
            full = write_step(second, thing=second.thing)
        elif second.place_again:
            shared_thing, full = pronoun(first.thing), write_step(second, place=second.place)
        if len(rest) > 1:
            full = None
    fields = {"two": two, **{f"{prefix}one": act(form, it=False) for prefix, form in forms.items()}}
    if full is not None:
        fields |= {
            "two_full": full,
            **{f"{prefix}one_it": act(form, it=True) for prefix, form in forms.items()},
        }
    return fields


def _describe(step: Step) -> dict[str, str]:
    """Return the fields for one step; verbs agree with its object."""
    subject, again = _subject(step), _is_again(step)
    # "The two {p0}" for "both {p0}", which does not go with "not".
    rest = step.thing.removeprefix("both ")
    is_both = rest != step.thing and not rest.startswith("the ")
    fields = {
        "x": subject,
        "bare": subject if again else f"the two {rest}" if is_both else rest,
        "there": step.outcome,
        "place": step.place_wording,
        "acted": write_passive(step),
        "acted_x": write_step(step, "participle", thing=subject if again else None),
    }
    plural = is_plural(step.thing)
    for verb in ("they it", "are is", "aren't isn't", "have has", "do does", "don't doesn't"):
        several, one = verb.split()
        fields[one.replace("'", "")] = several if plural else one
    fields |= {f"{verb}s": verb if plural else f"{verb}s" for verb in ("belong", "end")}
    fields["goes"] = "go" if plural else "goes"
    if step.target:
        fields["y"] = step.target
    if step.states is not None:
        fields["was"] = step.states[1]
    return fields


def _is_again(step: Step) -> bool:
    """Whether the instruction uses "it" for an object that another step names."""
    return step.thing_again != "" and step.fetch is None


def _subject(step: Step) -> str:
    """Return the object of a step as the subject of a sentence, never "it".

    A repeated mention is shortened, e.g. "the {n0}" for "the black {n0} on the {n1}", except in lists of objects.
    """
    field = FIELD.search(step.thing)
    if _is_again(step) and field is not None and " and the " not in step.thing:
        return f"the {field[0]}"
    return step.thing
