"""What an asset pack must offer: MJCF documents for rooms, things and the robot.

A pack hands out *parts*. A part is one MJCF document with plain, unprefixed names; the composer
(`assay.sim.compose`) prefixes them and puts them together. All packs use the same names for
bodies, joints and sites, so the same initial state fits all of them.

The layout of the parts:

``entity(category)``
    ``<worldbody><body><body name="object"> ... </body> SITES </body></worldbody>``. SITES are
    ``bottom_site``, ``top_site`` (their z is the height of the lowest and highest point relative to the
    object's frame, metres) and ``horizontal_radius_site`` (its x is the radius of the footprint).
    Geoms of group 0 collide and are not drawn, geoms of group 1 are drawn and do not collide.
    Named sites inside the object are its regions (``contain_region``, ``top_region``, ...).
    The object carries its inner joints (drawers, doors, knobs) but no free joint.
``arena(arena, style)``
    A room: floor, walls, lights, cameras and the workspace body, in world coordinates.
``robot()``, ``gripper()``, ``mount()``
    The arm (``base`` ... ``right_hand``, joints ``joint1`` ... ``joint7``), the hand that is attached to
    ``right_hand`` (``right_gripper``, ``grip_site``, ``finger_joint1``, ``finger_joint2``) and the pedestal
    (attached to ``base``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from xml.etree.ElementTree import Element

from assay.tasks.scene import Arena


@dataclass(frozen=True, slots=True)
class Part:
    """One MJCF document of a pack."""

    root: Element
    """The ``<mujoco>`` element. The receiver owns it: packs hand out fresh copies."""


class AssetPack(Protocol):
    """A source of parts."""

    def __hash__(self) -> int:
        """What is measured of a pack is kept by it."""
        ...

    @property
    def name(self) -> str:
        """``primitives``, ``libero``, ..."""
        ...

    @property
    def exact(self) -> bool:
        """Whether stepping repeats LIBERO's own solver calls, so that rollouts are equal to LIBERO's."""
        ...

    @property
    def categories(self) -> frozenset[str]:
        """The categories of entities it offers."""
        ...

    @property
    def fixtures(self) -> frozenset[str]:
        """Those of its categories that stand still: furniture and appliances."""
        ...

    def digest(self) -> str:
        """A hash of everything the pack consists of."""
        ...

    def entity(self, category: str) -> Part:
        """An object or fixture. Raises AssetError with the nearest category if there is none."""
        ...

    def arena(self, arena: Arena, style: str) -> Part:
        """A room. Raises AssetError if it is not offered in that style."""
        ...

    def robot(self) -> Part:
        """The arm."""
        ...

    def gripper(self) -> Part:
        """The hand."""
        ...

    def mount(self) -> Part:
        """The pedestal the arm stands on where there is a table in front of it."""
        ...
