"""Episodes from Assay's simulator: the built-in demonstration, and stored runs replayed.

A run stores actions; the same actions reproduce the same rollout. Images are rendered on demand.

In the demonstration, the oracle performs every feasible task of a few scenes from the same initial state. It rarely
rotates the gripper. Therefore each scene also has tours without an instruction: the gripper moves between positions
above the table and rotates about only one of the base's axes, so that two images determine the axis.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from assay import tasks
from assay.episodes import At, EpisodeSpec, Outcome, Senses, Trajectory, rollout
from assay.errors import AssayError, PlacementError, StateError
from assay.extensions.eqa.episode import EPISODES_FOUND, SourceEpisode, Tally, state_fault
from assay.extensions.eqa.sources.schema import NEAR
from assay.perturb.words.rewordings.goals import alternatives
from assay.policies.oracle.motion import CLOSED, OPEN, grip, move
from assay.policies.oracle.policy import Oracle
from assay.policies.oracle.scene_state import SceneState
from assay.runs.store import Store
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.sim.bare_mujoco import mujoco
from assay.sim.compose import GRIPPER
from assay.sim.render import Snapshot
from assay.sim.world import LIBERO_WORLD, SceneEnv, initial_state
from assay.support.streams import stream
from assay.tasks import Goal, Instruction, Scene, Task

STATIC_CAMERAS = ("agentview", "frontview", "sideview", "birdview")
WRIST_CAMERA = "robot0_eye_in_hand"
WRIST_PLACE = (
    "the camera on the robot's hand, which looks along the fingers and moves and turns with them: when they point "
    "straight down, X points to the upper edge and Y to the left"
)
"""Mounting of the wrist camera; part of question texts, which are hashed."""
OPEN_WIDTH_M = 0.08
"""Distance between the fingers of the open gripper, in metres."""
MAX_WORLDS = 2
"""Maximum number of compiled worlds in the cache; each world that has rendered an image uses about 100 MB."""
RULES = replace(NEAR, thresholds=(0.08, 0.08, 0.08, 18.0, 18.0, 18.0, 0.2))
"""Quality rules for frames of simulated episodes, whose camera is closer than in BridgeData V2."""
FINGERTIPS = tuple(f"{GRIPPER}finger_joint{number}_tip" for number in (1, 2))
IMAGE_MARGIN = 0.04
"""Width, as a fraction of the image size, of the margin in which a fingertip counts as outside the image."""
IMAGE_DIRECTIONS = (("right", "left"), ("up", "down"), ("towards the camera", "away from the camera"))
"""For each camera axis, x to z: its direction in the image, and the opposite direction."""


class SceneCache:
    """Cache of compiled scenes: the `MAX_WORLDS` most recently used."""

    def __init__(self, size: int) -> None:
        self.size = size
        """Height and width of rendered images, in pixels."""
        self._worlds: dict[tuple[Scene, str], Simulation] = {}  # least recently used first

    def world(self, scene: Scene, pack: str) -> Simulation:
        """Return the simulation of a scene. Its state is arbitrary, so callers must reset it."""
        key = (scene, pack)
        world = self._worlds.pop(key, None)
        if world is None:
            if len(self._worlds) >= MAX_WORLDS:
                self._worlds.pop(next(iter(self._worlds))).close()
            world = Simulation(compile_scene(scene, load_pack(pack)))
        self._worlds[key] = world
        return world


@dataclass(frozen=True, slots=True)
class SimulatedCamera:
    """Camera that renders recorded moments of one episode; images are cached as PNG."""

    compiled: SceneCache
    scene: Scene
    pack: str
    name: str
    moments: Sequence[Snapshot]
    rendered: dict[int, bytes] = field(default_factory=dict)

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Render frames; see `Camera`."""
        for frame in (frame for frame in frames if frame not in self.rendered):
            renderer, size = self.compiled.world(self.scene, self.pack).renderer, self.compiled.size
            file = io.BytesIO()
            image = renderer.colour(self.moments[frame], self.name, size, size)
            Image.fromarray(image).save(file, "PNG", compress_level=1)
            self.rendered[frame] = file.getvalue()
        mode = "L" if grey else "RGB"
        return [np.asarray(Image.open(io.BytesIO(self.rendered[frame])).convert(mode)) for frame in frames]


class RolloutWatcher:
    """Records the moments of a rollout and creates a `SourceEpisode` from them."""

    def __init__(self, compiled: SceneCache, scene: Scene, pack: str) -> None:
        self.world = compiled.world(scene, pack)
        """Simulation of the scene; callers must reset it."""
        self._camera = partial(SimulatedCamera, compiled, scene, pack)
        self._states: list[np.ndarray] = []
        self._moments: list[Snapshot] = []

    def __call__(self, observation: Observation) -> None:
        """Record one moment, without rendering."""
        rotation = Rotation.from_quat(observation.eef_quaternion, scalar_first=True)
        angles = rotation.as_euler("xyz", degrees=True, suppress_warnings=True)
        opening = (observation.gripper[0] - observation.gripper[1]) / OPEN_WIDTH_M
        # the world's axes are those of the robot's base
        self._states.append(np.array([*observation.eef_position, *angles, opening]))
        self._moments.append(observation.moment)

    def episode(self, name: str, instruction: str, scene: str, goals: Mapping[str, Goal]) -> SourceEpisode:
        """Create the episode while the world is in its final state; ``goals`` maps instructions to goals."""

        def is_achieved(goal: Goal) -> bool:
            try:
                return self.world.is_satisfied(goal)
            except AssayError:  # the goal of another task may not apply to this scene
                return False

        model = self.world.model
        names = {model.camera(number).name for number in range(model.ncam)}
        static = [camera for camera in STATIC_CAMERAS if camera in names]
        visible, places = camera_coverage(model, self._moments, static)
        return SourceEpisode(
            id=name,
            instruction=instruction,
            states=np.array(self._states),
            exocentric=tuple(self._camera(camera, self._moments) for camera in static),
            egocentric=self._camera(WRIST_CAMERA, self._moments),
            scene=scene,
            achieved=frozenset(text for text, goal in goals.items() if is_achieved(goal)),
            hand_seen=visible,
            places=places,
            hand_place=WRIST_PLACE,
        )


def camera_coverage(
    model: mujoco.MjModel, moments: Sequence[Snapshot], cameras: Sequence[str]
) -> tuple[tuple[np.ndarray, ...], tuple[str, ...]]:
    """Return, for each static camera, a mask (frames,) of whether it sees both fingertips, and a description."""
    data = mujoco.MjData(model)
    bodies = [model.body(name).id for name in FINGERTIPS]
    tips = np.empty((len(moments), len(bodies), 3))
    for number, moment in enumerate(moments):
        data.qpos[:] = moment.qpos
        mujoco.mj_kinematics(model, data)
        tips[number] = data.xpos[bodies]
    mujoco.mj_camlight(model, data)
    visible, places = [], []
    for name in cameras:
        camera = model.camera(name).id
        axes = data.cam_xmat[camera].reshape(3, 3)
        offset = (tips - data.cam_xpos[camera]) @ axes  # right, up, towards the camera
        depth = -offset[..., 2]
        reach = depth * np.tan(np.radians(model.cam_fovy[camera]) / 2) * (1 - 2 * IMAGE_MARGIN)
        inside = (np.abs(offset[..., :2]) <= reach[..., None]).all(axis=-1) & (depth > 0)
        visible.append(inside.all(axis=-1))
        parts = []
        for axis, along in zip("XYZ", axes, strict=True):
            most = int(np.abs(along).argmax())
            parts.append(f"{axis} points {IMAGE_DIRECTIONS[most][0 if along[most] > 0 else 1]}")
        place = f"a camera that stands still, in whose picture {parts[0]}, {parts[1]} and {parts[2]}"
        places.append(place)
    return tuple(visible), tuple(places)


class RunSource:
    """The successful episodes of a stored run, replayed."""

    rules = RULES

    def __init__(self, path: Path, size: int = 256) -> None:
        self.compiled = SceneCache(size)
        self.name = path.stem
        with Store.reading(path) as store:
            frame = store.frame()
            numbers = frame["id"].to_list()
            specs = dict(zip(numbers, store.specs(numbers), strict=True))
            usable = [
                number
                for number, outcome in zip(numbers, frame["outcome"], strict=True)
                if outcome == Outcome.SUCCESS
                and not any(
                    isinstance(change, At) for change in specs[number].perturbations
                )  # one scene, one goal
            ]
            self._episodes = [(specs[number], path) for number, path in store.trajectories(usable)]
        self._others = len(numbers) - len(usable)
        self.total = len(usable)
        self._goals: defaultdict[tuple[Scene, str], dict[str, Goal]] = defaultdict(dict)
        for spec, _ in self._episodes:
            task = LIBERO_WORLD.task(spec)
            self._goals[task.scene, spec.pack][task.instruction.text] = task.goal

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield usable episodes; see `EpisodeSource`."""
        tally.add(EPISODES_FOUND, count=len(self._episodes) + self._others)
        tally.add("episode: not successful", count=self._others)
        for spec, path in sorted(self._episodes, key=lambda episode: episode[0].scene_key):
            try:
                episode = self._replay(spec, path)
            except AssayError as error:
                tally.add("episode: cannot be replayed", f"{spec.key}: {error}")
                continue
            fault = state_fault(episode.states)
            if fault or episode.instruction not in episode.achieved:
                tally.add(f"episode: {fault or 'different outcome when replayed'}", spec.key)
            else:
                yield episode

    def _replay(self, spec: EpisodeSpec, path: Trajectory) -> SourceEpisode:
        task = LIBERO_WORLD.task(spec)
        watcher = RolloutWatcher(self.compiled, task.scene, spec.pack)
        world = watcher.world
        senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
        start = initial_state(world, spec)
        watcher(world.reset(start))
        for action in path.actions:
            watcher(world.step(senses.act(action, world.steps)))
        key = task.scene, spec.pack
        # Tasks may share a scene, and then one initial state.
        layout = hashlib.sha256(np.round(start.vector, 4).tobytes()).hexdigest()[:12]
        scene = f"scene {list(self._goals).index(key) + 1} {layout}"
        text = task.instruction.text
        return watcher.episode(spec.key, text, scene, self._goals[key])


SCENES: tuple[tuple[str, int], ...] = (
    *(("libero_goal/0", seed) for seed in range(4)),
    *((f"libero_object/{number}", 0) for number in range(4)),
)
"""Tasks whose scenes are used, each with the seed that determines the layout of its objects."""
PACK = "primitives"
TOURS = 2
"""Number of tours per scene and axis."""
TOUR_AXES = ("X", "Y", "Z")
TOUR_LEGS = 7
"""Number of positions that a tour visits."""
TOUR_REACH_M = np.array([0.09, 0.10, 0.055])
"""Maximum offset of the positions from the middle of a tour, in metres, (3,)."""
TOUR_MIDDLE_M = np.array([0.14, 0.0, -0.03])
"""Middle of a tour relative to the initial position of the end effector, in metres, (3,)."""
TOUR_TURN_DEG = np.array([32.0, 28.0, 40.0])
"""Maximum rotation about X, Y and Z in either direction, in degrees, (3,)."""
MAX_LEG_STEPS = 70


class DemoSource:
    """Oracle episodes and tours on the built-in assets."""

    name = "demo"
    rules = RULES

    def __init__(
        self, size: int = 256, scenes: Sequence[tuple[str, int]] = SCENES, tours: int = TOURS
    ) -> None:
        self.compiled = SceneCache(size)
        self.scenes = scenes
        self.tours = tours

    @property
    def total(self) -> int:
        """Number of episodes; see `EpisodeSource`."""
        tours = self.tours * len(TOUR_AXES) * len(self.scenes)
        return tours + sum(len(feasible_tasks(tasks.load(task_id))) for task_id, _ in self.scenes)

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        """Yield usable episodes; see `EpisodeSource`."""
        for task_id, seed in self.scenes:
            scene_tasks = feasible_tasks(tasks.load(task_id))
            goals = {task.instruction.text: task.goal for task in scene_tasks}
            for task in scene_tasks:
                tally.add(EPISODES_FOUND)
                text = task.instruction.text
                name = f"{task_id} seed {seed}: {text}"
                watcher = RolloutWatcher(self.compiled, task.scene, PACK)
                try:
                    env = SceneEnv(watcher.world, task, watcher.world.sample(seed))
                    episode = rollout(env, Oracle(), EpisodeSpec(task_id, seed, PACK), watch=watcher)
                except (PlacementError, StateError) as error:
                    tally.add("episode: cannot be set up", f"{name}: {error}")
                    continue
                if episode.outcome is not Outcome.SUCCESS:
                    tally.add("episode: the oracle failed", name)
                    continue
                yield watcher.episode(name, text, f"{task_id} {seed}", goals)
            yield from self._tours(task_id, seed, tally)

    def _tours(self, task_id: str, seed: int, tally: Tally) -> Iterator[SourceEpisode]:
        task = tasks.load(task_id)
        for axis, number in product(range(len(TOUR_AXES)), range(self.tours)):
            tally.add(EPISODES_FOUND)
            name = f"{task_id} seed {seed}: tour {number + 1} about {TOUR_AXES[axis]}"
            watcher = RolloutWatcher(self.compiled, task.scene, PACK)
            world = watcher.world
            try:
                watcher(world.reset(world.sample(seed)))
            except (PlacementError, StateError) as error:
                tally.add("episode: cannot be set up", f"{name}: {error}")
                continue
            # Every leg changes sides in two or three of: forward, left, up, rotation, gripper.
            rng = stream("eqa", "tour", task_id, seed, axis, number)
            side = rng.choice([-1.0, 1.0], 5)
            scene = SceneState(world)
            start, home = scene.gripper_pose()
            for leg in range(TOUR_LEGS):
                place = start + TOUR_MIDDLE_M + TOUR_REACH_M * side[:3]
                turn = Rotation.from_rotvec(np.eye(3)[axis] * TOUR_TURN_DEG[axis] * side[3], degrees=True)
                gripper = OPEN if side[4] > 0 else CLOSED
                motion = move(scene, place, turn.as_matrix() @ home, gripper, steps=MAX_LEG_STEPS)
                for action in chain(motion, grip(scene, gripper, steps=6)):
                    watcher(world.step(action))
                count = int(rng.integers(2, 4))
                chosen = rng.choice(5, count, replace=False)
                if leg % 2 == 0 and 3 not in chosen:  # the rotation changes at least on every other leg
                    chosen[0] = 3
                side[chosen] *= -1.0
            yield watcher.episode(name, "", f"{task_id} {seed}", {})


def feasible_tasks(task: Task) -> list[Task]:
    """Return a task and the other feasible tasks in the same scene, without duplicate instructions."""
    others = (
        replace(task, goal=other.goal, instruction=Instruction(other.text)) for other in alternatives(task)
    )
    return list({candidate.instruction.text: candidate for candidate in (task, *others)}.values())
