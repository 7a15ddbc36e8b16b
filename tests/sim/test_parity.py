from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import AssayError, StateError
from assay.sim import parity
from assay.sim.compile import compile_scene
from assay.sim.packs.libero import LiberoPack
from assay.sim.parity import WITHIN, WITHIN_EARLY, Parity, measure

TASK = "libero_goal_00"
KEYS = {
    "trajectories": {
        "count",
        "median_qpos_error",
        "max_qpos_error",
        "share_within_1e-6",
        "share_within_1e-6_at_40",
        "max_observed_error",
    },
    "predicates": {"count", "atoms", "disagreements"},
    "images": {"count", "mean_abs_diff", "max_abs_diff"},
    "models": {"count", "mismatches"},
}
FILES = {
    "trajectories": f"trajectories/{TASK}_00_traj.npz",
    "predicates": f"predicates/{TASK}_predicates.npz",
    "images": f"images/{TASK}_images.npz",
    "models": f"composed/{TASK}.xml.gz",
}


@pytest.fixture(scope="module", autouse=True)
def _compiled_once() -> Iterator[None]:
    """All these records are of one scene."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity, "compile_scene", cache(compile_scene))
        yield


@pytest.fixture(scope="module")
def records(reference: Path) -> dict[str, dict[str, Any]]:
    """A short record of each kind: 45 steps, 20 states, 1 state."""
    read = {kind: dict(np.load(reference / FILES[kind])) for kind in ("trajectories", "predicates", "images")}
    moves, truths, pictures = read.values()
    for key in ("actions", "eef_pos", "eef_quat_xyzw", "gripper_qpos", "success"):
        moves[key] = moves[key][:45]
    moves["states"] = moves["states"][:46]
    for key in ("states", "truth"):
        truths[key] = truths[key][:20]
    for key in ("states", "state_index", "agentview", "wrist"):
        pictures[key] = pictures[key][:1]
    return read


def written(folder: Path, kind: str, record: dict[str, Any]) -> Path:
    file = folder / FILES[kind]
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, **record)
    return file


@pytest.fixture(scope="module")
def equal(
    drawing: str,
    records: dict[str, dict[str, Any]],
    reference: Path,
    libero: LiberoPack,
    tmp_path_factory: pytest.TempPathFactory,
) -> Parity:
    """What a sound installation gives."""
    folder = tmp_path_factory.mktemp("equal")
    for kind, record in records.items():
        written(folder / "deeper", kind, record)
    (folder / "composed").mkdir()
    (folder / FILES["models"]).symlink_to(reference / FILES["models"])
    return measure(folder, libero)


@pytest.fixture(scope="module")
def tampered(
    drawing: str,
    records: dict[str, dict[str, Any]],
    reference: Path,
    libero: LiberoPack,
    tmp_path_factory: pytest.TempPathFactory,
) -> Parity:
    """The same with one thing changed in each file."""
    folder = tmp_path_factory.mktemp("tampered")
    moves, truths, pictures = ({**records[kind]} for kind in ("trajectories", "predicates", "images"))
    moves["actions"] = moves["actions"].copy()
    moves["actions"][42, 0] += 0.01 if moves["actions"][42, 0] < 0.5 else -0.01  # after the first 40 steps
    truths["truth"] = truths["truth"].copy()
    truths["truth"][7, 3] ^= 1
    pictures["agentview"] = np.clip(pictures["agentview"].astype(int) + 6, 0, 255).astype(np.uint8)
    for kind, record in zip(records, (moves, truths, pictures), strict=True):
        written(folder, kind, record)
    text = gzip.decompress((reference / FILES["models"]).read_bytes()).decode()
    heavier, count = re.subn(r'(<inertial[^>]* mass=")', r"\g<1>1", text, count=1)
    assert count == 1
    (folder / "composed").mkdir()
    (folder / FILES["models"]).write_bytes(gzip.compress(heavier.encode()))
    return measure(folder, libero)


def test_the_json_has_the_agreed_keys(equal: Parity):
    plain = equal.as_json()
    assert set(plain) == {*KEYS, "sound", "details"}
    for kind, keys in KEYS.items():
        assert set(plain[kind]) == keys  # type: ignore[call-overload]
    json.loads(json.dumps(plain, allow_nan=False))


def test_a_sound_installation_differs_in_nothing(equal: Parity):
    assert equal.trajectories["count"] == 1
    assert equal.trajectories["max_qpos_error"] < 1e-9
    assert equal.trajectories["median_qpos_error"] == equal.trajectories["max_qpos_error"]
    assert (equal.trajectories[WITHIN], equal.trajectories[WITHIN_EARLY]) == (1.0, 1.0)
    assert (equal.predicates["count"], equal.predicates["disagreements"]) == (1, 0)
    assert equal.images["count"] == 2
    assert equal.images["mean_abs_diff"] <= 1
    assert (equal.models["count"], equal.models["mismatches"]) == (1, 0)
    assert equal.details == () and equal.sound


def test_every_change_is_found_and_named(tampered: Parity, equal: Parity, records: dict[str, dict[str, Any]]):
    moves, images = tampered.trajectories, tampered.images
    assert not tampered.sound
    assert moves["max_qpos_error"] > 1e-6
    assert (moves[WITHIN], moves[WITHIN_EARLY]) == (0.0, 1.0)
    assert tampered.predicates["disagreements"] == 1
    assert images["mean_abs_diff"] == pytest.approx(equal.images["mean_abs_diff"] + 3, abs=0.7)
    assert images["max_abs_diff"] >= 6, "one of two images is brighter by 6"
    assert (tampered.models["count"], tampered.models["mismatches"]) == (1, 1)
    atom = str(records["predicates"]["atoms"][3]).split()
    for words in (
        ("traj.npz", "qpos error"),
        ("differs in 1 of 20 states", atom[1]),
        ("body_mass", f"{TASK}.xml.gz"),
    ):
        assert any(all(word in line for word in words) for line in tampered.details)


@pytest.mark.parametrize(
    ("old", "new"), [('timestep="0.002"', 'timestep="0.001"'), ('impratio="20"', 'impratio="1"')]
)
def test_another_option_of_the_physics_is_found(
    old: str, new: str, reference: Path, tmp_path: Path, libero: LiberoPack
):
    text = gzip.decompress((reference / FILES["models"]).read_bytes()).decode()
    assert old in text
    (tmp_path / "composed").mkdir()
    (tmp_path / FILES["models"]).write_bytes(gzip.compress(text.replace(old, new).encode()))
    assert measure(tmp_path, libero).models["mismatches"] == 1


# -- folders and files that are no reference


def test_a_folder_with_nothing_to_replay_says_what_was_looked_for(tmp_path: Path, libero: LiberoPack):
    (tmp_path / "trajectories").mkdir()
    (tmp_path / "trajectories/notes.txt").write_text("")
    with pytest.raises(StateError) as caught:
        measure(tmp_path, libero)
    for word in ("trajectories/*.npz", "predicates/*.npz", "images/*.npz", "composed/*.xml.gz"):
        assert word in str(caught.value)


def object_array(file: Path) -> None:
    np.savez(file, suite=np.array([{}], dtype=object))


def a_single_array(file: Path) -> None:
    with file.open("wb") as stream:
        np.save(stream, np.zeros(3))


def half_an_archive(file: Path) -> None:
    np.savez(file, suite="libero_goal", task=0)
    file.write_bytes(file.read_bytes()[:-60])


def test_a_file_that_is_no_record_is_named(tmp_path: Path, libero: LiberoPack):
    damages: list[Callable[[Path], object]] = [
        lambda file: file.write_text("nonsense"),
        lambda file: np.savez(file, suite="libero_goal", task=0),  # keys are missing
        lambda file: file.write_bytes(b""),
        object_array,
        half_an_archive,
        a_single_array,
    ]
    for kind in ("trajectories", "predicates", "images"):
        for number, damage in enumerate(damages):
            folder = tmp_path / f"{kind}{number}"
            file = folder / FILES[kind]
            file.parent.mkdir(parents=True)
            damage(file)
            with pytest.raises(StateError) as caught:
                measure(folder, libero)
            assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_an_inconsistent_record_is_refused_in_one_line(
    tmp_path: Path, records: dict[str, dict[str, Any]], libero: LiberoPack
):
    one_atom = {"truth": np.zeros((20, 1), np.int8)}
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("trajectories", {"suite": "libero_gaol"}, "libero_goal"),
        ("trajectories", {"task": 77}, "77"),
        ("trajectories", {"task": "zero"}, "'zero'"),
        ("trajectories", {"states": np.zeros((46, 5))}, "5 numbers"),
        ("trajectories", {"root_bodies": np.array(["x"] * 11)}, "lacks the pose"),
        ("trajectories", {"actions": np.zeros((3, 7))}, ""),
        ("trajectories", {"actions": np.zeros((0, 7)), "states": np.zeros((1, 79))}, ""),
        ("predicates", {"atoms": np.array(["hovers plate_1"])} | one_atom, "hovers"),
        ("predicates", {"atoms": np.array(["on plate_1"])} | one_atom, "plate_1"),
        ("predicates", one_atom, ""),
    ]
    for number, (kind, changes, words) in enumerate(cases):
        folder = tmp_path / str(number)
        written(folder, kind, records[kind] | changes)
        with pytest.raises(AssayError) as caught:
            measure(folder, libero)
        assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        pytest.param("odd.xml.gz", gzip.compress(b"<mujoco/>"), "SUITE_NUMBER", id="oddly named"),
        pytest.param("libero_goal_77.xml.gz", gzip.compress(b"<mujoco/>"), "libero_goal/77", id="no task"),
        pytest.param(
            "libero_goal_00.xml.gz",
            b"not packed",
            "libero_goal_00",
            id="not packed",
        ),
        pytest.param(
            "libero_goal_00.xml.gz",
            gzip.compress(b"<mujoco><worldbody>"),
            "libero_goal_00",
            id="not well-formed",
        ),
    ],
)
def test_a_model_that_cannot_be_read_is_named(
    name: str, content: bytes, word: str, tmp_path: Path, libero: LiberoPack
):
    (tmp_path / "composed").mkdir()
    (tmp_path / "composed" / name).write_bytes(content)
    with pytest.raises(AssayError, match=word):
        measure(tmp_path, libero)
