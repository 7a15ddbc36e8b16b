from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.support.files import cache_folder, config_folder, data_folder


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_folders_are_those_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ASSAY_CACHE")
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = (cache_folder, config_folder, data_folder)
    usual = [tmp_path / place / "assay" for place in (".cache", ".config", ".local/share")]
    assert [folder() for folder in folders] == usual
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert [folder() for folder in folders] == [
        tmp_path / name / "assay" for name in ("CACHE", "CONFIG", "DATA")
    ]
    assert not list(tmp_path.iterdir()), "none is made"


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
