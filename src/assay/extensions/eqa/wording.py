"""What a question says. All questions of one kind and view say the same but for the action they name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.extensions.eqa.actions import Level, Turning, amount
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.views import View

FRAME = (
    "Directions are those of the robot's base: X points forward, away from the base over the workspace, "
    "Y to the robot's left, Z up."
)
TURNS = (
    "Clockwise about X is as seen looking along X; downward about Y lowers the front; "
    "counterclockwise about Z is as seen from above."
)
FIGURES = {
    "wrapped": (
        "An action is [x, y, z, roll, pitch, yaw, gripper]: how far the hand moved, in metres; by how much "
        "its turns about X, Y and Z changed, in degrees; and by how much the gripper opened, from -1 (fully "
        "closing) to +1."
    ),
    "exact": (
        "An action is [x, y, z, rx, ry, rz, gripper]: how far the hand moved, in metres; the axis it turned "
        "about times the angle, one rotation vector along X, Y and Z, in degrees; and by how much the "
        "gripper opened, from -1 (fully closing) to +1."
    ),
}
ABOUT_ONE_AXIS = "Turns about X, Y and Z are the parts of one turn: its axis times its angle."


def worded(
    kind: Kind,
    view: View,
    action: str = "",
    thresholds: Sequence[float] = (),
    turning: Turning = "exact",
    places: Sequence[str] = (),
    hand_place: str = "",
) -> str:
    """The text of a question; ``action`` is what a state is predicted from, the rest where the cameras are."""
    if kind.predicts:
        asked = "Carry out the instruction" if kind.level is Level.HIGH else "Now the robot acts"
        task = (
            f"The first picture shows a robot. {asked}: {action}. "
            "Which of the pictures A, B, C and D shows the state afterwards?"
        )
    else:
        what = (
            "Which instruction was carried out"
            if kind.level is Level.HIGH
            else "What did the robot's hand do"
        )
        task = f"The first picture shows a robot before, the second after an action. {what}?"
    if kind.level is Level.HIGH:  # which says nothing of X, Y and Z
        return f"{view.said()} {task}"
    seen = view.said(places, hand_place)
    return " ".join(part for part in (FRAME, seen, *_about(kind.level, thresholds, turning), task) if part)


def action_of(text: str) -> str:
    """The action that a question's text names; empty where it asks for one."""
    found = re.search(r"(?:Carry out the instruction|Now the robot acts): (.*)\. Which of the pictures", text)
    return found[1] if found else ""


def _about(level: Level, thresholds: Sequence[float], turning: Turning) -> list[str]:
    """Turns, units, and what is named."""
    if level is Level.LOW:
        return [TURNS, FIGURES[turning]]
    if not thresholds:
        return [TURNS]
    limits = dict.fromkeys(amount(dimension, threshold) for dimension, threshold in enumerate(thresholds))
    bounds = ", ".join(limits).replace("its", "the gripper's")
    named = f"What is named changes by more than {bounds}; what is not named changes by less."
    return [TURNS, ABOUT_ONE_AXIS if turning == "exact" else "", named]
