"""Instructions as steps: a verb, an object and a place each, with every "it" spelled out.

An instruction is a row of steps: "pick up X and place it on Y", "put X in Y", "push X to the front of Y",
"open X", "close X", "turn X on". Names of objects are not looked up: the text may have fields for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from assay.errors import PerturbationError
from assay.tasks.checks import quote
from assay.tasks.language.lexicon import PRONOUNS, Action, Verb, senses_by_verb, verb_named, verb_table
from assay.tasks.language.phrases import (
    POSTURES,
    PREPOSITION,
    RESTING,
    SIDE,
    TOWARDS,
    any_of,
    is_plural,
    pronoun,
)

STATES = {
    Action.OPEN: ("open", "closed"),
    Action.CLOSE: ("closed", "open"),
    Action.TURN_ON: ("on", "off"),
    Action.TURN_OFF: ("off", "on"),
}
"""How the object will be, and how it is."""
_SENSES = {"on": "put_on", "onto": "put_on", "on top of": "put_on"}
_SENSES |= dict.fromkeys(("in", "into", "inside"), "put_in")

_POSTURE = rf"(?:{any_of(POSTURES)} )?"
_PLACED_FIRST = re.compile(
    rf"(?P<thing>.+?) (?P<preposition>{_POSTURE}(?P<relation>{PREPOSITION}))(?: (?P<target>.+))?"
)
_PLACED_LAST = re.compile(
    rf"(?P<thing>.+){''.join(f'(?<! {posture})' for posture in POSTURES)} "
    rf"(?P<preposition>{_POSTURE}(?P<relation>{any_of(tuple(RESTING))}))"
    rf"(?: (?P<target>(?!the {SIDE}$)(?:the|its) .+|it|them)|(?<= inside))"
)
_PLACES_IT = re.compile(r"\w+ (?:it|them) ")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: take a thing, move it to a place, or change its state."""

    sense: str
    """What the verb means here, a key of the table's senses: ``put_on``, ``open``, ..."""
    verb: Verb
    thing: str
    """What it is done with, e.g. ``the black bowl next to the ramekin``; in full."""
    preposition: str = ""
    """How the object is placed, e.g. ``on top of``; empty where nothing is placed."""
    target: str = ""
    """Where it is placed, e.g. ``the cabinet``; in full."""
    fetch: Verb | None = None
    """Where the instruction says so: how the object is taken first, e.g. ``pick up``."""
    late: bool = False
    """Whether the verb's particle is to follow the object: ``turn the stove on``."""
    thing_again: str = ""
    """``it`` or ``them``, where the instruction says so for what the step before has named."""
    place_again: str = ""
    """``on it`` or ``inside``, where the instruction says so for what the step before has named."""

    @property
    def action(self) -> Action:
        """What is asked for, wherever the object goes."""
        return Action.PUT if self.sense.startswith("put_") else Action(self.sense.removesuffix("_door"))

    @property
    def states(self) -> tuple[str, str] | None:
        """How the object will be and how it is, for a change of state."""
        return STATES.get(self.action)

    @property
    def place(self) -> str:
        """Where the object goes, in full: ``on the stove``."""
        return f"{self.preposition} {self.target}".strip()

    @property
    def place_said(self) -> str:
        """Where the object goes, as the instruction has it."""
        return self.place_again or self.place

    @property
    def thing_said(self) -> str:
        """The object as the instruction has it."""
        return self.thing_again or self.thing

    @property
    def outcome(self) -> str:
        """How the object will be: ``on the stove``, ``inside``, ``open``."""
        if self.states is not None:
            return self.states[0]
        resting = RESTING.get(self.preposition, self.preposition)
        return resting + self.place_said.removeprefix(self.preposition)


def read_steps(text: str) -> tuple[Step, ...]:
    """Read the steps of an instruction. Raises PerturbationError if it cannot be read."""
    plain = text.rstrip(" .!")
    clauses = _joint().split(plain[:1].lower() + plain[1:])
    steps: list[Step] = []
    for clause, following in zip(clauses, (*clauses[1:], ""), strict=True):
        step = _read_clause(clause, taken_up=_PLACES_IT.match(following) is not None)
        taken = steps.pop() if steps and steps[-1].action is Action.TAKE else None
        step = _spell_out_thing(step, taken or (steps[-1] if steps else None))
        step = _spell_out_place(step, steps[-1] if steps else taken)
        if taken is not None and step.thing == taken.thing:
            step = replace(step, fetch=taken.verb)
        elif taken is not None:
            steps.append(taken)
        steps.append(step)
    return tuple(steps)


def antecedent(pronoun: str, before: Step) -> str:
    """What "it" or "them" stands for after a step."""
    if pronoun == "them" and before.target and not is_plural(before.target):
        return before.thing if is_plural(before.thing) else f"{before.thing} and {before.target}"
    return before.target or before.thing


@cache
def _joint() -> re.Pattern[str]:
    """What joins two clauses: "and" before a verb."""
    verbs = any_of(tuple({verb.split()[0] for verb in senses_by_verb()}))
    return re.compile(rf"(?:[,;]? and then|[,;]? then|,? and|[,;]) (?={verbs} )")


def _read_clause(clause: str, *, taken_up: bool) -> Step:
    """One clause as a step; ``taken_up`` if the next one says where to put it."""
    for name, senses in senses_by_verb().items():
        verb = verb_named(name)
        body = _after_verb(clause, verb)
        if body is None:
            continue
        puts = [sense for sense in senses if sense == "push" or sense.startswith("put_")]
        placed = _match_place(body) if puts else None
        if "take" in senses and (placed is None or taken_up):
            return Step("take", verb, body)
        if not puts:
            return Step(senses[0].removesuffix("_door"), verb, body)
        if placed is None:
            raise PerturbationError(f"{quote(clause)} does not say where to {name} it")
        elsewhere = "push" if "push" in puts else "put_at"
        sense = "push" if puts == ["push"] else _SENSES.get(placed["relation"], elsewhere)
        return Step(sense, verb, placed["thing"], placed["preposition"], placed["target"] or "")
    verbs = ", ".join(name for names in verb_table().plain.values() for name in names)
    raise PerturbationError(f"{quote(clause)} begins with no verb that it knows, such as {verbs}")


def _after_verb(clause: str, verb: Verb) -> str | None:
    """What follows a verb; None where the clause has another one."""
    if clause.startswith(f"{verb.name} "):
        return clause.removeprefix(f"{verb.name} ")
    if verb.particle and clause.startswith(f"{verb.base} ") and clause.endswith(f" {verb.particle}"):
        return clause[len(verb.base) + 1 : -len(verb.particle) - 1] or None
    return None


def _match_place(body: str) -> re.Match[str] | None:
    """Match object, preposition and target; None without a destination.

    Of two places ("the bowl on the tray on the plate") the first identifies the object, unless the object is
    "it" ("it on the plate on the tray"); nothing goes "in the middle".
    """
    first = _PLACED_FIRST.fullmatch(body)
    if first is None or first["thing"] not in PRONOUNS:
        first = _PLACED_LAST.fullmatch(body) or first
    return first if first is not None and (first["target"] or first["preposition"] == "inside") else None


def _spell_out_thing(step: Step, before: Step | None) -> Step:
    if before is None or step.thing not in PRONOUNS:
        return step
    return replace(step, thing=antecedent(step.thing, before), thing_again=step.thing)


def _spell_out_place(step: Step, before: Step | None) -> Step:
    if before is None or not (step.target in PRONOUNS or (step.preposition == "inside" and not step.target)):
        return step
    return replace(step, target=before.thing, place_again=step.place)


def write_steps(steps: Sequence[Step], *, joint: str = " and ") -> str:
    """Write steps as an instruction, with pronouns for what the previous step names."""
    return joint.join(map(write_step, adapt_pronouns(steps)))


def adapt_pronouns(steps: Sequence[Step]) -> list[Step]:
    """Keep a pronoun only where the previous step still names its antecedent."""
    adapted: list[Step] = []
    for step, before in zip(steps, (None, *steps[:-1]), strict=True):
        thing_again = place_again = ""
        if before is not None and step.fetch is None and step.thing_again:
            thing_again = step.thing_again if antecedent(step.thing_again, before) == step.thing else ""
        if before is not None and step.place_again and step.target == before.thing:
            place_again = step.preposition if step.preposition == "inside" else f"{step.preposition} it"
        adapted.append(replace(step, thing_again=thing_again, place_again=place_again))
    return adapted


def write_step(step: Step, form: str = "base", *, thing: str | None = None, place: str | None = None) -> str:
    """Write a step as a clause in the active voice: "pick up the bowl and put it on the stove".

    ``form`` is ``base``, ``ing`` or ``participle``. ``thing`` and ``place`` replace those of the step; a given
    ``thing`` leaves out "pick up X and".
    """
    place = step.place_said if place is None else place
    if step.verb.moves:
        place = _direct_place(place)
    if step.fetch is not None and thing is None:
        request = f"{step.fetch.phrase(step.thing, form)} and {step.verb.phrase(pronoun(step.thing), form)}"
    else:
        request = step.verb.phrase(thing or step.thing_said, form, apart=step.late)
    return f"{request} {place}".rstrip()


def write_in_full(step: Step) -> str:
    """Write a step without pronouns for what another step names."""
    return write_step(replace(step, thing_again="", place_again=""))


def write_passive(step: Step) -> str:
    """Write a step as a participle: "put on the stove", "picked up and placed on the stove", "opened"."""
    verbs = " and ".join(verb.passive for verb in (step.fetch, step.verb) if verb is not None)
    return f"{verbs} {step.place_said}".rstrip()


def depends(step: Step, before: Step) -> bool:
    """Whether a step is about the object or the target of the previous step."""
    return before.thing == step.target or (before.target == step.thing and step.thing != "")


def _direct_place(place: str) -> str:
    """A place after a verb of motion: "onto the stove", "onto the top of the cabinet"."""
    if place.startswith("on top of"):
        return place.replace("on top of", "onto the top of", 1)
    first, space, rest = place.partition(" ")
    stays = rest.startswith("front of") or first not in ("on", "in")
    return place if stays else f"{TOWARDS[first]}{space}{rest}"
