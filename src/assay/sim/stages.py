"""How far each atom of a goal has come: reached, touched, grasped, lifted, carried, placed, released.

A stage is taken down when it is first seen; nothing undoes it. What each means is said by the constants here, and by
docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from assay.episodes.conduct import FIXED, LIFTING, PLACING, TURNING
from assay.sim.categories import OPENING, SWITCHING
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex
from assay.sim.compose import GRIPPER
from assay.sim.robot_contacts import RobotContacts, Touches
from assay.support.jit import compiled as machine_code
from assay.tasks.scene import Atom, Goal, Predicate

REACHED = 0.05
"""How near the grip site must come to the box around a thing to have reached it, metres."""
GRIP = 0.5
"""How hard both fingers must press on a thing from opposite sides to hold it, newton."""
HELD = 3
"""Control steps for which they must do so: a hand that pokes at a thing may pinch it for a moment."""
LIFTED = 0.02
"""How far a held thing must rise above the lowest place where it was, metres."""
CARRIED = 0.5
"""What part of the way to where it belongs a held thing must have gone, as the crow flies over the ground."""
MOVED = 0.02
"""How far a thing or a drawer must go to have moved, metres."""
TURNED = 0.2
"""How far a hinge must turn to have moved, radians."""

_PLACES = frozenset(
    {
        Predicate.ON,
        Predicate.IN,
        Predicate.STACK,
        Predicate.IN_CONTACT,
        Predicate.EXACT_IN,
        Predicate.UPRIGHT_ON,
        Predicate.SIDE_ON,
    }
)
_MECHANISMS = {
    Predicate.OPEN: OPENING,
    Predicate.CLOSE: OPENING,
    Predicate.TURN_ON: SWITCHING,
    Predicate.TURN_OFF: SWITCHING,
}


@machine_code
def _outside(point, place, turn, low, high):  # type: ignore[no-untyped-def]
    """How far a point is from a box in a frame at ``place`` (3,) with the axes ``turn`` (9,), metres."""
    total = 0.0
    for axis in range(3):
        local = 0.0
        for k in range(3):
            local += (point[k] - place[k]) * turn[3 * k + axis]
        off = max(low[axis] - local, local - high[axis], 0.0)
        total += off * off
    return np.sqrt(total)


@dataclass(slots=True)
class _Watched:
    """One atom, and what of the model it is about."""

    atom: Atom
    body: int
    """Whose frame the box is in."""
    geoms: np.ndarray
    """Which geoms are its own, (ngeom,)."""
    low: np.ndarray
    """The box around it in the body's frame, metres, (3,)."""
    high: np.ndarray
    seen: dict[str, int | None]
    place: Callable[[mujoco.MjData], np.ndarray] | None = None
    """Where it belongs, (3,), where it is to go somewhere."""
    away: float = 0.0
    """How far that was at the start, metres over the ground."""
    lowest: float = np.inf
    """The least height that it had so far, metres."""
    pressed: int = 0
    """For how many control steps the fingers have pressed on it by now."""
    joints: list[tuple[int, float, float]] = field(default_factory=list)
    """Of a drawer, a door or a knob: where its value is, what it was at the start, and how far is far."""

    def note(self, stage: str, step: int) -> None:
        if stage in self.seen and self.seen[stage] is None:
            self.seen[stage] = step


class StageWatch:
    """Shown every control step of an episode, the first time before the policy acts."""

    def __init__(
        self, compiled: CompiledScene, goal: Goal, data: mujoco.MjData, contacts: RobotContacts
    ) -> None:
        self._compiled, self._model, self._contacts = compiled, compiled.model, contacts
        self._grip_site = compiled.model.site(f"{GRIPPER}grip_site").id
        self._watched = {}
        self._held: frozenset[Atom] = frozenset()  # from the start on: nobody's achievement
        for number, atom in enumerate(goal.atoms):
            made = self._watch(atom, data)
            if made is not None:
                self._watched[number] = made

    def __call__(self, data: mujoco.MjData, touches: Touches | None, true: list[bool], step: int) -> None:
        """Take down what is seen now; ``true`` says which atoms hold."""
        for number, watched in list(self._watched.items()):
            if step == 0 and true[number]:
                del self._watched[number]
                self._held |= {watched.atom}
            else:
                self._look(watched, data, touches, true[number], step)

    def go_on(self, before: StageWatch) -> None:
        """Take over what was seen of the same atoms in the part of the episode before an event."""
        known = {each.atom: each for each in before._watched.values()}
        for number, watched in list(self._watched.items()):
            if watched.atom in known:
                watched.seen = known[watched.atom].seen
                watched.lowest, watched.away = known[watched.atom].lowest, known[watched.atom].away
            elif watched.atom in before._held:
                del self._watched[number]
        self._held = before._held

    @property
    def stages(self) -> dict[str, dict[str, int | None]]:
        """Of each atom that did not hold at the start."""
        return {str(each.atom): dict(each.seen) for each in self._watched.values()}

    def _look(
        self, one: _Watched, data: mujoco.MjData, touches: Touches | None, true: bool, step: int
    ) -> None:
        seen = one.seen
        touched, pressed = (
            (False, 0.0) if touches is None else self._contacts.pressed(touches, data, one.geoms)
        )
        if seen["reached"] is None and (touched or self._distance(one, data) < REACHED):
            seen["reached"] = step
        if touched:
            one.note("touched", step)
        if one.joints:
            if seen["moved"] is None and any(
                abs(data.qpos[place] - start) > far for place, start, far in one.joints
            ):
                seen["moved"] = step
        elif "grasped" in seen:
            self._follow(one, data, pressed > GRIP, step)
        if true:
            one.note("placed", step)
            one.note("done", step)
            if not touched:
                one.note("released", step)

    def _follow(self, one: _Watched, data: mujoco.MjData, held: bool, step: int) -> None:
        """A thing that is to be carried."""
        position = data.xpos[one.body]
        height = float(position[2])
        one.lowest = min(one.lowest, height)
        one.pressed = one.pressed + 1 if held else 0
        if one.pressed < HELD:
            return
        one.note("grasped", step)
        if height > one.lowest + LIFTED:
            one.note("lifted", step)
        if one.place is not None and one.seen.get("carried") is None:
            left = float(np.linalg.norm(position[:2] - one.place(data)[:2]))
            if left < (1 - CARRIED) * one.away:
                one.note("carried", step)

    def _distance(self, one: _Watched, data: mujoco.MjData) -> float:
        """Of the grip site from the box around a thing, metres."""
        place, turn = data.xpos[one.body], data.xmat[one.body]
        return float(_outside(data.site_xpos[self._grip_site], place, turn, one.low, one.high))

    def _watch(self, atom: Atom, data: mujoco.MjData) -> _Watched | None:
        """What of the model an atom is about; None where that is not there."""
        things: Mapping[str, EntityIndex | RegionIndex] = {
            **self._compiled.entities,
            **self._compiled.regions,
        }
        found = [things.get(name) for name in atom.arguments]
        if not found or any(each is None for each in found):
            return None
        first = found[0]
        assert first is not None
        joints = first.inner_joints if isinstance(first, EntityIndex) else first.joints
        if atom.predicate in _MECHANISMS and joints:
            return self._part(atom, joints, data)
        owner = first if isinstance(first, EntityIndex) else self._compiled.entities.get(first.parent or "")
        if owner is None:
            return None
        if not owner.movable:
            return self._made(atom, owner.body, np.array(sorted(owner.geoms)), FIXED, data)
        stages = (
            PLACING if atom.predicate in _PLACES else LIFTING if atom.predicate is Predicate.UP else FIXED
        )
        made = self._made(atom, owner.body, np.array(sorted(owner.geoms)), stages, data)
        if stages is PLACING:
            goes = found[-1]
            assert goes is not None
            made.place = (
                (lambda data: data.xpos[goes.body])
                if isinstance(goes, EntityIndex)
                else (lambda data: data.site_xpos[goes.site])
            )
            made.away = float(np.linalg.norm(data.xpos[owner.body][:2] - made.place(data)[:2]))
        return made

    def _part(self, atom: Atom, joints: tuple[int, ...], data: mujoco.MjData) -> _Watched:
        """An atom about the parts that joints move."""
        model = self._model
        bodies = {int(model.jnt_bodyid[joint]) for joint in joints}
        geoms = np.flatnonzero(np.isin(model.geom_bodyid, list(bodies)) & (model.geom_group == 0))
        made = self._made(atom, min(bodies), geoms, TURNING, data)
        made.joints = [
            (
                int(model.jnt_qposadr[joint]),
                float(data.qpos[model.jnt_qposadr[joint]]),
                TURNED if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE else MOVED,
            )
            for joint in joints
        ]
        return made

    def _made(
        self, atom: Atom, body: int, geoms: np.ndarray, stages: tuple[str, ...], data: mujoco.MjData
    ) -> _Watched:
        model = self._model
        mask = np.zeros(model.ngeom, dtype=bool)
        mask[geoms] = True
        frame = data.xmat[body].reshape(3, 3)
        turned = frame.T @ data.geom_xmat[geoms].reshape(-1, 3, 3)  # (n, 3, 3), in the body's frame
        centre = (data.geom_xpos[geoms] - data.xpos[body]) @ frame
        centre = centre + np.einsum("nij,nj->ni", turned, model.geom_aabb[geoms, :3])
        half = np.einsum("nij,nj->ni", np.abs(turned), model.geom_aabb[geoms, 3:])
        low, high = (
            ((centre - half).min(axis=0), (centre + half).max(axis=0))
            if len(geoms)
            else (np.zeros(3), np.zeros(3))
        )
        return _Watched(atom, body, mask, low, high, dict.fromkeys(stages))
