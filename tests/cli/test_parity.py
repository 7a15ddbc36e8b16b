from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.sim.packs.libero import LiberoPack
from assay.support import console

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("no_assets")


@pytest.fixture
def folder(reference: Path, tmp_path: Path) -> Path:
    """A few states of one file of predicates."""
    record = dict(np.load(reference / "predicates/libero_goal_00_predicates.npz"))
    record["states"], record["truth"] = record["states"][:2], record["truth"][:2]
    (tmp_path / "libero/reference/predicates").mkdir(parents=True)
    np.savez(tmp_path / "libero/reference/predicates/x_predicates.npz", **record)
    return tmp_path / "libero/reference"


def test_parity_prints_json_and_nothing_else(assay: Run, folder: Path, libero: LiberoPack):
    assets = ("--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite)
    said = assay("parity", folder, *assets, "--json", "-")
    assert said.status == 0 and said.err == ""
    plain = json.loads(said.out)
    assert set(plain) == {"sound", "trajectories", "predicates", "images", "models", "details"}
    assert plain["sound"] is True and plain["details"] == []
    assert plain["predicates"]["count"] == 1 and plain["predicates"]["disagreements"] == 0
    assert plain["predicates"]["atoms"] > 100
    assert plain["trajectories"].pop("count") == 0 and set(plain["trajectories"].values()) == {None}


def test_assets_are_found_beside_the_folder(assay: Run, folder: Path, libero: LiberoPack):
    (folder.parent / "assets").symlink_to(libero.libero)
    (folder.parent / "robosuite_assets").symlink_to(libero.robosuite)
    said = assay("parity", folder)
    assert said.status == 0 and json.loads(said.out)["predicates"]["disagreements"] == 0


@pytest.mark.usefixtures("wide")
def test_terminal_gets_a_table(assay: Run, folder: Path, libero: LiberoPack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console.output, "_force_terminal", True)
    said = assay("parity", folder, "--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite)
    assert said.status == 0 and "0 disagreements" in said.out and "{" not in said.out
    assert "this installation reproduces the recordings" in said.out


def test_missing_assets_and_records_are_named(assay: Run, folder: Path, tmp_path: Path, libero: LiberoPack):
    ours = ("--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite)
    theirs = ("--libero-assets", tmp_path, "--robosuite-assets", tmp_path)
    (tmp_path / "empty").mkdir()
    damaged = folder / "predicates/y_predicates.npz"
    damaged.write_text("nonsense")
    for records, assets, reason in (
        (folder, (), "ASSAY_LIBERO_ASSETS"),
        (folder, theirs, "robots/panda/robot.xml"),
        (tmp_path / "empty", ours, str(tmp_path / "empty")),
        (folder, ours, str(damaged)),
    ):
        said = assay("parity", records, *assets)
        assert said.status == 2 and said.out == "" and reason in said.err
