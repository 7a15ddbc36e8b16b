"""Verbs and their forms: "pick up", "picking up", "picked up"; "pick it up"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PARTICLES = frozenset({"up", "on", "off", "out", "in", "down", "open", "shut", "closed", "over"})
FOLLOWING = frozenset({"over"})
"""Particles that always follow the thing."""
PRONOUNS = frozenset({"it", "them"})
DIRECTIONS = {"on": "onto", "in": "into"}
"""What a verb of motion makes of a place."""

_DOUBLING = re.compile(r"[^aeiou]+[aeiou][bdgklmnpt]")


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

    def act(self, thing: str, form: str = "base", *, apart: bool = False) -> str:
        """Verb and thing: "pick up the bowl", "pick it up"; ``apart`` puts the thing between them anyway."""
        head = getattr(self, form)
        if self.particle and (apart or thing in PRONOUNS or self.particle in FOLLOWING):
            return f"{head} {thing} {self.particle}"
        return " ".join(filter(None, (head, self.particle, self.rest, thing)))

    @property
    def acted(self) -> str:
        """The participle with its particle: "picked up"."""
        return " ".join(filter(None, (self.participle, self.particle, self.rest)))


def verb_of(written: str, irregular: Mapping[str, tuple[str, str]]) -> Verb:
    """The verb of an entry of the lexicon: "pick up", "reach for", "move ->"."""
    words = written.removesuffix("->").split()
    base, after = words[0], " ".join(words[1:])
    ing, participle = irregular.get(base) or _regular(base)
    particle, rest = (after, "") if after in PARTICLES else ("", after)
    return Verb(base, ing, participle, particle, rest, moves=written.endswith("->"))


def _regular(base: str) -> tuple[str, str]:
    if base.endswith("e"):
        return f"{base[:-1]}ing", f"{base}d"
    if re.fullmatch(r".*[^aeiou]y", base):
        return f"{base}ing", f"{base[:-1]}ied"
    stem = base + base[-1] if _DOUBLING.fullmatch(base) else base
    return f"{stem}ing", f"{stem}ed"
