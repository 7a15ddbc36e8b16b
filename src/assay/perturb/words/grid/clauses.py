"""Steps as clauses, with fields for nouns: "putting the {n0} on the {n1}", "the {n0} put on the {n1}"."""

from __future__ import annotations

from collections.abc import Sequence

from assay.perturb.words.grid.meaning import Step
from assay.perturb.words.grid.verbs import DIRECTIONS, Verb


def act(
    step: Step,
    form: str = "base",
    *,
    verb: Verb | None = None,
    lift: Verb | None = None,
    x: str | None = None,
    place: str | None = None,
    apart: bool = False,
) -> str:
    """A step in the active voice; ``form`` is ``base``, ``ing`` or ``participle``.

    Verbs, thing and place are those of the instruction unless given; ``x`` alone leaves out "pick up X and".
    """
    verb = verb or step.verb
    place = step.place_said if place is None else place
    if verb.moves:
        place = directed(place)
    if step.lift is not None and x is None:
        first = (lift or step.lift).act(step.x.text, form)
        return f"{first} and {verb.act(step.x.pronoun, form)} {place}"
    return f"{verb.act(x or step.x_said, form, apart=apart)} {place}".rstrip()


def directed(place: str) -> str:
    """A place as a verb of motion has it: "onto the stove", "onto the top of the cabinet"."""
    if place.startswith("on top of"):
        return place.replace("on top of", "onto the top of", 1)
    first, space, rest = place.partition(" ")
    return place if rest.startswith("front of") else f"{DIRECTIONS.get(first, first)}{space}{rest}"


def named(step: Step) -> str:
    """The thing, for a sentence that turns on it: never "it"."""
    return step.x.text if step.lift is not None or step.x_said == step.x.text else step.x.short


def acted(step: Step) -> str:
    """What happens to the thing: "put on the {n1}", "picked up and placed on the {n1}", "opened"."""
    verbs = step.verb.acted if step.lift is None else f"{step.lift.acted} and {step.verb.acted}"
    return f"{verbs} {step.place_said}".rstrip()


def all_steps(steps: Sequence[Step]) -> dict[str, str]:
    """The clauses that say everything, by the names frames use."""

    def joined(middle: str, end: list[str]) -> str:
        return " and ".join(f"{named(step)} {middle}{each}" for step, each in zip(steps, end, strict=True))

    passive, state = [acted(step) for step in steps], [step.there for step in steps]
    return {
        "do": " and ".join(act(step) for step in steps),
        "doing": " and ".join(act(step, "ing") for step in steps),
        "done": joined("", passive),
        "to_be_done": joined("to be ", passive),
        "so": joined("", state),
        "to_be_so": joined("to be ", state),
    }


def one_step(step: Step) -> dict[str, str]:
    """What frames may say of one step."""
    many = step.x.plural
    fields = {
        "x": named(step),
        "bare": step.x.bare if named(step) == step.x.text else named(step),
        "there": step.there,
        "place": step.place_said,
        "acted": acted(step),
        "acted_x": act(step, "participle") if step.x_said == step.x.text or step.lift else _again(step),
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
    if step.y is not None:
        fields["y"] = step.y.text
    if step.states is not None:
        fields["was"] = step.states[1]
    return fields


def _again(step: Step) -> str:
    """Done with a thing that was mentioned before: "closed the {n1}"."""
    return act(step, "participle", x=step.x.short)
