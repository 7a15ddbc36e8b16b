"""A seven-joint arm.

Frames, joints, masses and motors are those of LIBERO's Panda, so the same controller gains, initial states
and actions fit. The shells are ours: what is drawn is made of capsules, cylinders and boxes, and what
collides lies inside the real hulls, so the arm touches itself nowhere the real one would not.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.bodies import (
    ACCENT,
    GREY,
    QUARTER_TURN,
    SILVER,
    UPRIGHT,
    Block,
    Part,
    Rod,
    body,
    camera,
    collide,
    draw,
    inertial,
)
from assay.sim.packs.primitives.shapes import Vector, number, numbers

_QUARTER_TURN_BACK = (0.707107, -0.707107, 0.0, 0.0)
_FRICTION = 0.1
"""Friction loss of every joint, Nm."""
_ARMATURE = 5.0
"""Rotor inertia of the first joint; joint n has an n-th of it."""


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
    core: tuple[Part, ...]
    """What collides."""
    shell: tuple[Part, ...]
    """What is drawn."""


_BASE_CORE = (
    Rod("cylinder", 0.054, (0.0, 0.0, 0.016), (0.0, 0.0, 0.138)),
    Rod("capsule", 0.048, (-0.07, 0.0, 0.05), (0.0, 0.0, 0.05)),
)
_BASE_SHELL = (
    Block((-0.145, -0.08, 0.0), (0.068, 0.08, 0.014), SILVER),
    Block((-0.122, -0.064, 0.014), (0.010, 0.064, 0.070)),
    Rod("cylinder", 0.055, (0.0, 0.0, 0.010), (0.0, 0.0, 0.140)),
    Rod("cylinder", 0.0562, (0.0, 0.0, 0.118), (0.0, 0.0, 0.130), GREY),
)
_LINKS = (
    _Link(
        pos=(0.0, 0.0, 0.333),
        quat=UPRIGHT,
        centre=(0.0, 0.0, -0.07),
        mass=3.0,
        inertia=0.3,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        core=(
            Rod("capsule", 0.053, (0.0, 0.0, -0.138), (0.0, -0.03, -0.03)),
            Rod("capsule", 0.053, (0.0, -0.075, 0.0), (0.0, -0.055, 0.0)),
        ),
        shell=(
            Rod("cylinder", 0.0545, (0.0, 0.0, -0.192), (0.0, 0.0, -0.03)),
            Rod("capsule", 0.0545, (0.0, -0.064, 0.0), (0.0, 0.0, 0.0)),
            Rod("cylinder", 0.042, (0.0, -0.124, 0.0), (0.0, -0.10, 0.0), GREY),
        ),
    ),
    _Link(
        pos=(0.0, 0.0, 0.0),
        quat=_QUARTER_TURN_BACK,
        centre=(0.0, -0.1, 0.0),
        mass=3.0,
        inertia=0.3,
        limits=(-1.7628, 1.7628),
        damping=0.1,
        core=(
            Rod("capsule", 0.053, (0.0, -0.138, 0.0), (0.0, -0.03, 0.03)),
            Rod("capsule", 0.053, (0.0, 0.0, 0.055), (0.0, 0.0, 0.075)),
        ),
        shell=(
            Rod("capsule", 0.055, (0.0, 0.0, 0.0), (0.0, 0.0, 0.064)),
            Rod("cylinder", 0.0545, (0.0, -0.03, 0.0), (0.0, -0.194, 0.0)),
            Rod("cylinder", 0.042, (0.0, 0.0, 0.10), (0.0, 0.0, 0.124), GREY),
        ),
    ),
    _Link(
        pos=(0.0, -0.316, 0.0),
        quat=QUARTER_TURN,
        centre=(0.04, 0.0, -0.05),
        mass=2.0,
        inertia=0.2,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        core=(
            Rod("capsule", 0.048, (0.0, 0.0, -0.070), (0.03, 0.01, -0.045)),
            Rod("capsule", 0.045, (0.03, 0.01, -0.045), (0.06, 0.03, -0.02)),
            Rod("capsule", 0.052, (0.0825, 0.053, 0.0), (0.0825, 0.058, 0.0)),
        ),
        shell=(
            Rod("cylinder", 0.0545, (0.0, 0.0, -0.121), (0.0, 0.0, -0.060)),
            Rod("capsule", 0.049, (0.0, 0.0, -0.062), (0.070, 0.022, -0.006)),
            Rod("capsule", 0.0535, (0.0825, 0.030, 0.0), (0.0825, 0.055, 0.0)),
            Rod("cylinder", 0.0545, (0.0825, 0.058, 0.0), (0.0825, 0.090, 0.0), GREY),
        ),
    ),
    _Link(
        pos=(0.0825, 0.0, 0.0),
        quat=QUARTER_TURN,
        centre=(-0.04, 0.05, 0.0),
        mass=2.0,
        inertia=0.2,
        limits=(-3.0718, -0.0698),
        damping=0.1,
        core=(
            Rod("capsule", 0.048, (-0.0825, 0.072, 0.0), (-0.0525, 0.045, 0.01)),
            Rod("capsule", 0.045, (-0.0525, 0.045, 0.01), (-0.0225, 0.02, 0.03)),
            Rod("capsule", 0.052, (0.0, 0.0, 0.053), (0.0, 0.0, 0.058)),
        ),
        shell=(
            Rod("capsule", 0.0535, (0.0, 0.0, 0.030), (0.0, 0.0, 0.055)),
            Rod("capsule", 0.049, (-0.0825, 0.062, 0.0), (-0.012, 0.006, 0.022)),
            Rod("cylinder", 0.0545, (-0.0825, 0.060, 0.0), (-0.0825, 0.124, 0.0)),
            Rod("cylinder", 0.0545, (0.0, 0.0, 0.058), (0.0, 0.0, 0.090), GREY),
        ),
    ),
    _Link(
        pos=(-0.0825, 0.384, 0.0),
        quat=_QUARTER_TURN_BACK,
        centre=(0.0, 0.0, -0.15),
        mass=2.0,
        inertia=0.2,
        limits=(-2.8973, 2.8973),
        damping=0.1,
        core=(
            Rod("capsule", 0.049, (0.0, 0.002, -0.206), (0.0, 0.012, -0.18)),
            Rod("capsule", 0.042, (0.0, 0.012, -0.18), (0.0, 0.066, -0.03)),
            Rod("capsule", 0.046, (0.0, 0.065, 0.0), (0.0, 0.082, 0.0)),
        ),
        shell=(
            Rod("cylinder", 0.0545, (0.0, 0.0, -0.259), (0.0, 0.0, -0.205)),
            Rod("capsule", 0.046, (0.0, 0.006, -0.208), (0.0, 0.062, -0.035)),
            Rod("capsule", 0.048, (0.0, 0.065, 0.0), (0.0, 0.080, 0.0)),
            Rod("capsule", 0.032, (0.0, 0.054, -0.185), (0.0, 0.092, -0.03), GREY),
        ),
    ),
    _Link(
        pos=(0.0, 0.0, 0.0),
        quat=QUARTER_TURN,
        centre=(0.06, 0.0, 0.0),
        mass=1.5,
        inertia=0.1,
        limits=(-0.0175, 3.7525),
        damping=0.01,
        core=(
            Rod("capsule", 0.034, (0.0, 0.0, 0.015), (0.088, 0.0, 0.004)),
            Rod("capsule", 0.042, (0.088, -0.008, 0.0), (0.088, 0.026, 0.0)),
        ),
        shell=(
            Rod("cylinder", 0.046, (0.0, 0.0, 0.0), (0.0, 0.0, 0.044)),
            Rod("capsule", 0.040, (0.0, 0.0, 0.008), (0.088, 0.006, 0.0)),
            Rod("cylinder", 0.043, (0.088, -0.051, 0.0), (0.088, 0.060, 0.0)),
            Rod("cylinder", 0.036, (0.0, 0.0, 0.044), (0.0, 0.0, 0.053), GREY),
            Rod("cylinder", 0.032, (0.088, 0.060, 0.0), (0.088, 0.070, 0.0), GREY),
            Rod("cylinder", 0.011, (0.088, 0.066, 0.0), (0.088, 0.074, 0.0), ACCENT),
        ),
    ),
    _Link(
        pos=(0.088, 0.0, 0.0),
        quat=QUARTER_TURN,
        centre=(0.0, 0.0, 0.08),
        mass=0.5,
        inertia=0.05,
        limits=(-2.8973, 2.8973),
        damping=0.01,
        core=(),
        shell=(
            Rod("cylinder", 0.0425, (0.0, 0.0, 0.053), (0.0, 0.0, 0.097), SILVER),
            Rod("cylinder", 0.0315, (0.0, 0.0, 0.097), (0.0, 0.0, 0.1065), GREY),
            Rod("capsule", 0.014, (0.034, 0.034, 0.076), (0.048, 0.048, 0.076)),
        ),
    ),
)
_TORQUES = (80.0, 80.0, 80.0, 80.0, 80.0, 12.0, 12.0)


def arm() -> Element:
    """The arm from ``base`` over ``link0`` ... ``link7`` to ``right_hand``, with seven motors."""
    root = Element("mujoco", {"model": "arm"})
    actuators = SubElement(root, "actuator")
    for index, torque in enumerate(_TORQUES, start=1):
        attributes = {"name": f"torq_j{index}", "joint": f"joint{index}", "ctrllimited": "true"}
        SubElement(actuators, "motor", attributes | {"ctrlrange": numbers((-torque, torque))})
    base = body(SubElement(root, "worldbody"), "base")
    camera(base, "robotview", (1.0, 0.0, 0.4), (0.653, 0.271, 0.271, 0.653))
    link0 = body(base, "link0")
    inertial(link0, (0.0, 0.0, 0.05), 4.0, (0.4, 0.4, 0.4))
    collide(link0, "link0", _BASE_CORE)
    draw(link0, "link0", _BASE_SHELL)
    last = link0
    for index, link in enumerate(_LINKS, start=1):
        last = _attach(last, index, link)
    hand = body(last, "right_hand", (0.0, 0.0, 0.1065), (0.924, 0.0, 0.0, -0.383))
    inertial(hand, (0.0, 0.0, 0.0), 0.5, (0.05, 0.05, 0.05))
    camera(hand, "eye_in_hand", (0.05, 0.0, 0.0), (0.0, 0.707108, 0.707108, 0.0), fovy=75.0)
    return root


def _attach(parent: Element, index: int, link: _Link) -> Element:
    name = f"link{index}"
    own = body(parent, name, link.pos, link.quat)
    inertial(own, link.centre, link.mass, (link.inertia,) * 3)
    joint = {"name": f"joint{index}", "type": "hinge", "axis": "0 0 1", "limited": "true"}
    joint |= {"range": numbers(link.limits), "damping": number(link.damping)}
    joint |= {"frictionloss": number(_FRICTION), "armature": number(_ARMATURE / index)}
    SubElement(own, "joint", joint)
    collide(own, name, link.core)
    draw(own, name, link.shell)
    return own
