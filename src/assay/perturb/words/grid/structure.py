"""Coordination and subordination: other clauses around the same act, whose verb stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.perturb.words.grid.clauses import act, one_step
from assay.perturb.words.grid.lexicon import Before, Lexicon
from assay.perturb.words.grid.meaning import Step
from assay.perturb.words.grid.verbs import Verb, verb_of


def coordinations(steps: Sequence[Step], lexicon: Lexicon) -> Iterator[str]:
    """Clauses side by side."""
    frames = lexicon.frames.coordination
    if len(steps) > 1 or steps[0].lift is not None:
        parts = _one_and_two(steps)
        yield from (frame.format_map(parts) for frame in frames.several)
        return
    step, whole = steps[0], steps[0].x.part_and_whole
    for verb in _before(step, lexicon.verbs.coordinated, lexicon):
        fields = _before_and_it(step, verb)
        yield from (frame.format_map(fields) for frame in frames.one)
        if whole is not None and step.states is not None:
            fields = {"get_whole": verb.act(whole[1]), "do_part": act(step, x=f"its {whole[0]}")}
            yield from (frame.format_map(fields) for frame in frames.part)


def subordinations(steps: Sequence[Step], lexicon: Lexicon) -> Iterator[str]:
    """One clause depends on another."""
    frames = lexicon.frames.subordination
    first = steps[0]
    if len(steps) > 1 or first.lift is not None:
        parts = _one_and_two(steps)
        yield from (frame.format_map(parts) for frame in frames.several)
        if first.lift is not None or first.sense in ("open", "open_door"):
            yield from (frame.format_map(parts) for frame in frames.several_enables)
        if "two_full" in parts:
            yield from (frame.format_map(parts) for frame in frames.several_reversed)
        if first.states is not None:
            fields = one_step(first) | parts
            yield from (frame.format_map(fields) for frame in frames.several_state)
        return
    for verb in _before(first, lexicon.verbs.subordinated, lexicon):
        fields = _before_and_it(first, verb)
        yield from (frame.format_map(fields) for frame in frames.one)
    for verb in _before(first, lexicon.verbs.coordinated, lexicon):
        fields = _before_and_it(first, verb)
        yield from (frame.format_map(fields) for frame in frames.enables)
    alone = one_step(first) | {
        "do": act(first),
        "do_away": act(first, place=""),
        "do_it_away": act(first, x=first.x.pronoun, place=""),
    }
    if first.states is None:
        yield from (
            frame.format_map(alone) for frame in (frames.push if first.sense == "push" else frames.put)
        )


def _before(step: Step, listed: Before, lexicon: Lexicon) -> list[Verb]:
    moved = step.states is None and step.sense != "push"
    return [verb_of(written, lexicon.verbs.irregular) for written in (listed.move if moved else listed.other)]


def _before_and_it(step: Step, verb: Verb) -> dict[str, str]:
    """What comes before the one step, and the step with "it"."""
    thing, it = step.x.text, step.x.pronoun
    return {
        "get": verb.act(thing),
        "getting": verb.act(thing, "ing"),
        "got": verb.act(thing, "participle"),
        "getting_it": verb.act(it, "ing"),
        "got_it": verb.act(it, "participle"),
        "do": act(step),
        "do_it": act(step, x=it),
    }


def _one_and_two(steps: Sequence[Step]) -> dict[str, str]:
    """The first of several acts and the others; "pick up X and place it on Y" is two acts."""
    first, rest = steps[0], steps[1:]
    if first.lift is not None:
        lift, thing, it = first.lift, first.x.text, first.x.pronoun
        two = " and ".join([act(first, x=it), *(act(step) for step in rest)])
        parts = {
            "one": lift.act(thing),
            "doing_one": lift.act(thing, "ing"),
            "done_one": lift.act(thing, "participle"),
            "two": two,
        }
        if rest or first.x.long:
            return parts
        return parts | {
            "two_full": act(first, x=thing),
            "one_it": lift.act(it),
            "doing_one_it": lift.act(it, "ing"),
            "done_one_it": lift.act(it, "participle"),
        }
    parts = {
        "one": act(first),
        "doing_one": act(first, "ing"),
        "done_one": act(first, "participle"),
        "two": " and ".join(act(step) for step in rest),
    }
    return parts if len(rest) > 1 else parts | _reversed(first, rest[0])


def _reversed(first: Step, second: Step) -> dict[str, str]:
    """The second of two steps in full, and the first one with "it" for what they share."""
    x, place, full = None, None, act(second)
    if second.x_said != second.x.text and second.lift is None:  # "... and close it"
        place, full = f"{first.relation} {second.x.pronoun}", act(second, x=second.x.text)
    elif second.y is not None and second.place_said.split()[-1] in ("it", "them", "inside"):
        x, full = first.x.pronoun, act(second, place=f"{second.relation} {second.y.text}")
    return {
        "two_full": full,
        "one_it": act(first, x=x, place=place),
        "doing_one_it": act(first, "ing", x=x, place=place),
        "done_one_it": act(first, "participle", x=x, place=place),
    }
