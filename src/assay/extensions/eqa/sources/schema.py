"""How data sets write down states, cameras and instructions: one small table each.

Keys are spelled as in the files: ``steps/observation/state`` in RLDS, ``observation.state`` in LeRobot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from assay.errors import did_you_mean
from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.errors import QuestionError

Turn = Literal["euler", "axis_angle", "xyzw"]
"""How an orientation is written: roll, pitch, yaw; axis times angle; a quaternion. Radians."""

NEAR = Rules((0.1, 0.1, 0.1, 18.0, 18.0, 18.0, 0.2))
"""Cameras near the scene, as in BridgeData V2."""
FAR = replace(NEAR, thresholds=(0.18, 0.18, 0.18, 18.0, 18.0, 18.0, 0.2))
"""Cameras farther away, as in DROID."""
MOVING = replace(NEAR, levels=(Level.HIGH,))
"""A robot whose base drives about, as in RT-1."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some columns of a feature."""

    key: str
    first: int
    last: int
    """One beyond the last column."""

    def of(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Its values, (frames, n)."""
        values = np.asarray(columns[self.key], dtype=np.float64)
        return values.reshape(len(values), -1)[:, self.first : self.last]


@dataclass(frozen=True, slots=True)
class Feature:
    """What a data set says about one of its features."""

    width: int | None = None
    """How many numbers it is; None where that is not said, or it is none."""
    names: tuple[str, ...] = ()
    """What these are called, where that is said."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Where a data set keeps what."""

    name: str
    position: Part
    """Metres, in the base's frame."""
    turn: Part
    turn_as: Turn
    gripper: Part
    """One value; or the positions of two fingers that move apart, whose difference counts."""
    closed: float
    """What the gripper's value is when it is closed."""
    opened: float
    """... and when it is open."""
    exocentric: tuple[str, ...]
    """Cameras outside; the first must be there."""
    egocentric: str = ""
    """The camera on the hand; empty if there is none."""
    instruction: str = ""
    """The feature that holds the instruction, where it is one."""
    instructions: tuple[str, ...] = ()
    """Further ones, which count where the first is empty."""
    has_camera: str = ""
    """A flag of the episode that says whether its camera number ``{}`` is there, where there is one."""
    axes: tuple[str, ...] = ()
    """What the columns of its state must be called to be recognised, where cameras alone say too little."""
    rules: Rules = NEAR

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that hold states."""
        return tuple(dict.fromkeys(part.key for part in (self.position, self.turn, self.gripper)))

    def lacking(self, features: Mapping[str, Feature]) -> str:
        """What a data set with these features lacks to be written this way; empty if nothing."""
        needed = (*self.numbers, self.exocentric[0], self.egocentric, self.instruction)
        for key in needed:
            if key and key not in features:
                return f"'{key}'"
        for key in self.numbers:
            width = max(part.last for part in (self.position, self.turn, self.gripper) if part.key == key)
            if features[key].width not in (None, width):
                return f"{width} numbers in '{key}' (there are {features[key].width})"
        return ""

    def fits(self, features: Mapping[str, Feature]) -> bool:
        """Whether a data set with these features is surely written this way."""
        names = features[self.position.key].names if self.position.key in features else ()
        joints = any("joint" in name for name in names)
        return not self.lacking(features) and not joints and self.axes in ((), names)

    def states(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """States (frames, 7) from the features that hold them."""
        gripper = self.gripper.of(columns)
        width = gripper[:, 0] - gripper[:, 1] if gripper.shape[1] == 2 else gripper[:, 0]
        opening = (width - self.closed) / (self.opened - self.closed)
        return np.column_stack(
            [self.position.of(columns), _angles(self.turn.of(columns), self.turn_as), opening]
        )


def _angles(turn: np.ndarray, turn_as: Turn) -> np.ndarray:
    """Roll, pitch and yaw in degrees, (frames, 3)."""
    if turn_as == "euler":
        return np.asarray(np.degrees(turn))
    angles = np.full((len(turn), 3), np.nan)
    whole = np.isfinite(turn).all(axis=1) & (turn.any(axis=1) if turn_as == "xyzw" else True)
    if whole.any():
        make = Rotation.from_rotvec if turn_as == "axis_angle" else Rotation.from_quat
        angles[whole] = make(turn[whole]).as_euler("xyz", degrees=True, suppress_warnings=True)
    return angles


_SEEN = "steps/observation/"
_STATE = "observation.state"
_PICTURE = "observation.images."

RLDS: tuple[Schema, ...] = (
    Schema(
        name="bridge",
        position=Part(f"{_SEEN}state", 0, 3),
        turn=Part(f"{_SEEN}state", 3, 6),
        turn_as="euler",
        gripper=Part(f"{_SEEN}state", 6, 7),
        closed=0.0,
        opened=1.0,
        exocentric=tuple(f"{_SEEN}image_{number}" for number in range(4)),
        instruction="steps/language_instruction",
        has_camera="episode_metadata/has_image_{}",
    ),
    Schema(
        name="droid",
        position=Part(f"{_SEEN}cartesian_position", 0, 3),
        turn=Part(f"{_SEEN}cartesian_position", 3, 6),
        turn_as="euler",
        gripper=Part(f"{_SEEN}gripper_position", 0, 1),
        closed=1.0,
        opened=0.0,
        exocentric=(f"{_SEEN}exterior_image_1_left", f"{_SEEN}exterior_image_2_left"),
        egocentric=f"{_SEEN}wrist_image_left",
        instruction="steps/language_instruction",
        instructions=("steps/language_instruction_2", "steps/language_instruction_3"),
        rules=FAR,
    ),
    Schema(
        name="rt1",
        position=Part(f"{_SEEN}base_pose_tool_reached", 0, 3),
        turn=Part(f"{_SEEN}base_pose_tool_reached", 3, 7),
        turn_as="xyzw",
        gripper=Part(f"{_SEEN}gripper_closed", 0, 1),
        closed=1.0,
        opened=0.0,
        exocentric=(f"{_SEEN}image",),
        instruction=f"{_SEEN}natural_language_instruction",
        rules=MOVING,
    ),
)

LEROBOT: tuple[Schema, ...] = (
    Schema(
        name="libero",
        position=Part(_STATE, 0, 3),
        turn=Part(_STATE, 3, 6),
        turn_as="axis_angle",
        gripper=Part(_STATE, 6, 8),
        closed=0.0,
        opened=0.08,
        exocentric=(f"{_PICTURE}image",),
        egocentric=f"{_PICTURE}image2",
    ),
    Schema(
        name="bridge",
        position=Part(_STATE, 0, 3),
        turn=Part(_STATE, 3, 6),
        turn_as="euler",
        gripper=Part(_STATE, 7, 8),
        closed=0.0,
        opened=1.0,
        exocentric=tuple(f"{_PICTURE}image_{number}" for number in range(4)),
    ),
    Schema(
        name="droid",
        position=Part(f"{_STATE}.cartesian_position", 0, 3),
        turn=Part(f"{_STATE}.cartesian_position", 3, 6),
        turn_as="euler",
        gripper=Part(f"{_STATE}.gripper_position", 0, 1),
        closed=1.0,
        opened=0.0,
        exocentric=(f"{_PICTURE}exterior_1_left", f"{_PICTURE}exterior_2_left"),
        egocentric=f"{_PICTURE}wrist_left",
        rules=FAR,
    ),
    Schema(
        name="rt1",
        position=Part(_STATE, 0, 3),
        turn=Part(_STATE, 3, 7),
        turn_as="xyzw",
        gripper=Part(_STATE, 7, 8),
        closed=1.0,
        opened=0.0,
        exocentric=(f"{_PICTURE}image",),
        axes=("x", "y", "z", "rx", "ry", "rz", "rw", "gripper"),
        rules=MOVING,
    ),
)


def schema_for(
    tables: tuple[Schema, ...], features: Mapping[str, Feature], where: str, name: str = ""
) -> Schema:
    """The schema of that name, or the first that fits the features of a data set."""
    if name:
        chosen = next((table for table in tables if table.name == name), None)
        if chosen is None:
            raise QuestionError(
                f"there is no schema '{name}': {did_you_mean(name, [table.name for table in tables])}"
            )
        if lacking := chosen.lacking(features):
            raise QuestionError(f"{where}: lacks {lacking}, which the schema '{name}' needs")
        return chosen
    found = next((table for table in tables if table.fits(features)), None)
    if found is None:
        told = ", ".join(
            key if each.width is None else f"{key} ({each.width})" for key, each in sorted(features.items())
        )
        raise QuestionError(
            f"{where}: no schema surely fits its features ({told[:300]}); "
            f"if one does, name it with --schema: {', '.join(table.name for table in tables)}"
        )
    return found
