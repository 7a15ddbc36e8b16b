"""Coordination and subordination: other clauses around the same act, whose verb stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.perturb.words.grid.clauses import act, one_step
from assay.perturb.words.grid.frames import frames
from assay.tasks.language import Step, Verb, verb_named
from assay.tasks.language.phrases import is_long, part_and_whole, pronoun
from assay.tasks.language.verbs import Before, verb_table


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
