"""Verbs and their forms: "pick up", "picking up", "picked up"; "pick it up". Which there are is in verbs.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from assay.tasks.language.entries import HERE, Entry, Words, load_yaml, validate

PARTICLES = frozenset({"up", "on", "off", "out", "in", "down", "open", "shut", "closed", "over"})
FOLLOWING = frozenset({"over"})
"""Particles that always follow the thing."""
PRONOUNS = frozenset({"it", "them"})

_DOUBLING = re.compile(r"[^aeiou]+[aeiou][bdgklmnpt]")


class Action(StrEnum):
    """What a step asks for."""

    PUT = "put"
    PUSH = "push"
    TAKE = "take"
    OPEN = "open"
    CLOSE = "close"
    TURN_ON = "turn_on"
    TURN_OFF = "turn_off"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its forms; ``particle`` may follow the thing, ``rest`` may not ("reach for")."""

    base: str
    ing: str
    participle: str
    particle: str = ""
    rest: str = ""
    moves: bool = False
    """Whether it is a verb of motion, which goes with "onto"."""

    @property
    def name(self) -> str:
        """As an original writes it: "pick up"."""
        return " ".join(filter(None, (self.base, self.particle, self.rest)))

    @property
    def passive(self) -> str:
        """The participle with its particle: "picked up"."""
        return " ".join(filter(None, (self.participle, self.particle, self.rest)))

    def phrase(self, thing: str, form: str = "base", *, apart: bool = False) -> str:
        """Verb and thing: "pick up the bowl", "pick it up"; ``apart`` puts the thing between them anyway.

        ``form`` is ``base``, ``ing`` or ``participle``.
        """
        head = getattr(self, form)
        if self.particle and (apart or thing in PRONOUNS or self.particle in FOLLOWING):
            return f"{head} {thing} {self.particle}"
        return " ".join(filter(None, (head, self.particle, self.rest, thing)))


class Sense(Entry):
    """Verbs that do the same."""

    habitual: tuple[str, ...] = ()
    contextual: tuple[str, ...] = ()
    only_original: tuple[str, ...] = ()


class Before(Entry):
    """What is done with a thing before it is moved, or before anything else is done with it."""

    move: tuple[str, ...]
    other: tuple[str, ...]


class VerbTable(Entry):
    """Verbs by what they do, and what goes with them; ``verbs.yaml`` explains the fields."""

    senses: Mapping[str, Sense]
    plain: Mapping[Action, tuple[str, ...]]
    coordinated: Before
    subordinated: Before
    adverbs: Mapping[str, Words]
    irregular: Mapping[str, tuple[str, str]]


@cache
def verb_table() -> VerbTable:
    """What ``verbs.yaml`` holds."""
    return validate(VerbTable, load_yaml(HERE.joinpath("verbs.yaml")), "verbs.yaml")


@cache
def senses_by_verb() -> Mapping[str, tuple[str, ...]]:
    """Every verb that is understood -> the senses it may have; the longest verbs first."""
    found: dict[str, list[str]] = {}
    for name, sense in verb_table().senses.items():
        for written in (*sense.habitual, *sense.contextual, *sense.only_original):
            found.setdefault(written.removesuffix("->").strip(), []).append(name)
    return {verb: tuple(found[verb]) for verb in sorted(found, key=len, reverse=True)}


@cache
def verb_named(written: str) -> Verb:
    """The verb of an entry of the table: "pick up", "reach for", "move ->"."""
    words = written.removesuffix("->").split()
    base, after = words[0], " ".join(words[1:])
    ing, participle = verb_table().irregular.get(base) or _regular_forms(base)
    particle, rest = (after, "") if after in PARTICLES else ("", after)
    return Verb(base, ing, participle, particle, rest, moves=written.endswith("->"))


def plain_synonyms(action: Action, verb: Verb) -> tuple[Verb, ...]:
    """The plain verbs for an action, but for the one that is there."""
    return tuple(verb_named(name) for name in verb_table().plain[action] if name != verb.name)


def _regular_forms(base: str) -> tuple[str, str]:
    if base.endswith("e"):
        return f"{base[:-1]}ing", f"{base}d"
    if re.fullmatch(r".*[^aeiou]y", base):
        return f"{base}ing", f"{base[:-1]}ied"
    stem = base + base[-1] if _DOUBLING.fullmatch(base) else base
    return f"{stem}ing", f"{stem}ed"
