"""The verbs of instructions: their forms, and which of them mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Role(Enum):
    """What a verb asks for."""

    PLACE = auto()
    TAKE = auto()
    PUSH = auto()
    OPEN = auto()
    CLOSE = auto()
    START = auto()
    STOP = auto()


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, such as ``pick`` with the particle ``up``."""

    role: Role
    base: str
    gerund: str
    participle: str
    particle: str = ""

    @property
    def name(self) -> str:
        """The verb as it is listed: ``pick up``."""
        return f"{self.base} {self.particle}".strip()

    def phrase(self, form: str, thing: str, *, late: bool = False) -> str:
        """One of its forms with a thing: ``pick up the mug``; ``pick it up``; late: ``pick the mug up``."""
        order = (thing, self.particle) if late or thing in PRONOUNS else (self.particle, thing)
        return " ".join(filter(None, (form, *order)))


PRONOUNS = ("it", "them")
VERBS = {
    verb.name: verb
    for verb in (
        Verb(Role.PLACE, "put", "putting", "put"),
        Verb(Role.PLACE, "place", "placing", "placed"),
        Verb(Role.PLACE, "set", "setting", "set"),
        Verb(Role.PLACE, "position", "positioning", "positioned"),
        Verb(Role.PLACE, "lay", "laying", "laid"),
        Verb(Role.PLACE, "drop", "dropping", "dropped"),
        Verb(Role.PLACE, "insert", "inserting", "inserted"),
        Verb(Role.TAKE, "pick", "picking", "picked", "up"),
        Verb(Role.TAKE, "take", "taking", "taken"),
        Verb(Role.TAKE, "grab", "grabbing", "grabbed"),
        Verb(Role.TAKE, "lift", "lifting", "lifted"),
        Verb(Role.TAKE, "pick", "picking", "picked"),
        Verb(Role.TAKE, "grasp", "grasping", "grasped"),
        Verb(Role.PUSH, "push", "pushing", "pushed"),
        Verb(Role.PUSH, "slide", "sliding", "slid"),
        Verb(Role.PUSH, "move", "moving", "moved"),
        Verb(Role.OPEN, "pull", "pulling", "pulled", "open"),
        Verb(Role.OPEN, "open", "opening", "opened"),
        Verb(Role.CLOSE, "close", "closing", "closed"),
        Verb(Role.CLOSE, "shut", "shutting", "shut"),
        Verb(Role.START, "turn", "turning", "turned", "on"),
        Verb(Role.START, "switch", "switching", "switched", "on"),
        Verb(Role.STOP, "turn", "turning", "turned", "off"),
        Verb(Role.STOP, "switch", "switching", "switched", "off"),
    )
}
_SYNONYMS = {
    Role.PLACE: ("put", "place", "set"),
    Role.TAKE: ("pick up", "grab", "take"),
    Role.PUSH: ("push", "slide"),
    Role.OPEN: ("open", "pull open"),
    Role.CLOSE: ("close", "shut"),
    Role.START: ("turn on", "switch on"),
    Role.STOP: ("turn off", "switch off"),
}


def synonyms(verb: Verb) -> tuple[Verb, ...]:
    """Other plain verbs for the same."""
    return tuple(VERBS[name] for name in _SYNONYMS[verb.role] if name != verb.name)
