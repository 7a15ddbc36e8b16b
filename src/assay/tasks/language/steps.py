"""Instructions as steps, each with a verb, an object and a destination, and with all pronouns resolved.

An instruction is a sequence of steps: "pick up X and place it on Y", "put X in Y", "push X to the front of Y", "open
X", "close X", "turn X on". Object names are not looked up, so the text may have placeholders for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from assay.errors import PerturbationError
from assay.tasks.checks import quote
from assay.tasks.language import phrases
from assay.tasks.language.lexicon import PRONOUNS, Action, Verb, senses_by_verb, verb_named, verb_table

STATES = {
    Action.OPEN: ("open", "closed"),
    Action.CLOSE: ("closed", "open"),
    Action.TURN_ON: ("on", "off"),
    Action.TURN_OFF: ("off", "on"),
}
"""Resulting and initial state of the object, by action."""
_SENSES = {"on": "put_on", "onto": "put_on", "on top of": "put_on"}
_SENSES |= dict.fromkeys(("in", "into", "inside"), "put_in")

_POSTURE = rf"(?:{phrases.any_of(phrases.POSTURES)} )?"
_PLACED_FIRST = re.compile(
    rf"(?P<thing>.+?) (?P<preposition>{_POSTURE}(?P<relation>{phrases.PREPOSITION}))(?: (?P<target>.+))?"
)
_PLACED_LAST = re.compile(
    rf"(?P<thing>.+){''.join(f'(?<! {posture})' for posture in phrases.POSTURES)} "
    rf"(?P<preposition>{_POSTURE}(?P<relation>{phrases.any_of(tuple(phrases.RESTING))}))"
    rf"(?: (?P<target>(?!the {phrases.SIDE}$)(?:the|its) .+|it|them)|(?<= inside))"
)
_PLACES_IT = re.compile(r"\w+ (?:it|them) ")


@dataclass(frozen=True, slots=True)
class Step:
    """One action: pick up an object, move it to a destination, or change its state."""

    sense: str
    """Sense of the verb, a key of the verb table: ``put_on``, ``open``, ..."""
    verb: Verb
    thing: str
    """Object of the action as a full phrase, e.g. ``the black bowl next to the ramekin``."""
    preposition: str = ""
    """Preposition of the destination, e.g. ``on top of``; empty if there is no destination."""
    target: str = ""
    """Destination as a full phrase, e.g. ``the cabinet``."""
    fetch: Verb | None = None
    """Verb for picking up the object first, e.g. ``pick up``; None if the instruction does not mention it."""
    late: bool = False
    """Whether the verb's particle follows the object: ``turn the stove on``."""
    thing_again: str = ""
    """Pronoun for the object, ``it`` or ``them``, if the instruction uses one; it refers to the previous step."""
    place_again: str = ""
    """``on it`` or ``inside`` for the destination, if the instruction uses either; refers to the previous step."""

    @property
    def action(self) -> Action:
        """Action of the step, independent of the destination."""
        return Action.PUT if self.sense.startswith("put_") else Action(self.sense.removesuffix("_door"))

    @property
    def states(self) -> tuple[str, str] | None:
        """Resulting and initial state of the object, for a change of state."""
        return STATES.get(self.action)

    @property
    def place(self) -> str:
        """Destination as a full phrase: ``on the stove``."""
        return f"{self.preposition} {self.target}".strip()

    @property
    def place_wording(self) -> str:
        """Destination as worded in the instruction."""
        return self.place_again or self.place

    @property
    def thing_wording(self) -> str:
        """Object as worded in the instruction."""
        return self.thing_again or self.thing

    @property
    def outcome(self) -> str:
        """Resulting state or location of the object: ``on the stove``, ``inside``, ``open``."""
        if self.states is not None:
            return self.states[0]
        resting = phrases.RESTING.get(self.preposition, self.preposition)
        return resting + self.place_wording.removeprefix(self.preposition)


def read_steps(text: str) -> tuple[Step, ...]:
    """Parse an instruction into steps. Raises PerturbationError if it cannot be parsed."""
    plain = text.rstrip(" .!")
    clauses = _joint().split(plain[:1].lower() + plain[1:])
    steps: list[Step] = []
    for clause, following in zip(clauses, (*clauses[1:], ""), strict=True):
        step = _read_clause(clause, continues=_PLACES_IT.match(following) is not None)
        taken = steps.pop() if steps and steps[-1].action is Action.TAKE else None
        before = taken or (steps[-1] if steps else None)
        if before is not None and step.thing in PRONOUNS:
            step = replace(step, thing=antecedent(step.thing, before), thing_again=step.thing)
        before = steps[-1] if steps else taken
        refers_back = step.target in PRONOUNS or step.place == "inside"
        if before is not None and refers_back:
            step = replace(step, target=before.thing, place_again=step.place)
        if taken is not None and step.thing == taken.thing:
            step = replace(step, fetch=taken.verb)
        elif taken is not None:
            steps.append(taken)
        steps.append(step)
    return tuple(steps)


def antecedent(pronoun: str, before: Step) -> str:
    """Return the antecedent of "it" or "them" after a step."""
    if pronoun == "them" and before.target and not phrases.is_plural(before.target):
        return before.thing if phrases.is_plural(before.thing) else f"{before.thing} and {before.target}"
    return before.target or before.thing


@cache
def _joint() -> re.Pattern[str]:
    """Return the pattern of the word that joins two clauses: "and" before a verb."""
    verbs = phrases.any_of(tuple({verb.split()[0] for verb in senses_by_verb()}))
    return re.compile(rf"(?:[,;]? and then|[,;]? then|,? and|[,;]) (?={verbs} )")


def _read_clause(clause: str, *, continues: bool) -> Step:
    """Parse one clause as a step; ``continues``: whether the next clause contains the destination."""
    for name, senses in senses_by_verb().items():
        verb = verb_named(name)
        if clause.startswith(f"{verb.name} "):
            body = clause.removeprefix(f"{verb.name} ")
        elif verb.particle and clause.startswith(f"{verb.base} ") and clause.endswith(f" {verb.particle}"):
            body = clause[len(verb.base) + 1 : -len(verb.particle) - 1]
        else:
            continue
        if not body:
            continue
        puts = [sense for sense in senses if sense == "push" or sense.startswith("put_")]
        placed = _PLACED_FIRST.fullmatch(body) if puts else None
        if puts and (placed is None or placed["thing"] not in PRONOUNS):
            # Of two places ("the bowl on the tray on the plate") the first identifies the object, unless the object
            # is "it" ("it on the plate on the tray"); "in the middle" is never a destination.
            placed = _PLACED_LAST.fullmatch(body) or placed
        if placed is not None and not placed["target"] and placed["preposition"] != "inside":
            placed = None
        if "take" in senses and (placed is None or continues):
            return Step("take", verb, body)
        if not puts:
            return Step(senses[0].removesuffix("_door"), verb, body)
        if placed is None:
            raise PerturbationError(f"{quote(clause)} does not state where to {name} it")
        elsewhere = "push" if "push" in puts else "put_at"
        sense = "push" if puts == ["push"] else _SENSES.get(placed["relation"], elsewhere)
        return Step(sense, verb, placed["thing"], placed["preposition"], placed["target"] or "")
    verbs = ", ".join(name for names in verb_table().plain.values() for name in names)
    raise PerturbationError(f"{quote(clause)} does not begin with a known verb, such as {verbs}")


def write_steps(steps: Sequence[Step], *, joint: str = " and ") -> str:
    """Write steps as an instruction, with pronouns for objects named in the previous step."""
    return joint.join(map(write_step, adapt_pronouns(steps)))


def adapt_pronouns(steps: Sequence[Step]) -> list[Step]:
    """Keep a pronoun only if the previous step still names its antecedent."""
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

    ``form`` is ``base``, ``ing`` or ``participle``. ``thing`` and ``place`` replace the step's own object and
    destination; passing ``thing`` omits "pick up X and".
    """
    place = step.place_wording if place is None else place
    if step.verb.moves:  # "onto the stove", "onto the top of the cabinet"
        place = place.replace("on top of", "onto the top of", 1) if place.startswith("on top of") else place
        first, space, rest = place.partition(" ")
        if first in ("on", "in") and not rest.startswith("front of"):
            place = f"{phrases.TOWARDS[first]}{space}{rest}"
    if step.fetch is not None and thing is None:
        request = (
            f"{step.fetch.phrase(step.thing, form)} and {step.verb.phrase(phrases.pronoun(step.thing), form)}"
        )
    else:
        request = step.verb.phrase(thing or step.thing_wording, form, split=step.late)
    return f"{request} {place}".rstrip()


def write_in_full(step: Step) -> str:
    """Write a step without pronouns that refer to other steps."""
    return write_step(replace(step, thing_again="", place_again=""))


def write_passive(step: Step) -> str:
    """Write a step as a participial phrase: "put on the stove", "picked up and placed on the stove", "opened"."""
    verbs = " and ".join(verb.passive for verb in (step.fetch, step.verb) if verb is not None)
    return f"{verbs} {step.place_wording}".rstrip()


def depends(step: Step, before: Step) -> bool:
    """Return whether a step refers to the object or the target of the previous step."""
    return before.thing == step.target or (before.target == step.thing and step.thing != "")
