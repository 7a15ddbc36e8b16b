"""Sentences with gaps, from ``frames.yaml``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from assay.perturb.words.grid.cells import ActionType
from assay.tasks.language import Meaning, Step, Verb, verb_named
from assay.tasks.language.lexicon import Before, Entry, load_yaml, validate, verb_table
from assay.tasks.language.phrases import (
    TOWARDS,
    is_long,
    is_plural,
    noun_alone,
    part_and_whole,
    pronoun,
    without_both,
)

Sentences = tuple[str, ...]


class Structural(Entry):
    """Frames of coordination or subordination."""

    one: Sentences = ()
    part: Sentences = ()
    enables: Sentences = ()
    put: Sentences = ()
    push: Sentences = ()
    several: Sentences = ()
    several_enables: Sentences = ()
    several_reversed: Sentences = ()
    several_state: Sentences = ()


class Pragmatic(Entry):
    """Frames of questions or hints, by the steps they fit."""

    any: Sentences
    move: Sentences
    holds: Sentences
    takes: Sentences
    change: Sentences


class Frames(Entry):
    """Sentences with gaps; ``frames.yaml`` explains them."""

    coordination: Structural
    subordination: Structural
    need: Sentences
    embedded: Sentences
    permission: Sentences
    question: Pragmatic
    hint: Pragmatic


@cache
def frames() -> Frames:
    """What ``frames.yaml`` holds."""
    return validate(Frames, load_yaml(files(__package__).joinpath("frames.yaml")), "frames.yaml")


def act(
    step: Step,
    form: str = "base",
    *,
    verb: Verb | None = None,
    fetch: Verb | None = None,
    thing: str | None = None,
    place: str | None = None,
    apart: bool = False,
) -> str:
    """A step in the active voice; ``form`` is ``base``, ``ing`` or ``participle``.

    Verbs, thing and place are those of the instruction unless given; ``thing`` alone leaves out "pick up X and".
    """
    verb = verb or step.verb
    place = step.place_said if place is None else place
    if verb.moves:
        place = directed_place(place)
    if step.fetch is not None and thing is None:
        first = (fetch or step.fetch).phrase(step.thing, form)
        return f"{first} and {verb.phrase(pronoun(step.thing), form)} {place}"
    return f"{verb.phrase(thing or step.thing_said, form, apart=apart)} {place}".rstrip()


def directed_place(place: str) -> str:
    """A place as a verb of motion has it: "onto the stove", "onto the top of the cabinet"."""
    if place.startswith("on top of"):
        return place.replace("on top of", "onto the top of", 1)
    first, space, rest = place.partition(" ")
    stays = rest.startswith("front of") or first not in ("on", "in")
    return place if stays else f"{TOWARDS[first]}{space}{rest}"


def subject(step: Step) -> str:
    """The thing, for a sentence that turns on it: never "it"."""
    return noun_alone(step.thing) if _is_again(step) else step.thing


def passive(step: Step) -> str:
    """What happens to the thing: "put on the {n1}", "picked up and placed on the {n1}", "opened"."""
    verbs = " and ".join(verb.passive for verb in (step.fetch, step.verb) if verb is not None)
    return f"{verbs} {step.place_said}".rstrip()


def all_steps(steps: Sequence[Step]) -> dict[str, str]:
    """The clauses that say everything, by the names frames use."""

    def join_clauses(middle: str, end: list[str]) -> str:
        return " and ".join(f"{subject(step)} {middle}{each}" for step, each in zip(steps, end, strict=True))

    passives, outcomes = [passive(step) for step in steps], [step.outcome for step in steps]
    return {
        "do": " and ".join(act(step) for step in steps),
        "doing": " and ".join(act(step, "ing") for step in steps),
        "done": join_clauses("", passives),
        "to_be_done": join_clauses("to be ", passives),
        "so": join_clauses("", outcomes),
        "to_be_so": join_clauses("to be ", outcomes),
    }


def one_step(step: Step) -> dict[str, str]:
    """What frames may say of one step."""
    many, again = is_plural(step.thing), _is_again(step)
    fields = {
        "x": subject(step),
        "bare": subject(step) if again else without_both(step.thing),
        "there": step.outcome,
        "place": step.place_said,
        "acted": passive(step),
        "acted_x": act(step, "participle", thing=subject(step) if again else None),
        "it": "they" if many else "it",
        "is": "are" if many else "is",
        "isnt": "aren't" if many else "isn't",
        "has": "have" if many else "has",
        "does": "do" if many else "does",
        "doesnt": "don't" if many else "doesn't",
        "belongs": "belong" if many else "belongs",
        "goes": "go" if many else "goes",
        "ends": "end" if many else "ends",
    }
    if step.target:
        fields["y"] = step.target
    if step.states is not None:
        fields["was"] = step.states[1]
    return fields


def _is_again(step: Step) -> bool:
    """Whether the instruction says "it" for what another step has named."""
    return step.thing_again != "" and step.fetch is None


def coordinations(steps: Sequence[Step]) -> Iterator[str]:
    """Clauses side by side."""
    listed = frames().coordination
    if len(steps) > 1 or steps[0].fetch is not None:
        parts = _one_and_two(steps)
        yield from (frame.format_map(parts) for frame in listed.several)
        return
    step, whole = steps[0], part_and_whole(steps[0].thing)
    for verb in _before(step, verb_table().coordinated):
        fields = _before_and_it(step, verb)
        yield from (frame.format_map(fields) for frame in listed.one)
        if whole is not None and step.states is not None:
            fields = {"get_whole": verb.phrase(whole[1]), "do_part": act(step, thing=f"its {whole[0]}")}
            yield from (frame.format_map(fields) for frame in listed.part)


def subordinations(steps: Sequence[Step]) -> Iterator[str]:
    """One clause depends on another."""
    listed = frames().subordination
    first = steps[0]
    if len(steps) > 1 or first.fetch is not None:
        parts = _one_and_two(steps)
        yield from (frame.format_map(parts) for frame in listed.several)
        if first.fetch is not None or first.sense in ("open", "open_door"):
            yield from (frame.format_map(parts) for frame in listed.several_enables)
        if "two_full" in parts:
            yield from (frame.format_map(parts) for frame in listed.several_reversed)
        if first.states is not None:
            fields = one_step(first) | parts
            yield from (frame.format_map(fields) for frame in listed.several_state)
        return
    for verb in _before(first, verb_table().subordinated):
        fields = _before_and_it(first, verb)
        yield from (frame.format_map(fields) for frame in listed.one)
    for verb in _before(first, verb_table().coordinated):
        fields = _before_and_it(first, verb)
        yield from (frame.format_map(fields) for frame in listed.enables)
    alone = one_step(first) | {
        "do": act(first),
        "do_away": act(first, place=""),
        "do_it_away": act(first, thing=pronoun(first.thing), place=""),
    }
    if first.states is None:
        yield from (
            frame.format_map(alone) for frame in (listed.push if first.sense == "push" else listed.put)
        )


def _before(step: Step, listed: Before) -> list[Verb]:
    moved = step.states is None and step.sense != "push"
    return [verb_named(written) for written in (listed.move if moved else listed.other)]


def _before_and_it(step: Step, verb: Verb) -> dict[str, str]:
    """What comes before the one step, and the step with "it"."""
    thing, it = step.thing, pronoun(step.thing)
    return {
        "get": verb.phrase(thing),
        "getting": verb.phrase(thing, "ing"),
        "got": verb.phrase(thing, "participle"),
        "getting_it": verb.phrase(it, "ing"),
        "got_it": verb.phrase(it, "participle"),
        "do": act(step),
        "do_it": act(step, thing=it),
    }


def _one_and_two(steps: Sequence[Step]) -> dict[str, str]:
    """The first of several acts and the others; "pick up X and place it on Y" is two acts."""
    first, rest = steps[0], steps[1:]
    if first.fetch is not None:
        fetch, thing, it = first.fetch, first.thing, pronoun(first.thing)
        two = " and ".join([act(first, thing=it), *(act(step) for step in rest)])
        parts = {
            "one": fetch.phrase(thing),
            "doing_one": fetch.phrase(thing, "ing"),
            "done_one": fetch.phrase(thing, "participle"),
            "two": two,
        }
        if rest or is_long(first.thing):
            return parts
        return parts | {
            "two_full": act(first, thing=thing),
            "one_it": fetch.phrase(it),
            "doing_one_it": fetch.phrase(it, "ing"),
            "done_one_it": fetch.phrase(it, "participle"),
        }
    parts = {
        "one": act(first),
        "doing_one": act(first, "ing"),
        "done_one": act(first, "participle"),
        "two": " and ".join(act(step) for step in rest),
    }
    return parts if len(rest) > 1 else parts | _second_first(first, rest[0])


def _second_first(first: Step, second: Step) -> dict[str, str]:
    """The second of two steps in full, and the first one with "it" for what they share."""
    thing, place, full = None, None, act(second)
    if second.thing_again and second.fetch is None:  # "... and close it"
        place, full = f"{first.preposition} {pronoun(second.thing)}", act(second, thing=second.thing)
    elif second.place_again:
        thing, full = pronoun(first.thing), act(second, place=second.place)
    return {
        "two_full": full,
        "one_it": act(first, thing=thing, place=place),
        "doing_one_it": act(first, "ing", thing=thing, place=place),
        "done_one_it": act(first, "participle", thing=thing, place=place),
    }


_HOLDING = ("on", "onto", "in", "into", "inside", "on top of")
_TAKING = ("on", "onto", "in", "into")
_STUCK_TOGETHER = re.compile(r"\{(?:x|bare)\} \{there\}|\{so\}")


def templates(meaning: Meaning, action: ActionType) -> tuple[str, ...]:
    """The sentences of a type, each once: "could you put the {n0} on the {n1}?"."""
    return tuple(dict.fromkeys(_templates(meaning, action)))


def _templates(meaning: Meaning, action: ActionType) -> Iterable[str]:
    steps = meaning.steps
    match action:
        case ActionType.NONE:
            return (meaning.slotted,)
        case ActionType.ADDITION:
            return _with_adverb(steps)
        case ActionType.HABITUAL | ActionType.CONTEXTUAL:
            return _with_other_verbs(steps, action)
        case ActionType.COORDINATION:
            return coordinations(steps)
        case ActionType.SUBORDINATION:
            return subordinations(steps)
        case ActionType.QUESTION:
            return _pragmatic(frames().question, steps)
        case ActionType.HINT:
            return _pragmatic(frames().hint, steps)
        case _:
            fitting = (
                frame
                for frame in getattr(frames(), action.value)
                if not (_long(steps) and _STUCK_TOGETHER.search(frame))
            )
            clauses = all_steps(steps)
            return (frame.format_map(clauses) for frame in fitting)


def _with_adverb(steps: Sequence[Step]) -> Iterator[str]:
    """One step done in some manner: the adverb before its verb, or at the end."""
    adverbs, plain = verb_table().adverbs, [act(step) for step in steps]
    for index, step in enumerate(steps):
        for adverb in (*adverbs["any"], *adverbs.get(step.sense, ())):
            yield " and ".join([*plain[:index], f"{adverb} {plain[index]}", *plain[index + 1 :]])
            if step.fetch is not None:
                placing = act(step, thing=pronoun(step.thing))
                between = f"{step.fetch.phrase(step.thing)} and {adverb} {placing}"
                yield " and ".join([*plain[:index], between, *plain[index + 1 :]])
            if step is steps[-1]:
                yield f"{' and '.join(plain)} {adverb}"


def _with_other_verbs(steps: Sequence[Step], action: ActionType) -> Iterator[str]:
    """At least one verb is another."""
    versions = [[act(step), *_versions(step, action)] for step in steps]
    together = itertools.product(*versions)
    next(together)
    return (" and ".join(each) for each in together)


def _versions(step: Step, action: ActionType) -> list[str]:
    """A step with other verbs."""
    others = _others(step.sense, step.verb, action)
    if step.fetch is not None:
        fetches = _others("take", step.fetch, action)
        return [
            act(step, verb=verb, fetch=fetch)
            for verb, fetch in itertools.product((step.verb, *others), (step.fetch, *fetches))
            if (verb, fetch) != (step.verb, step.fetch)
        ]
    # "pull the drawer of the cabinet out" will do; "open the drawer of the cabinet up" will not.
    long, versions = is_long(step.thing), [act(step, verb=verb) for verb in others]
    apart = [verb for verb in others if verb.particle and not (long and verb.particle == "up")]
    if not long or step.states is not None:
        versions += [act(step, verb=verb, apart=True) for verb in apart]
    return versions


def _others(sense: str, verb: Verb, action: ActionType) -> list[Verb]:
    listed = verb_table().senses[sense]
    written = listed.habitual if action is ActionType.HABITUAL else listed.contextual
    found = (verb_named(each) for each in written)
    return [each for each in found if each.name != verb.name]


def _pragmatic(listed: Pragmatic, steps: Sequence[Step]) -> Iterator[str]:
    """Questions and hints: the same is said of each step."""
    moving = all(step.states is None for step in steps)
    groups = [listed.any]
    if moving:
        groups.append(listed.move)
    if moving and all(step.preposition in _HOLDING for step in steps):
        groups.append(listed.holds)
    if moving and all(step.preposition in _TAKING for step in steps):
        groups.append(listed.takes)
    if all(step.states is not None for step in steps):
        groups.append(listed.change)
    for frame in itertools.chain.from_iterable(groups):
        if _long(steps) and _STUCK_TOGETHER.search(frame):
            continue
        first, further, end = (part.strip() for part in frame.split("//"))
        rest = (further.format_map(one_step(each)) for each in steps[1:])
        text = " ".join(filter(None, (first.format_map(one_step(steps[0])), *rest, end)))
        yield re.sub(r" ([,?])", r"\1", text)


def _long(steps: Sequence[Step]) -> bool:
    return any(is_long(step.thing) and step.states is None for step in steps)
