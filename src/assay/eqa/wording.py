"""What a question says. All questions of one kind and view say the same but for the action they name."""

from __future__ import annotations

from assay.eqa.actions import Level
from assay.eqa.question import Kind
from assay.eqa.views import View

FRAME = (
    "Directions are those of the robot's base: X points forward, away from the base over the workspace, "
    "Y to the robot's left, Z up."
)
TURNS = (
    "Clockwise about X is as seen looking along X; downward about Y lowers the front; "
    "counterclockwise about Z is as seen from above."
)
FIGURES = (
    "An action is [x, y, z, roll, pitch, yaw, gripper]: how far the hand moved, in metres; how far it turned "
    "about X, Y and Z, in degrees; and by how much the gripper opened, from -1 (fully closing) to +1."
)
_ABOUT = {Level.HIGH: "", Level.MID: f"{FRAME} {TURNS}", Level.LOW: f"{FRAME} {TURNS} {FIGURES}"}


def worded(kind: Kind, view: View, action: str = "") -> str:
    """The text of a question; ``action`` is what a state is predicted from."""
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
    return " ".join(part for part in (view.said, _ABOUT[kind.level], task) if part)
