"""Layouts of data sets: the keys of states, cameras and instructions.

Keys are spelled as in the files: ``steps/observation/state`` in RLDS, ``observation.state`` in LeRobot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel
from scipy.spatial.transform import Rotation

from assay.errors import did_you_mean
from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.episode import QualityRules
from assay.extensions.eqa.question import QuestionError

NEAR = QualityRules((0.1, 0.1, 0.1, 18.0, 18.0, 18.0, 0.2))
"""Quality rules for frames from cameras close to the scene, as in BridgeData V2."""
FAR = replace(NEAR, thresholds=(0.18, 0.18, 0.18, 18.0, 18.0, 18.0, 0.2))
"""Quality rules for frames from distant cameras, as in DROID."""
MOVING = replace(NEAR, levels=(ActionLevel.HIGH,))
"""Quality rules for frames of robots with a mobile base, as in RT-1."""
_RULES = {"near": NEAR, "far": FAR, "moving": MOVING}


class ColumnRange(NamedTuple):
    """A range of columns of a feature."""

    key: str
    first: int
    last: int
    """Index after the last column."""

    def read(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the values of the columns, (frames, n)."""
        values = np.asarray(columns[self.key], dtype=np.float64)
        return values.reshape(len(values), -1)[:, self.first : self.last]


class Feature(NamedTuple):
    """Declaration of a feature in a data set."""

    width: int | None = None
    """Number of values; None if undeclared or not numeric."""
    names: tuple[str, ...] = ()
    """Names of the values, if declared."""


class Schema(BaseModel, frozen=True, extra="forbid"):
    """Layout of a data set: one entry of ``schemas.yaml``."""

    name: str
    position: ColumnRange
    """Columns of the position in the base frame, in metres."""
    turn: ColumnRange
    """Columns of the orientation."""
    turn_as: Literal["euler", "axis_angle", "xyzw"]
    """Encoding of the orientation: roll, pitch and yaw, or axis times angle, in radians; or a quaternion."""
    gripper: ColumnRange
    """Columns of the gripper: one value, or the positions of two fingers, whose difference is the opening."""
    closed: float
    """Value of the closed gripper."""
    opened: float
    """Value of the open gripper."""
    exocentric: tuple[str, ...]
    """Keys of the static cameras; the first is required."""
    egocentric: str = ""
    """Key of the wrist camera; empty if none exists."""
    instruction: str = ""
    """Feature that contains the instruction; empty if no feature does."""
    instructions: tuple[str, ...] = ()
    """Alternative features that contain the instruction, for episodes in which the first feature is empty."""
    has_camera: str = ""
    """Name of the flag that states whether an episode has camera number ``{}``; empty if there are no flags."""
    axes: tuple[str, ...] = ()
    """Required names of the state's columns, if the cameras do not identify the layout."""
    rules: Literal["near", "far", "moving"] = "near"

    @property
    def quality_rules(self) -> QualityRules:
        """Requirements that frames and pairs of frames must meet to be used in questions."""
        return _RULES[self.rules]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the features that contain the state."""
        return tuple(dict.fromkeys(part.key for part in (self.position, self.turn, self.gripper)))

    def lacking(self, features: Mapping[str, Feature]) -> str:
        """Describe the first requirement of this layout that the features do not meet; "" if they meet all."""
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
        """Return whether these features match this layout."""
        names = features[self.position.key].names if self.position.key in features else ()
        joints = any("joint" in name for name in names)
        return not self.lacking(features) and not joints and self.axes in ((), names)

    def states(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Compute states (frames, 7); angles are NaN for invalid orientations."""
        gripper = self.gripper.read(columns)
        width = gripper[:, 0] - gripper[:, 1] if gripper.shape[1] == 2 else gripper[:, 0]
        opening = (width - self.closed) / (self.opened - self.closed)
        turn = self.turn.read(columns)
        angles = np.degrees(turn) if self.turn_as == "euler" else np.full((len(turn), 3), np.nan)
        whole = np.isfinite(turn).all(axis=1) & (turn.any(axis=1) | (self.turn_as != "xyzw"))
        if whole.any() and self.turn_as != "euler":
            make = Rotation.from_rotvec if self.turn_as == "axis_angle" else Rotation.from_quat
            angles[whole] = make(turn[whole]).as_euler("xyz", degrees=True, suppress_warnings=True)
        return np.column_stack([self.position.read(columns), angles, opening])


def find_schema(
    layout: str,
    features: Mapping[str, Feature],
    where: str,
    name: str = "",
    gripper: tuple[float, float] | None = None,
) -> Schema:
    """Find the schema with a given ``name`` among those for ``rlds`` or ``lerobot``, or the first that matches.

    ``gripper`` overrides the schema's values of the closed and the open gripper.
    """
    text = files(__package__).joinpath("schemas.yaml").read_text(encoding="utf-8")
    schemas = {key: Schema(name=key, **content) for key, content in yaml.safe_load(text)[layout].items()}
    if name and name not in schemas:
        raise QuestionError(f"unknown schema '{name}': {did_you_mean(name, schemas)}")
    if name and (lacking := schemas[name].lacking(features)):
        raise QuestionError(f"{where}: missing {lacking}, which the schema '{name}' needs")
    fitting = [schemas[name]] if name else [schema for schema in schemas.values() if schema.fits(features)]
    if not fitting:
        listed = ", ".join(
            key if feature.width is None else f"{key} ({feature.width})"
            for key, feature in sorted(features.items())
        )
        raise QuestionError(
            f"{where}: no schema matches the features ({listed[:300]}); "
            f"choose one with --schema: {', '.join(schemas)}"
        )
    values = {} if gripper is None else {"closed": gripper[0], "opened": gripper[1]}
    return fitting[0].model_copy(update=values)
