"""What a convention may be made of: a few fields, each with a few alternatives, as an address writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

from assay.policies.remote.convention import ADJUSTABLE, Convention, Gripper, Layout, Sign
from assay.policies.remote.rotations import Rotation
from assay.support.images import Orientation

Options = Mapping[str, str]
"""Options of an address: ``{"layout": "hand", "rotation": "xyzw"}``."""


@dataclass(frozen=True, slots=True)
class Field:
    """Something that a convention settles."""

    name: str
    alternatives: tuple[Options, ...]

    @property
    def options(self) -> frozenset[str]:
        """The options that it sets."""
        return frozenset(name for alternative in self.alternatives for name in alternative)

    def usual_first(self, convention: Convention) -> Field:
        """The field with the alternative that a convention holds already as the first, written or not."""
        usual = options_of(convention)
        held = next(
            (alternative for alternative in self.alternatives if alternative.items() <= usual.items()), None
        )
        first = held or {name: usual[name] for name in sorted(self.options)}
        return replace(
            self,
            alternatives=(first, *(alternative for alternative in self.alternatives if alternative != held)),
        )


def _field(name: str, *alternatives: Mapping[str, object]) -> Field:
    return Field(
        name,
        tuple(
            MappingProxyType({key: str(value) for key, value in alternative.items()})
            for alternative in alternatives
        ),
    )


ORIENTATION = _field("image orientation", *({"orientation": each} for each in Orientation))
STATE = _field(
    "state",
    *({"layout": Layout.HAND, "rotation": each} for each in Rotation),
    {"layout": Layout.FINGERS_FIRST, "rotation": Rotation.XYZW},
    {"layout": Layout.JOINTS},
    {"layout": Layout.NONE},
)
SIZE = _field("image size", {"size": 224}, {"size": 256}, {"size": 128})
GRIPPER = _field("gripper", *({"gripper": kind, "closes": int(sign)} for kind in Gripper for sign in Sign))
WAIT = _field("wait", {"wait": 10}, {"wait": 0})


def replan_field(chunk: int) -> Field:
    """How many actions of a reply of ``chunk`` to execute: one, some, half of them, all."""
    return _field(
        "replan", *({"replan": each} for each in sorted({1, 5, max(chunk // 2, 1), chunk}) if each <= chunk)
    )


def options_of(convention: Convention) -> dict[str, str]:
    """What an address would have to say for a convention."""
    return {
        name: str(int(value) if isinstance(value, Sign) else value)
        for name in ADJUSTABLE
        if (value := getattr(convention, name)) is not None
    }


def combined(fields: Sequence[Field]) -> list[Options]:
    """The options of all combinations of the fields' alternatives; the usual combination first."""
    return [
        {name: value for options in chosen for name, value in options.items()}
        for chosen in product(*(field.alternatives for field in fields))
    ]
