from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.sim.packs.locate import config_file
from assay.support import console

Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("no_assets", "wide")


def tree(folder: Path) -> Path:
    """A folder that looks like a site-packages with both."""
    for file in (
        "libero/libero/assets/scenes/libero_tabletop_base_style.xml",
        "robosuite/models/assets/robots/panda/robot.xml",
    ):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("<mujoco/>")
    return folder


def test_nothing_is_known_at_first(assay: Run):
    said = assay("assets", "show")
    assert said.status == 0 and said.out.count("not known: assay assets get, or assay assets add PATH") == 2


def test_what_is_added_is_shown_and_remembered(assay: Run, tmp_path: Path):
    packages = tree(tmp_path / "site-packages")
    added = assay("assets", "add", packages)
    assert added.status == 0 and added.err == ""
    shown = assay("assets", "show")
    for said in (added, shown):
        assert "site-packages/libero/libero/assets" in said.out
        assert "site-packages/robosuite/models/assets" in said.out
    assert f"remembered in {config_file()}" in added.out
    assert json.loads(config_file().read_text()) == {
        "libero": str(packages / "libero/libero/assets"),
        "robosuite": str(packages / "robosuite/models/assets"),
    }


def test_the_environment_is_shown_in_place_of_memory(
    assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assay("assets", "add", tree(tmp_path / "p"))
    monkeypatch.setenv("ASSAY_LIBERO_ASSETS", "/from/the/environment")
    said = assay("assets", "show")
    assert "/from/the/environment" in said.out and "robosuite/models/assets" in said.out


@pytest.mark.parametrize("name", ["gone", "empty", "file"])
def test_a_folder_without_assets_is_one_line(assay: Run, tmp_path: Path, name: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    said = assay("assets", "add", tmp_path / name)
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert str(tmp_path / name) in said.err
    assert not config_file().exists()


def test_a_damaged_memory_is_one_line(assay: Run):
    config_file().parent.mkdir(parents=True)
    config_file().write_text("{")
    said = assay("assets", "show")
    assert said.status == 2 and said.err.count("\n") == 1 and str(config_file()) in said.err


@pytest.mark.parametrize("name", ["[/x]", "[red]y"])
def test_a_folder_with_signs_of_markup_is_shown_as_it_is(assay: Run, tmp_path: Path, name: str):
    packages = tree(tmp_path / name)
    said = assay("assets", "add", packages)
    assert said.status == 0 and f"{name}/libero/libero/assets" in said.out


def test_a_long_folder_is_shown_whole(assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console.output, "_width", 80)
    packages = tree(tmp_path / ("x" * 60) / ("y" * 60))
    said = assay("assets", "add", packages)
    assert str(packages / "libero/libero/assets") in said.out


@pytest.mark.skipif(os.name != "posix", reason="a file in place of a folder")
def test_a_memory_that_cannot_be_written_is_one_line(assay: Run, no_assets: Path, tmp_path: Path):
    no_assets.write_text("a file where the folder should be")
    said = assay("assets", "add", tree(tmp_path / "p"))
    assert said.status == 2 and said.err.count("\n") == 1
