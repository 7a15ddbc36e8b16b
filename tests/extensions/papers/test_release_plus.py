from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.errors import PerturbationError
from assay.experiments import load_experiment
from assay.extensions.papers.libero_plus import GaussianBlur, SphereView, StartJoints
from assay.extensions.papers.releases import FromFile
from assay.perturb import Say
from assay.perturb.senses.images import Fog, GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.unavailable import Unavailable
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.layout import LAYOUTS
from assay.sim.packs.pack import AssetPack
from assay.tasks import Arena
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.libero_plus import JOINTS

GOAL = "put_the_bowl_on_the_plate"
VIEW = "_view_0_0_100_0_0_initstate_0"


@pytest.fixture
def decoded(tmp_path: Path) -> Callable[..., EpisodeSpec]:
    """Decodes one name, in a release that holds nothing else."""

    def one(name: str, category: str = "Camera Viewpoints", experiment: str = "libero_goal") -> EpisodeSpec:
        entry = {"id": 1, "name": name, "category": category, "difficulty_level": 3}
        (tmp_path / "task_classification.json").write_text(json.dumps({experiment: [entry]}))
        design = load_experiment(f"libero-plus?folder={tmp_path}")
        specs = list(design.plan(tasks.resolve("all"), (0,)))
        return next(spec for spec in specs if spec.perturbations)

    return one


def test_every_name_of_the_sample_is_decoded(shared: Path):
    experiment = load_experiment(f"libero-plus?folder={shared / 'libero_plus'}")
    plan = list(experiment.plan(tasks.resolve(experiment.tasks), experiment.seeds))
    counts = Counter(spec.labels["dimension"] for spec in plan if spec.labels)
    assert counts == {
        "language instructions": 49,
        "sensor noise": 40,
        "camera viewpoints": 39,
        "objects layout": 34,
        "robot initial states": 33,
        "background textures": 24,
        "light conditions": 21,
    }
    assert all(len(spec.perturbations) == 1 for spec in plan if spec.labels)
    assert {spec.labels["difficulty"] for spec in plan if spec.labels} == {1, 2, 3, 4, 5, None}
    kinds = Counter(type(spec.perturbations[0]) for spec in plan if spec.perturbations)
    assert kinds[SphereView] == 39 and kinds[StartJoints] == 0
    assert sum(kinds[each] for each in (MotionBlur, GaussianBlur, ZoomBlur, Fog, GlassBlur)) == 40
    told = set()
    for spec in plan:
        try:
            told.add(task_of(spec).instruction.text)
        except PerturbationError as error:
            reasons = ("cannot be read: No such file", "no joint angles", "no asset pack offers the light")
            assert any(reason in str(error) for reason in reasons)
    assert told <= {task.instruction.text for task in tasks.resolve("all")}


def test_a_suffix_becomes_a_value(decoded: Callable[..., EpisodeSpec]):
    for suffix, change in (
        ("_view_345_15_100_0_0_initstate_0", SphereView(horizontal=-15, vertical=15)),
        ("_view_0_0_100_358_4_initstate_0", SphereView(turn=-2, tilt=4)),
        (f"{VIEW}_noise_1", MotionBlur(1, cameras=("agentview",))),
        (f"{VIEW}_noise_25", ZoomBlur(5, cameras=("agentview",))),
        (f"{VIEW}_noise_50", GlassBlur(10, cameras=("agentview",))),
    ):
        spec = decoded(GOAL + suffix)
        assert spec.perturbations == (change,) and spec.task == "libero_goal/8"
        assert task_of(spec).instruction.text == "put the bowl on the plate"


def test_joint_angles_come_from_the_releases_table(decoded: Callable[..., EpisodeSpec], tmp_path: Path):
    name = f"{GOAL}_view_0_0_100_0_0_initstate_17"
    missing = decoded(name, "Robot Initial States")
    with pytest.raises(PerturbationError, match="has no joint angles of the start 17"):
        task_of(missing)
    (tmp_path / JOINTS).parent.mkdir(parents=True)
    angles = [0.1, -0.2, 0.0, -2.3, 0.0, 2.2, 0.8]
    (tmp_path / JOINTS).write_text(
        "class MountedPanda1(MountedPanda):\n return np.array([0, 0, 0, 0, 0, 0, 0])\n"
        f"class MountedPanda17(MountedPanda):\n    return np.array([{', '.join(map(str, angles[:4]))},\n"
        f"    {', '.join(map(str, angles[4:]))}])\n"
    )
    spec = decoded(name, "Robot Initial States")
    assert spec.perturbations == (StartJoints(tuple(angles)),)
    compiled = compile_scene(task_of(spec).scene, AssetPack())
    assert compiled.home == pytest.approx(angles)


def test_task_files_give_the_scene_and_never_the_words(
    decoded: Callable[..., EpisodeSpec], shared: Path, tmp_path: Path
):
    (tmp_path / "bddl").symlink_to(shared / "libero_plus" / "bddl")
    moved = decoded("put_the_bowl_on_top_of_the_cabinet_moved_level4_sample2", "Objects Layout")
    (change,) = moved.perturbations
    assert isinstance(change, FromFile) and moved.labels["subdimension"] == "things moved"
    task, usual = task_of(moved), tasks.load(moved.task)
    assert task.instruction == usual.instruction and task.goal == usual.goal and task.scene != usual.scene
    light = decoded("push_the_plate_to_the_front_of_the_stove_light_41", "Light Conditions")
    (change,) = light.perturbations
    assert isinstance(change, Unavailable) and change.what == "tabletop_light_sync_modified_538"
    with pytest.raises(PerturbationError, match="no asset pack offers the light or textures of its file"):
        task_of(light)
    words = decoded(f"put_the_bowl_on_top_of_the_cabinet_language_32{VIEW}", "Language Instructions")
    (said,) = words.perturbations
    assert isinstance(said, Say) and not re.search(r"language|view|_", said.text)
    gone = decoded("turn_on_the_stove_table_3", "Background Textures")
    assert isinstance(gone.perturbations[0], Unavailable)


def test_an_unknown_suffix_is_rejected(decoded: Callable[..., EpisodeSpec]):
    for suffix in ("_view_1_2_3_initstate_0", "_fog_3", f"{VIEW}_noise_51", "_light_x"):
        with pytest.raises(ReleaseError, match=r"LIBERO-plus: (unknown suffix|unknown noise 51)"):
            decoded(GOAL + suffix)


def camera(compiled: CompiledScene) -> tuple[np.ndarray, np.ndarray]:
    """Where the main camera is, (3,), and the direction it looks in, (3,)."""
    import mujoco

    data = mujoco.MjData(compiled.model)
    mujoco.mj_kinematics(compiled.model, data)
    mujoco.mj_camlight(compiled.model, data)
    index = compiled.model.camera("agentview").id
    return data.cam_xpos[index], -data.cam_xmat[index].reshape(3, 3)[:, 2]


def test_a_view_is_turned_about_the_workspace(compiled: Callable[[str], CompiledScene]):
    task = tasks.load("libero_goal/0")

    def seen(view: SphereView) -> tuple[np.ndarray, np.ndarray]:
        spec = EpisodeSpec(task.id, 0, perturbations=(view,))
        return camera(compile_scene(task_of(spec).scene, AssetPack()))

    position, looking = camera(compiled(task.id))
    assert position == pytest.approx(LAYOUTS[Arena.TABLE].cameras["agentview"].position)
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    about_z = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    moved, turned = seen(SphereView(horizontal=30))
    assert moved == pytest.approx(about_z @ position) and turned == pytest.approx(about_z @ looking, abs=1e-6)
    pivot = np.array([0, 0, 0.8])
    moved, turned = seen(SphereView(distance=1.5))
    assert moved - pivot == pytest.approx((position - pivot) * 1.5) and turned == pytest.approx(looking)
    moved, turned = seen(SphereView(vertical=15))
    assert moved[2] > position[2] and np.linalg.norm(moved - pivot) == pytest.approx(
        np.linalg.norm(position - pivot)
    )
    moved, turned = seen(SphereView(turn=10))
    assert moved == pytest.approx(position) and turned[1] != pytest.approx(looking[1])
