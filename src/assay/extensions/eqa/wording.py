"""Question texts. All questions of one kind and view have the same text except for the action they name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.extensions.eqa.actions import ActionLevel, Turning, format_amount
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.views import CameraView

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


def write_text(
    kind: QuestionKind,
    view: CameraView,
    action: str = "",
    thresholds: Sequence[float] = (),
    turning: Turning = "exact",
    places: Sequence[str] = (),
    hand_place: str = "",
) -> str:
    """Write the text of a question; ``action`` is the action whose outcome the question asks for."""
    if kind.predicts:
        asked = "Carry out the instruction" if kind.level is ActionLevel.HIGH else "Now the robot acts"
        task = (
            f"The first picture shows a robot. {asked}: {action}. "
            "Which of the pictures A, B, C and D shows the state afterwards?"
        )
    else:
        what = (
            "Which instruction was carried out"
            if kind.level is ActionLevel.HIGH
            else "What did the robot's hand do"
        )
        task = f"The first picture shows a robot before, the second after an action. {what}?"
    if kind.level is ActionLevel.HIGH:  # instructions do not refer to X, Y and Z
        return f"{view.describe()} {task}"
    conventions = [TURNS]
    if kind.level is ActionLevel.LOW:
        conventions.append(FIGURES[turning])
    elif thresholds:
        limits = dict.fromkeys(
            format_amount(dimension, threshold) for dimension, threshold in enumerate(thresholds)
        )
        bounds = ", ".join(limits).replace("its", "the gripper's")
        conventions += [ABOUT_ONE_AXIS] if turning == "exact" else []
        conventions.append(f"What is named changes by more than {bounds}; what is not named changes by less.")
    return " ".join([FRAME, view.describe(places, hand_place), *conventions, task])


def action_of(text: str) -> str:
    """Return the action that a question's text names; empty if the answer is an action."""
    match = re.search(r"(?:Carry out the instruction|Now the robot acts): (.*)\. Which of the pictures", text)
    return match[1] if match else ""
