"""A seven-joint arm, its parallel gripper and the pedestal it stands on.

Frames, joints, masses, actuators and the pads of the fingers are those of LIBERO's Panda, so the same
controller gains, initial states and actions fit. The shells are ours: capsules, cylinders and boxes that lie
inside the real hulls, so the arm touches itself nowhere the real one would not.

Lengths are metres, angles radians, masses kg, inertias kg m^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.shapes import Rgba, Vector, number, numbers

WHITE: Rgba = (0.93, 0.94, 0.95, 1.0)
SILVER: Rgba = (0.80, 0.82, 0.84, 1.0)
GREY: Rgba = (0.30, 0.31, 0.33, 1.0)
BLACK: Rgba = (0.13, 0.13, 0.14, 1.0)
ACCENT: Rgba = (0.20, 0.55, 0.75, 1.0)

_FLIP_DOWN = (0.707107, -0.707107, 0.0, 0.0)
_FLIP_UP = (0.707107, 0.707107, 0.0, 0.0)
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
_JOINT_FRICTION = 0.1
_ARMATURE = 5.0
"""Rotor inertia of the first joint; joint n has an n-th of it."""

Use = Literal["both", "drawn", "collides"]


@dataclass(frozen=True, slots=True)
class _Rod:
    """A capsule or cylinder between two points of a link's frame."""

    kind: Literal["capsule", "cylinder"]
    radius: float
    start: Vector
    end: Vector
    rgba: Rgba = WHITE
    use: Use = "both"


@dataclass(frozen=True, slots=True)
class _Block:
    """A box between two corners, in a link's frame."""

    low: Vector
    high: Vector
    rgba: Rgba = WHITE
    use: Use = "both"


@dataclass(frozen=True, slots=True)
class _Link:
    """A body of the arm and the joint that moves it."""

    pos: Vector
    quat: Vector
    centre: Vector
    """Centre of mass in the link's frame."""
    mass: float
    inertia: float
    """The three equal principal moments."""
    limits: tuple[float, float]
    damping: float
    shell: tuple[_Rod | _Block, ...]


_BASE_SHELL = (
    _Block((-0.145, -0.085, 0.0), (0.068, 0.085, 0.014), SILVER),
    _Block((-0.122, -0.066, 0.014), (0.010, 0.066, 0.070)),
    _Rod("cylinder", 0.055, (0.0, 0.0, 0.010), (0.0, 0.0, 0.140)),
    _Rod("cylinder", 0.0565, (0.0, 0.0, 0.118), (0.0, 0.0, 0.130), GREY, "drawn"),
)
_LINKS = (
    _Link(
        pos=(0.0, 0.0, 0.333),
        quat=_UPRIGHT,
        centre=(0.0, 0.0, -0.07),
        mass=3.0,
        inertia=0.3,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        shell=(
            _Rod("cylinder", 0.055, (0.0, 0.0, -0.192), (0.0, 0.0, -0.01)),
            _Rod("capsule", 0.055, (0.0, -0.074, 0.0), (0.0, 0.0, 0.0)),
            _Rod("cylinder", 0.047, (0.0, -0.127, 0.0), (0.0, -0.10, 0.0), GREY, "drawn"),
        ),
    ),
    _Link(
        pos=(0.0, 0.0, 0.0),
        quat=_FLIP_DOWN,
        centre=(0.0, -0.1, 0.0),
        mass=3.0,
        inertia=0.3,
        limits=(-1.7628, 1.7628),
        damping=0.1,
        shell=(
            _Rod("capsule", 0.0545, (0.0, 0.0, 0.0), (0.0, 0.0, 0.074)),
            _Rod("cylinder", 0.0545, (0.0, -0.01, 0.0), (0.0, -0.194, 0.0)),
            _Rod("cylinder", 0.047, (0.0, 0.0, 0.10), (0.0, 0.0, 0.127), GREY, "drawn"),
        ),
    ),
    _Link(
        pos=(0.0, -0.316, 0.0),
        quat=_FLIP_UP,
        centre=(0.04, 0.0, -0.05),
        mass=2.0,
        inertia=0.2,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        shell=(
            _Rod("cylinder", 0.0545, (0.0, 0.0, -0.121), (0.0, 0.0, -0.065)),
            _Rod("capsule", 0.048, (0.0, 0.0, -0.066), (0.075, 0.012, -0.006)),
            _Rod("capsule", 0.0535, (0.0825, 0.012, 0.0), (0.0825, 0.055, 0.0)),
            _Rod("cylinder", 0.054, (0.0825, 0.062, 0.0), (0.0825, 0.094, 0.0), GREY, "drawn"),
        ),
    ),
    _Link(
        pos=(0.0825, 0.0, 0.0),
        quat=_FLIP_UP,
        centre=(-0.04, 0.05, 0.0),
        mass=2.0,
        inertia=0.2,
        limits=(-3.0718, -0.0698),
        damping=0.1,
        shell=(
            _Rod("capsule", 0.0535, (0.0, 0.0, 0.012), (0.0, 0.0, 0.055)),
            _Rod("capsule", 0.048, (-0.0825, 0.066, 0.0), (-0.008, 0.006, 0.012)),
            _Rod("cylinder", 0.0545, (-0.0825, 0.065, 0.0), (-0.0825, 0.124, 0.0)),
            _Rod("cylinder", 0.054, (0.0, 0.0, 0.062), (0.0, 0.0, 0.094), GREY, "drawn"),
        ),
    ),
    _Link(
        pos=(-0.0825, 0.384, 0.0),
        quat=_FLIP_DOWN,
        centre=(0.0, 0.0, -0.15),
        mass=2.0,
        inertia=0.2,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        shell=(
            _Rod("cylinder", 0.0545, (0.0, 0.0, -0.259), (0.0, 0.0, -0.215)),
            _Rod("capsule", 0.044, (0.0, 0.008, -0.214), (0.0, 0.066, -0.03)),
            _Rod("capsule", 0.048, (0.0, 0.065, 0.0), (0.0, 0.080, 0.0)),
            _Rod("capsule", 0.030, (0.0, 0.058, -0.185), (0.0, 0.090, -0.03), GREY, "drawn"),
        ),
    ),
    _Link(
        pos=(0.0, 0.0, 0.0),
        quat=_FLIP_UP,
        centre=(0.06, 0.0, 0.0),
        mass=1.5,
        inertia=0.1,
        limits=(-0.0175, 3.7525),
        damping=0.01,
        shell=(
            _Rod("cylinder", 0.046, (0.0, 0.0, 0.004), (0.0, 0.0, 0.044)),
            _Rod("capsule", 0.040, (0.0, 0.0, 0.008), (0.088, 0.006, 0.0)),
            _Rod("cylinder", 0.043, (0.088, -0.051, 0.0), (0.088, 0.066, 0.0)),
            _Rod("cylinder", 0.036, (0.0, 0.0, 0.044), (0.0, 0.0, 0.053), GREY, "drawn"),
            _Rod("cylinder", 0.032, (0.088, 0.066, 0.0), (0.088, 0.074, 0.0), GREY, "drawn"),
            _Rod("cylinder", 0.010, (0.088, 0.070, 0.0), (0.088, 0.077, 0.0), ACCENT, "drawn"),
        ),
    ),
    _Link(
        pos=(0.088, 0.0, 0.0),
        quat=_FLIP_UP,
        centre=(0.0, 0.0, 0.08),
        mass=0.5,
        inertia=0.05,
        limits=(-2.8973, 2.8973),
        damping=0.01,
        shell=(
            _Rod("cylinder", 0.043, (0.0, 0.0, 0.053), (0.0, 0.0, 0.097), SILVER, "drawn"),
            _Rod("cylinder", 0.0315, (0.0, 0.0, 0.097), (0.0, 0.0, 0.1065), GREY, "drawn"),
            _Rod("capsule", 0.014, (0.034, 0.034, 0.076), (0.048, 0.048, 0.076), WHITE, "drawn"),
        ),
    ),
)
_TORQUES = (80.0, 80.0, 80.0, 80.0, 80.0, 12.0, 12.0)


def arm() -> Element:
    """The arm: bodies ``base``, ``link0`` ... ``link7``, ``right_hand``; motors ``torq_j1`` ... ``torq_j7``."""
    root = Element("mujoco", {"model": "arm"})
    actuators = SubElement(root, "actuator")
    for index, torque in enumerate(_TORQUES, start=1):
        attributes = {"name": f"torq_j{index}", "joint": f"joint{index}", "ctrllimited": "true"}
        SubElement(actuators, "motor", attributes | {"ctrlrange": numbers((-torque, torque))})
    base = SubElement(SubElement(root, "worldbody"), "body", {"name": "base", "pos": "0 0 0"})
    _camera(base, "robotview", (1.0, 0.0, 0.4), (0.653, 0.271, 0.271, 0.653))
    body = _body(base, "link0")
    _inertial(body, (0.0, 0.0, 0.05), 4.0, (0.4, 0.4, 0.4))
    _shell(body, "link0", _BASE_SHELL)
    for index, link in enumerate(_LINKS, start=1):
        name = f"link{index}"
        body = _body(body, name, link.pos, link.quat)
        _inertial(body, link.centre, link.mass, (link.inertia,) * 3)
        joint = {"name": f"joint{index}", "type": "hinge", "axis": "0 0 1", "limited": "true"}
        SubElement(
            body,
            "joint",
            joint
            | {
                "range": numbers(link.limits),
                "damping": number(link.damping),
                "frictionloss": number(_JOINT_FRICTION),
                "armature": number(_ARMATURE / index),
            },
        )
        _shell(body, name, link.shell)
    hand = _body(body, "right_hand", (0.0, 0.0, 0.1065), (0.924, 0.0, 0.0, -0.383))
    _inertial(hand, (0.0, 0.0, 0.0), 0.5, (0.05, 0.05, 0.05))
    _camera(hand, "eye_in_hand", (0.05, 0.0, 0.0), (0.0, 0.707108, 0.707108, 0.0), fovy=75.0)
    return root


def gripper() -> Element:
    """The hand: ``right_gripper`` with ``grip_site``, and two fingers that open to 80 mm."""
    root = Element("mujoco", {"model": "gripper"})
    actuators = SubElement(root, "actuator")
    worldbody = SubElement(root, "worldbody")
    hand = _body(worldbody, "right_gripper", quat=(0.707107, 0.0, 0.0, -0.707107))
    _site(hand, "ft_frame", "sphere", (0.01,))
    _inertial(hand, (0.0, 0.0, 0.17), 0.3, (0.09, 0.07, 0.05), quat=_FLIP_UP)
    palm = _Block((-0.1, -0.0195, 0.010), (0.1, 0.0195, 0.052))
    _shell(hand, "hand", (palm,))
    lip = _Block((-0.096, -0.017, 0.052), (0.096, 0.017, 0.066), SILVER)
    wrist = _Block((-0.086, -0.028, -0.010), (0.086, 0.028, 0.010))
    _shell(hand, "hand_lip", (lip,))
    _shell(hand, "hand_wrist", (wrist,))
    rail = _Block((-0.08, -0.008, 0.064), (0.08, 0.008, 0.0668), GREY, "drawn")
    lamp = _Block((-0.022, -0.0205, 0.026), (0.022, 0.0205, 0.032), ACCENT, "drawn")
    _shell(hand, "hand_trim", (rail, lamp))
    eef = _body(hand, "eef", (0.0, 0.0, 0.097))
    _site(eef, "grip_site", "sphere", (0.01,))
    _site(eef, "ee_x", "cylinder", (0.005, 0.1), (0.1, 0.0, 0.0), (0.707105, 0.0, 0.707108, 0.0))
    _site(eef, "ee_y", "cylinder", (0.005, 0.1), (0.0, 0.1, 0.0), (0.707105, 0.707108, 0.0, 0.0))
    _site(eef, "ee_z", "cylinder", (0.005, 0.1), (0.0, 0.0, 0.1))
    _site(eef, "grip_site_cylinder", "cylinder", (0.005, 10.0))
    for index, name, side in ((1, "leftfinger", 1.0), (2, "rightfinger", -1.0)):
        reach = sorted((0.0, side * 0.04))
        actuator = {"name": f"gripper_finger_joint{index}", "joint": f"finger_joint{index}", "kp": "1000"}
        limits = {"ctrllimited": "true", "ctrlrange": numbers(reach)}
        forces = {"forcelimited": "true", "forcerange": "-20 20"}
        SubElement(actuators, "position", actuator | limits | forces)
        finger = _body(hand, name, (0.0, 0.0, 0.0524), (0.707107, 0.0, 0.0, 0.707107))
        _inertial(finger, (0.0, 0.0, 0.05), 0.1, (0.01, 0.01, 0.005))
        joint = {"name": f"finger_joint{index}", "type": "slide", "axis": "0 1 0", "limited": "true"}
        friction = {"damping": "100", "armature": "1", "frictionloss": "1"}
        SubElement(finger, "joint", joint | {"range": numbers(reach)} | friction)
        _finger_shell(finger, index, side)
        tip = _body(finger, f"finger_joint{index}_tip", (0.0, side * 0.0085, 0.056))
        _inertial(tip, (0.0, 0.0, 0.0), 0.01, (0.01, 0.01, 0.01), quat=(0.0, 0.0, 0.0, 1.0))
        pad = {"name": f"finger{index}_pad_collision", "type": "box", "group": "0"}
        place = {"size": "0.008 0.004 0.008", "pos": numbers((0.0, side * -0.005, -0.015))}
        contact = {"solref": "0.01 0.5", "friction": "2 0.05 0.0001", "contype": "1", "conaffinity": "1"}
        SubElement(tip, "geom", pad | place | contact | {"rgba": "0 0 0.5 1"})
    sensors = SubElement(root, "sensor")
    SubElement(sensors, "force", {"name": "force_ee", "site": "ft_frame"})
    SubElement(sensors, "torque", {"name": "torque_ee", "site": "ft_frame"})
    return root


def mount() -> Element:
    """The pedestal: bodies ``base``, ``controller_box``, ``pedestal_feet``, ``torso``, ``pedestal``."""
    root = Element("mujoco", {"model": "mount"})
    base = _body(SubElement(root, "worldbody"), "base", (0.0, 0.0, -0.922))
    box = _body(base, "controller_box")
    _inertial(box, (-0.325, 0.0, -0.38), 46.64, (1.71363, 1.27988, 0.809981))
    _shell(box, "controller_box", (_Block((-0.435, -0.2, -0.645), (-0.215, 0.2, -0.115), GREY),))
    feet = _body(base, "pedestal_feet")
    _inertial(feet, (-0.1225, 0.0, -0.758), 167.09, (8.16095, 9.59375, 15.0785))
    _shell(feet, "pedestal_feet", (_Block((-0.5075, -0.35, -0.913), (0.2625, 0.35, -0.603), use="collides"),))
    _shell(feet, "pedestal_plate", (_Block((-0.46, -0.32, -0.922), (0.24, 0.32, -0.86), BLACK, "drawn"),))
    _inertial(_body(base, "torso"), (0.0, 0.0, 0.0), 0.0001, (1e-6, 1e-6, 1e-6))
    pedestal = _body(base, "pedestal")
    turn = (0.659267, -0.259505, -0.260945, 0.655692)
    _inertial(pedestal, (0.0, 0.0, 0.0), 60.864, (6.0869, 5.81635, 4.20915), quat=turn)
    column = _Rod("cylinder", 0.18, (-0.02, 0.0, -0.6), (-0.02, 0.0, 0.02), use="collides")
    _shell(pedestal, "pedestal", (column,))
    post = _Rod("cylinder", 0.09, (-0.02, 0.0, -0.87), (-0.02, 0.0, -0.03), GREY, "drawn")
    plate = _Rod("cylinder", 0.165, (-0.01, 0.0, -0.04), (-0.01, 0.0, -0.011), BLACK, "drawn")
    _shell(pedestal, "pedestal_top", (post, plate))
    return root


def _finger_shell(finger: Element, index: int, side: float) -> None:
    """Three boxes that collide as the real finger's hull does, and are drawn a little slimmer."""
    contact = {"contype": "0", "conaffinity": "1", "solref": "0.02 1", "condim": "4"}
    contact |= {"friction": "1 0.005 0.0001", "rgba": "0 0 0.5 1", "group": "0"}
    tip = ((-0.0087, 0.0, 0.036), (0.0087, 0.0142, 0.0538))
    blade = ((-0.0096, 0.0013, 0.019), (0.0096, 0.0205, 0.036))
    knuckle = ((-0.0104, 0.0026, 0.0), (0.0104, 0.0258, 0.019))
    for part, (low, high) in (("", tip), ("_blade", blade), ("_knuckle", knuckle)):
        name = {"name": f"finger{index}{part}_collision", "type": "box"}
        SubElement(finger, "geom", name | _box_between(_mirrored(low, side), _mirrored(high, side)) | contact)
    drawn = (
        (tip, BLACK),
        (((-0.0092, 0.0085, 0.019), (0.0092, 0.0205, 0.036)), SILVER),
        (((-0.0104, 0.0062, 0.0), (0.0104, 0.0258, 0.019)), SILVER),
    )
    for order, ((low, high), rgba) in enumerate(drawn):
        block = _Block(_mirrored(low, side), _mirrored(high, side), rgba, "drawn")
        _shell(finger, f"finger{index}_{order}" if order else f"finger{index}", (block,))


def _mirrored(point: Vector, side: float) -> tuple[float, float, float]:
    return (point[0], side * point[1], point[2])


def _body(parent: Element, name: str, pos: Vector = (0.0, 0.0, 0.0), quat: Vector = _UPRIGHT) -> Element:
    return SubElement(parent, "body", {"name": name, "pos": numbers(pos), "quat": numbers(quat)})


def _inertial(
    body: Element, pos: Vector, mass: float, moments: Vector, *, quat: Vector = _UPRIGHT
) -> None:
    attributes = {"pos": numbers(pos), "quat": numbers(quat), "mass": number(mass)}
    SubElement(body, "inertial", attributes | {"diaginertia": numbers(moments)})


def _camera(body: Element, name: str, pos: Vector, quat: Vector, *, fovy: float | None = None) -> None:
    attributes = {"name": name, "mode": "fixed", "pos": numbers(pos), "quat": numbers(quat)}
    if fovy is not None:
        attributes["fovy"] = number(fovy)
    SubElement(body, "camera", attributes)


def _site(
    body: Element, name: str, kind: str, size: Vector, pos: Vector = (0.0, 0.0, 0.0), quat: Vector = _UPRIGHT
) -> None:
    place = {"name": name, "type": kind, "size": numbers(size), "pos": numbers(pos), "quat": numbers(quat)}
    SubElement(body, "site", place | {"group": "1", "rgba": "1 0 0 0"})


def _shell(body: Element, name: str, parts: tuple[_Rod | _Block, ...]) -> None:
    """Add the parts as ``NAME_collision``, ``NAME_visual``, then ``NAME_collision_1``, ..."""
    collisions = visuals = 0
    for part in parts:
        if isinstance(part, _Rod):
            shape = {"type": part.kind, "size": number(part.radius)}
            shape["fromto"] = numbers((*part.start, *part.end))
        else:
            shape = {"type": "box"} | _box_between(part.low, part.high)
        if part.use != "drawn":
            own = {"name": _numbered(f"{name}_collision", collisions), "group": "0", "rgba": "0 0.5 0 1"}
            SubElement(body, "geom", own | shape)
            collisions += 1
        if part.use != "collides":
            own = {"name": _numbered(f"{name}_visual", visuals), "group": "1", "rgba": numbers(part.rgba)}
            SubElement(body, "geom", own | shape | {"contype": "0", "conaffinity": "0"})
            visuals += 1


def _numbered(name: str, count: int) -> str:
    return f"{name}_{count}" if count else name


def _box_between(low: Vector, high: Vector) -> dict[str, str]:
    centre = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = [abs(b - a) / 2 for a, b in zip(low, high, strict=True)]
    return {"pos": numbers(centre), "size": numbers(half)}
