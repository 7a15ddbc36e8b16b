"""A parallel gripper with two fingers that open to 80 mm.

Joints, actuators and the pads that hold things are those of LIBERO's Panda hand; the shells are ours.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.bodies import (
    ACCENT,
    GREY,
    QUARTER_TURN,
    SILVER,
    Block,
    Part,
    body,
    collide,
    draw,
    inertial,
    marker,
)
from assay.sim.packs.primitives.shapes import numbers

_PALM_CORE = (
    Block((-0.090, -0.0190, 0.010), (0.090, 0.0190, 0.052)),
    Block((-0.086, -0.0140, 0.052), (0.086, 0.0140, 0.066)),
    Block((-0.064, -0.0200, -0.002), (0.064, 0.0200, 0.010)),
)
_PALM_SHELL = (
    Block((-0.100, -0.0195, 0.010), (0.100, 0.0195, 0.052)),
    Block((-0.096, -0.0170, 0.052), (0.096, 0.0170, 0.066), SILVER),
    Block((-0.086, -0.0280, -0.010), (0.086, 0.0280, 0.010)),
    Block((-0.080, -0.0080, 0.064), (0.080, 0.0080, 0.0668), GREY),
    Block((-0.022, -0.0205, 0.026), (0.022, 0.0205, 0.032), ACCENT),
)
_FINGER_CORE = (
    Block((-0.0076, 0.0, 0.036), (0.0076, 0.0142, 0.0538)),
    Block((-0.0090, 0.0013, 0.019), (0.0090, 0.0205, 0.036)),
    Block((-0.0104, 0.0026, 0.0), (0.0104, 0.0256, 0.019)),
)
_FINGER_SHELL = (
    Block((-0.0087, 0.0, 0.036), (0.0087, 0.0142, 0.0538), SILVER),
    Block((-0.0092, 0.0085, 0.019), (0.0092, 0.0205, 0.036), GREY),
    Block((-0.0104, 0.0062, 0.0), (0.0104, 0.0258, 0.019), GREY),
)


def gripper() -> Element:
    """The hand: ``right_gripper``, ``grip_site``, fingers on ``finger_joint1`` and ``finger_joint2``."""
    root = Element("mujoco", {"model": "gripper"})
    actuators = SubElement(root, "actuator")
    hand = body(SubElement(root, "worldbody"), "right_gripper", quat=(0.707107, 0.0, 0.0, -0.707107))
    marker(hand, "ft_frame", "sphere", (0.01,))
    inertial(hand, (0.0, 0.0, 0.17), 0.3, (0.09, 0.07, 0.05), quat=QUARTER_TURN)
    collide(hand, "hand", _PALM_CORE)
    draw(hand, "hand", _PALM_SHELL)
    eef = body(hand, "eef", (0.0, 0.0, 0.097))
    marker(eef, "grip_site", "sphere", (0.01,))
    marker(eef, "ee_x", "cylinder", (0.005, 0.1), (0.1, 0.0, 0.0), (0.707105, 0.0, 0.707108, 0.0))
    marker(eef, "ee_y", "cylinder", (0.005, 0.1), (0.0, 0.1, 0.0), (0.707105, 0.707108, 0.0, 0.0))
    marker(eef, "ee_z", "cylinder", (0.005, 0.1), (0.0, 0.0, 0.1))
    marker(eef, "grip_site_cylinder", "cylinder", (0.005, 10.0))
    _finger(hand, actuators, "leftfinger", 1, side=1.0)
    _finger(hand, actuators, "rightfinger", 2, side=-1.0)
    sensors = SubElement(root, "sensor")
    SubElement(sensors, "force", {"name": "force_ee", "site": "ft_frame"})
    SubElement(sensors, "torque", {"name": "torque_ee", "site": "ft_frame"})
    return root


def _finger(hand: Element, actuators: Element, name: str, index: int, *, side: float) -> None:
    """Add a finger that opens towards ``side`` (1 or -1) along the y of its frame."""
    joint = f"finger_joint{index}"
    reach = numbers(sorted((0.0, side * 0.04)))
    finger = body(hand, name, (0.0, 0.0, 0.0524), (0.707107, 0.0, 0.0, 0.707107))
    inertial(finger, (0.0, 0.0, 0.05), 0.1, (0.01, 0.01, 0.005))
    slide = {"name": joint, "type": "slide", "axis": "0 1 0", "limited": "true", "range": reach}
    SubElement(finger, "joint", slide | {"damping": "100", "armature": "1", "frictionloss": "1"})
    drive = {"name": f"gripper_{joint}", "joint": joint, "kp": "1000"}
    drive |= {"ctrllimited": "true", "ctrlrange": reach, "forcelimited": "true", "forcerange": "-20 20"}
    SubElement(actuators, "position", drive)
    # contype 0: the shell of a finger touches things, but not the other finger's.
    shell = {"contype": "0", "conaffinity": "1", "condim": "4"}
    shell |= {"solref": "0.02 1", "friction": "1 0.005 0.0001"}
    collide(finger, f"finger{index}", _mirrored(_FINGER_CORE, side), **shell)
    draw(finger, f"finger{index}", _mirrored(_FINGER_SHELL, side))
    tip = body(finger, f"{joint}_tip", (0.0, side * 0.0085, 0.056))
    inertial(tip, (0.0, 0.0, 0.0), 0.01, (0.01, 0.01, 0.01))
    pad = _mirrored((Block((-0.008, -0.009, -0.023), (0.008, -0.001, -0.007)),), side)
    grip = {"contype": "1", "conaffinity": "1", "solref": "0.01 0.5", "friction": "2 0.05 0.0001"}
    collide(tip, f"finger{index}_pad", pad, **grip)


def _mirrored(blocks: tuple[Block, ...], side: float) -> tuple[Part, ...]:
    def turned(corner: tuple[float, ...]) -> tuple[float, ...]:
        return (corner[0], side * corner[1], corner[2])

    return tuple(Block(turned(tuple(b.low)), turned(tuple(b.high)), b.rgba) for b in blocks)
