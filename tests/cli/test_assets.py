from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.sim.packs.locate import config_file

Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("no_assets")


def tree(folder: Path) -> Path:
    """Create a folder that looks like a site-packages folder with LIBERO and robosuite."""
    for file in (
        "libero/libero/assets/scenes/libero_tabletop_base_style.xml",
        "robosuite/models/assets/robots/panda/robot.xml",
    ):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("<mujoco/>")
    return folder


def test_added_assets_are_shown_and_remembered(assay: Run, tmp_path: Path):
    assert assay("assets", "show").out.count("unknown: run assay assets get, or assay assets add PATH") == 2
    packages = tree(tmp_path / f"[red]{'x' * 90}" / "site-packages")  # shown literally and whole
    added = assay("assets", "add", packages)
    assert added.status == 0 and added.err == ""
    shown = assay("assets", "show")
    for said in (added, shown):
        assert "site-packages/libero/libero/assets" in said.out
        assert "site-packages/robosuite/models/assets" in said.out
    assert f"saved in {config_file()}" in added.out
    assert json.loads(config_file().read_text()) == {
        "libero": str(packages / "libero/libero/assets"),
        "robosuite": str(packages / "robosuite/models/assets"),
    }


def test_assets_from_the_environment_take_precedence(
    assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assay("assets", "add", tree(tmp_path / "p"))
    monkeypatch.setenv("ASSAY_LIBERO_ASSETS", "/from/the/environment")
    said = assay("assets", "show")
    assert "/from/the/environment" in said.out and "robosuite/models/assets" in said.out


def test_damaged_configuration_is_named(assay: Run):
    config_file().parent.mkdir(parents=True)
    config_file().write_text("{")
    said = assay("assets", "show")
    assert said.status == 2 and str(config_file()) in said.err
