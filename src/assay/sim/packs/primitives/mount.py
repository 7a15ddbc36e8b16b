"""The pedestal the arm stands on where there is a table in front of it."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.bodies import BLACK, GREY, Block, Rod, body, collide, draw, inertial

_BOX = (Block((-0.435, -0.2, -0.645), (-0.215, 0.2, -0.115), GREY),)
_FEET_CORE = (Block((-0.5075, -0.35, -0.913), (0.2625, 0.35, -0.603)),)
_FEET_SHELL = (Block((-0.46, -0.32, -0.922), (0.24, 0.32, -0.86), BLACK),)
_COLUMN_CORE = (Rod("cylinder", 0.18, (-0.02, 0.0, -0.6), (-0.02, 0.0, 0.02)),)
_COLUMN_SHELL = (
    Rod("cylinder", 0.09, (-0.02, 0.0, -0.87), (-0.02, 0.0, -0.03), GREY),
    Rod("cylinder", 0.165, (-0.01, 0.0, -0.04), (-0.01, 0.0, -0.011), BLACK),
)


def mount() -> Element:
    """The pedestal: bodies ``base``, ``controller_box``, ``pedestal_feet``, ``torso``, ``pedestal``."""
    root = Element("mujoco", {"model": "mount"})
    base = body(SubElement(root, "worldbody"), "base", (0.0, 0.0, -0.922))
    box = body(base, "controller_box")
    inertial(box, (-0.325, 0.0, -0.38), 46.64, (1.71363, 1.27988, 0.809981))
    collide(box, "controller_box", _BOX)
    draw(box, "controller_box", _BOX)
    feet = body(base, "pedestal_feet")
    inertial(feet, (-0.1225, 0.0, -0.758), 167.09, (8.16095, 9.59375, 15.0785))
    collide(feet, "pedestal_feet", _FEET_CORE)
    draw(feet, "pedestal_feet", _FEET_SHELL)
    inertial(body(base, "torso"), (0.0, 0.0, 0.0), 0.0001, (1e-6, 1e-6, 1e-6))
    pedestal = body(base, "pedestal")
    inertial(pedestal, (0.0, 0.0, 0.0), 60.864, (6.0869, 5.81635, 4.20915))
    collide(pedestal, "pedestal", _COLUMN_CORE)
    draw(pedestal, "pedestal", _COLUMN_SHELL)
    return root
