"""Instructions as steps: a verb, a thing and a place each, with every "it" spelled out.

parse("turn on the stove and put the moka pot on it")
    -> turn on | the stove
       put     | the moka pot | on | the stove
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.errors import PerturbationError
from assay.perturb.words.rewordings.verbs import PRONOUNS, VERBS, Role, Verb
from assay.tasks.checks import quoted

_PREPOSITIONS = (
    "to the front of|to the back of|to the left of|to the right of|to the side of|in front of|on top of|"
    "next to|close to|inside|into|onto|in|on|to|at|between|beside|behind|underneath|under|near|over|above|"
    "against|towards|toward"
)
_PLACED = re.compile(
    rf"(?P<thing>.+?) (?P<preposition>(?:(?:upright|flat|sideways) )?(?:{_PREPOSITIONS}))(?: (?P<target>.+))?"
)
_LOCATED = re.compile(rf"(?P<head>.+?) (?P<where>(?:{_PREPOSITIONS}|from) .+)")
_JOINT = re.compile(
    rf",? (?:and then|and|then) (?=(?:{'|'.join(sorted({verb.base for verb in VERBS.values()}))}) )"
)
_ARTICLES = re.compile(r"\b(?:the|an?) ")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do."""

    verb: Verb
    thing: str
    """What it is done with, e.g. ``the black bowl next to the ramekin``."""
    preposition: str = ""
    """How the thing is placed, e.g. ``on top of``; empty where nothing is placed."""
    target: str = ""
    """Where it is placed, e.g. ``the cabinet``."""
    fetch: Verb | None = None
    """Where the instruction says so: how the thing is taken first, e.g. ``pick up``."""
    late: bool = False
    """Whether the verb's particle follows the thing: ``turn the stove on``."""
    again: bool = False
    """Whether the instruction says "it", or nothing, for what the step before has named."""


def parse(text: str) -> tuple[Step, ...]:
    """The steps of an instruction. Raises PerturbationError where there is none to be found."""
    plain = text.rstrip(" .!")
    steps: list[Step] = []
    for clause in _JOINT.split(plain[:1].lower() + plain[1:]):
        step = _step(clause)
        before = steps[-1] if steps else None
        if before is not None:
            step = _spelled_out(step, before)
        if before is not None and before.verb.role is Role.TAKE and step.thing == before.thing:
            steps[-1] = replace(step, fetch=before.verb)
        else:
            steps.append(step)
    return tuple(steps)


def said(steps: Sequence[Step], *, joint: str = " and ") -> str:
    """Steps as an instruction."""
    before: Step | None = None
    clauses: list[str] = []
    for step in steps:
        clauses.append(imperative(step, before))
        before = step
    return joint.join(clauses)


def imperative(step: Step, before: Step | None = None) -> str:
    """One step as an imperative, after another one."""
    thing = "it" if is_known(step, before) else step.thing
    if step.fetch is None:
        done = step.verb.phrase(step.verb.base, thing, late=step.late)
    else:
        done = f"{step.fetch.phrase(step.fetch.base, thing)} and {step.verb.base} {pronoun(step.thing)}"
    return " ".join(filter(None, (done, place(step, before))))


def place(step: Step, before: Step | None = None) -> str:
    """Where a step places its thing, after another one: ``on the stove``, ``on it``, ``inside``."""
    if before is None or not step.again or step.target != before.thing:
        return f"{step.preposition} {step.target}".strip()
    return step.preposition if step.preposition == "inside" else f"{step.preposition} it"


def is_known(step: Step, before: Step | None) -> bool:
    """Whether a step's thing is "it" after another step."""
    return before is not None and step.again and before.target == step.thing


def pronoun(thing: str) -> str:
    """``it`` or ``them``."""
    found = _LOCATED.fullmatch(thing)
    head = found["head"] if found else thing
    return "them" if head.startswith("both ") or " and the " in head else "it"


def depends(step: Step, before: Step) -> bool:
    """Whether a step is about what the one before it was done with or led to."""
    return before.thing == step.target or (before.target == step.thing and step.thing != "")


def is_located(thing: str) -> bool:
    """Whether a thing is told by where it is: ``the bowl on the stove``."""
    return _LOCATED.fullmatch(thing) is not None


def that_is(thing: str) -> str:
    """A thing with its place in a clause: ``the bowl that is on the stove``."""
    found = _LOCATED.fullmatch(thing)
    if found is None or found["where"].startswith("from "):
        return thing
    return f"{found['head']} that is {found['where']}"


def bare(phrase: str) -> str:
    """A phrase without articles."""
    return _ARTICLES.sub("", f"{phrase} ").strip()


def brief(thing: str) -> str:
    """A thing without what it is part of: ``the bottom drawer`` for ``the bottom drawer of the cabinet``."""
    return thing.split(" of ")[0]


def _step(clause: str) -> Step:
    for verb in VERBS.values():
        body = _body(clause, verb)
        if body is None:
            continue
        if verb.role not in (Role.PLACE, Role.PUSH):
            return Step(verb, body)
        found = _PLACED.fullmatch(body)
        if found is None or not (found["target"] or found["preposition"] == "inside"):
            raise PerturbationError(f"{quoted(clause)} does not say where to {verb.name} it")
        return Step(verb, found["thing"], found["preposition"], found["target"] or "")
    known = ", ".join(dict.fromkeys(verb.name for verb in VERBS.values()))
    raise PerturbationError(f"{quoted(clause)} begins with none of the verbs it knows: {known}")


def _body(clause: str, verb: Verb) -> str | None:
    """What follows a verb; None where the clause has another one."""
    if clause.startswith(f"{verb.name} "):
        return clause.removeprefix(f"{verb.name} ")
    if verb.particle and clause.startswith(f"{verb.base} ") and clause.endswith(f" {verb.particle}"):
        return clause[len(verb.base) + 1 : -len(verb.particle) - 1] or None
    return None


def _spelled_out(step: Step, before: Step) -> Step:
    if step.thing in PRONOUNS:
        step = replace(step, thing=before.target or before.thing, again=True)
    if step.target in PRONOUNS or (step.preposition == "inside" and not step.target):
        step = replace(step, target=before.thing, again=True)
    return step
