"""What the tasks say by themselves: the prompts of VIMA-Bench, word for word.

``<angle>`` is what the task says there, ``{base_obj}`` a picture. VIMA-Bench's templates are under the MIT licence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

OPEN = re.compile(r"<(\w+)>")
"""A place that a template leaves open."""
_COMPARED = " ".join(f"{{more_{number}}} is <adjective> than {{less_{number}}}." for number in (1, 2, 3))
_PIECE, _BASE = "This is a <piece> {dragged_obj}.", "This is a <base> {base_obj}."
_EXAMPLES = " ".join(f"From {{before_{number}}} to {{after_{number}}}." for number in (1, 2, 3))
_FRAMES = "{frame_0} {frame_1} {frame_2}"

ORIGINALS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "T1": ("Put the {dragged_obj} into the {base_obj}.",),
        "T2": ("Put the <look> object in {scene} into the <base_look> object.",),
        "T3": ("Rotate the {dragged_obj} <angle> degrees.",),
        "T4": ("Rearrange to this {scene}.",),
        "T5": ("Rearrange objects to this setup {scene} and then restore.",),
        "T6": (f"{_COMPARED} Put the <wanted> {{dragged_obj}} into the {{base_obj}}.",),
        "T7": tuple(
            f"{first} {second} Put a <piece> into a <base>."
            for first, second in ((_PIECE, _BASE), (_BASE, _PIECE))
        ),
        "T8": tuple(
            f"{first} {second} {_COMPARED} Put the <wanted> <piece> into the <base>."
            for first, second in ((_PIECE, _BASE), (_BASE, _PIECE))
        ),
        "T9": (
            f'"Twist" is defined as rotating object a specific angle. For examples: {_EXAMPLES} '
            "Now twist all <look> objects.",
        ),
        "T10": (f"Follow this motion for {{dragged_obj}}: {_FRAMES}.",),
        "T11": (f"Stack objects in this order {_FRAMES}.",),
        "T12": ("Sweep <count> {swept_obj} into {bounds} without exceeding {constraint}.",),
        "T13": ("Sweep <count> {swept_obj} into {bounds} without touching {constraint}.",),
        "T14": ("Put all objects with the same texture as {base_obj} into it.",),
        "T15": ("Put all objects with the same profile as {base_obj} into it.",),
        "T16": (
            "First put {dragged_obj} into {base_obj} then put the object that was previously at its <way> into "
            "the same {base_obj}.",
        ),
        "T17": (
            "Put {dragged_obj} into {base_obj_1} then {base_obj_2}. "
            "Finally restore it into its original container.",
        ),
    }
)
"""By the kind of task; two where definitions come in either order."""


def original(kind: str, *, form: int = 0, **fields: str) -> str:
    """What a kind of task says by itself, with the open places filled."""
    return OPEN.sub(lambda place: fields[place[1]], ORIGINALS[kind][form])
