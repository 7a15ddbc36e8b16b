"""Episodes of our own simulator: nothing is drawn until somebody looks."""

from __future__ import annotations

import io
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from assay.errors import AssayError
from assay.extensions.eqa.episode import Camera, Episode
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.sources.sight import watched
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.sim.render import Snapshot
from assay.tasks import Goal, Scene

OUTSIDE = ("agentview", "frontview", "sideview", "birdview")
HAND = "robot0_eye_in_hand"
HAND_PLACE = (
    "the camera on the robot's hand, which looks along the fingers and moves and turns with them: when they point "
    "straight down, X points to the upper edge and Y to the left"
)
"""How it is mounted, in words."""
OPENED = 0.08
"""The distance of the fingers of an open gripper, metres."""
WORLDS = 2
"""How many compiled worlds are kept; each that has drawn a picture holds about 100 MB."""
RULES = replace(NEAR, thresholds=(0.08, 0.08, 0.08, 18.0, 18.0, 18.0, 0.2))
"""The camera is nearer still than in BridgeData V2, and so are the things on the table."""


class SceneCache:
    """Compiles scenes and draws their moments; the latest few worlds are kept."""

    def __init__(self, size: int) -> None:
        self.size = size
        """Height and width of the pictures."""
        self._worlds: OrderedDict[tuple[Scene, str], Simulation] = OrderedDict()

    def world(self, scene: Scene, pack: str) -> Simulation:
        """The world of a scene; whoever uses it resets it."""
        key = (scene, pack)
        if key not in self._worlds:
            while len(self._worlds) >= WORLDS:
                self._worlds.popitem(last=False)[1].close()
            self._worlds[key] = Simulation(compile_scene(scene, load_pack(pack)))
        self._worlds.move_to_end(key)
        return self._worlds[key]

    def close(self) -> None:
        """Give back what the worlds hold."""
        while self._worlds:
            self._worlds.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class SimulatedCamera:
    """Draws the moments of one episode; what was drawn is kept, compressed."""

    compiled: SceneCache
    scene: Scene
    pack: str
    name: str
    moments: Sequence[Snapshot]
    drawn: dict[int, bytes] = field(default_factory=dict)

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """See `Camera`."""
        return [self._picture(frame, "L" if grey else "RGB") for frame in frames]

    def _picture(self, frame: int, mode: str) -> np.ndarray:
        if frame not in self.drawn:
            renderer, size = self.compiled.world(self.scene, self.pack).renderer, self.compiled.size
            file = io.BytesIO()
            picture = renderer.colour(self.moments[frame], self.name, size, size)
            Image.fromarray(picture).save(file, "PNG", compress_level=1)
            self.drawn[frame] = file.getvalue()
        return np.asarray(Image.open(io.BytesIO(self.drawn[frame])).convert(mode))


class Watcher:
    """Watches a rollout and makes an Episode of it."""

    def __init__(self) -> None:
        self._states: list[np.ndarray] = []
        self._moments: deque[Snapshot] = deque()

    def __call__(self, observation: Observation) -> None:
        """Remember one moment; nothing is drawn."""
        self._states.append(state_of(observation))
        self._moments.append(observation.moment)

    def episode(
        self,
        name: str,
        instruction: str,
        scene: str,
        world: Simulation,
        compiled: SceneCache,
        pack: str,
        goals: Mapping[str, Goal],
    ) -> Episode:
        """What was seen; the world is still at its end. ``goals``: those of the scene, by instruction."""
        moments = list(self._moments)
        place = world.compiled.scene

        def camera(name: str) -> Camera:
            return SimulatedCamera(compiled, place, pack, name, moments)

        there = {world.model.camera(number).name for number in range(world.model.ncam)}
        outside = [each for each in OUTSIDE if each in there]
        placed = watched(world.model, moments, outside)
        return Episode(
            id=name,
            instruction=instruction,
            states=np.array(self._states),
            exocentric=tuple(camera(each) for each in outside),
            egocentric=camera(HAND),
            scene=scene,
            achieved=frozenset(text for text, goal in goals.items() if _holds(world, goal)),
            hand_seen=tuple(each.hand_seen for each in placed),
            places=tuple(each.place for each in placed),
            hand_place=HAND_PLACE,
        )


def state_of(observation: Observation) -> np.ndarray:
    """The hand's state (7,); the world's axes are those of the robot's base."""
    angles = Rotation.from_quat(observation.eef_quaternion, scalar_first=True).as_euler(
        "xyz", degrees=True, suppress_warnings=True
    )
    opening = (observation.gripper[0] - observation.gripper[1]) / OPENED
    return np.array([*observation.eef_position, *angles, opening])


def _holds(world: Simulation, goal: Goal) -> bool:
    try:
        return world.satisfied(goal)
    except AssayError:  # a goal of another task that makes no sense here
        return False
