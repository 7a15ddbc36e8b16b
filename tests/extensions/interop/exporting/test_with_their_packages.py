"""With the real packages, offline; skipped where they are not installed (pip install 'assay-robotics[track]')."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.api.tracking import export, identify, load_tracker
from assay.runs.store import Store


def test_trackio_stores_a_row_for_each_episode_once(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    pytest.importorskip("trackio", reason="trackio is not installed")
    from trackio.sqlite_storage import SQLiteStorage

    with Store.reading(played) as store:
        assert export(store, load_tracker("trackio")()) == 4 and export(store, load_tracker("trackio")()) == 0
        name = f"{played.stem}-{identify(store).id[:8]}"
    logs = SQLiteStorage.get_logs("assay", name)
    rows = [each for each in logs if "episode/success" in each]
    assert len(rows) == 4 and {row["episode/condition"] for row in rows} == {"control", "pro/semantic"}
    assert any("final/rate/control" in each for each in logs)


def test_wandb_writes_an_offline_run(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    pytest.importorskip("wandb", reason="wandb is not installed")
    with Store.reading(played) as store:
        assert export(store, load_tracker("wandb")()) == 4
        (folder,) = (played.parent / "wandb").glob(f"offline-run-*-{identify(store).id}")
    assert next(folder.glob("run-*.wandb")).stat().st_size > 0
