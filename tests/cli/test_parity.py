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


def test_it_prints_json_and_nothing_else(assay: Run, folder: Path, libero: LiberoPack):
    said = assay(
        "parity",
        folder,
        "--libero-assets",
        libero.libero,
        "--robosuite-assets",
        libero.robosuite,
        "--json",
        "-",
    )
    assert said.status == 0 and said.err == ""
    plain = json.loads(said.out)
    assert set(plain) == {"sound", "trajectories", "predicates", "images", "models", "details"}
    assert plain["sound"] is True and plain["details"] == []
    assert plain["predicates"]["count"] == 1 and plain["predicates"]["disagreements"] == 0
    assert plain["predicates"]["atoms"] > 100
    assert plain["trajectories"] == {
        "count": 0,
        "median_qpos_error": None,
        "max_qpos_error": None,
        "share_within_1e-6": None,
        "share_within_1e-6_at_40": None,
        "max_observed_error": None,
    }


def test_assets_are_found_beside_the_folder(assay: Run, folder: Path, libero: LiberoPack):
    (folder.parent / "assets").symlink_to(libero.libero)
    (folder.parent / "robosuite_assets").symlink_to(libero.robosuite)
    said = assay("parity", folder)
    assert said.status == 0 and json.loads(said.out)["predicates"]["disagreements"] == 0


@pytest.mark.usefixtures("wide")
def test_a_person_gets_a_table(assay: Run, folder: Path, libero: LiberoPack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console.output, "_force_terminal", True)
    said = assay("parity", folder, "--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite)
    assert said.status == 0 and "0 disagreements" in said.out and "{" not in said.out
    assert "sound" in said.out and "not sound" not in said.out


def test_missing_assets_are_asked_for(assay: Run, folder: Path):
    said = assay("parity", folder)
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert "ASSAY_LIBERO_ASSETS" in said.err


def test_wrong_asset_folders_name_the_missing_files(assay: Run, folder: Path, tmp_path: Path):
    said = assay("parity", folder, "--libero-assets", tmp_path, "--robosuite-assets", tmp_path)
    assert said.status == 2 and said.err.count("\n") == 1
    assert "robots/panda/robot.xml" in said.err and "scenes/libero_tabletop_base_style.xml" in said.err


@pytest.mark.parametrize("name", ["gone", "empty", "file"])
def test_a_folder_that_holds_nothing_is_one_line(assay: Run, tmp_path: Path, libero: LiberoPack, name: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    said = assay(
        "parity", tmp_path / name, "--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite
    )
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert str(tmp_path / name) in said.err


def test_a_folder_that_is_not_there_is_named_before_anything_else(assay: Run, tmp_path: Path):
    said = assay("parity", tmp_path / "gone")
    assert said.status == 2 and str(tmp_path / "gone") in said.err


def test_a_file_that_is_no_record_is_one_line(assay: Run, folder: Path, libero: LiberoPack):
    file = folder / "predicates/y_predicates.npz"
    file.write_text("nonsense")
    said = assay("parity", folder, "--libero-assets", libero.libero, "--robosuite-assets", libero.robosuite)
    assert said.status == 2 and said.err.count("\n") == 1 and str(file) in said.err
