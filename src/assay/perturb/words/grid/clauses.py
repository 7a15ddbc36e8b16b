"""Steps as clauses, with fields for nouns: "putting the {n0} on the {n1}", "the {n0} put on the {n1}"."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.language import Step, Verb
from assay.tasks.language.phrases import TOWARDS, is_plural, noun_alone, pronoun, without_both


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
