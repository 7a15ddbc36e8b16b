"""With the real packages, offline; skipped where they are not installed (pip install 'assay-robotics[track,rerun]')."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path

import pytest

from assay.api.tracking import export, identify, load_tracker
from assay.extensions.interop.exporting.exporters import export_to
from assay.runs.store import Store


def test_tensorboard_reads_back_the_episodes_which_are_sent_once(played: Path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Store.reading(played) as store:
        assert [export(store, load_tracker("tensorboard")()) for _ in range(2)] == [4, 0]
        folder = played.parent / "tensorboard" / f"{played.stem}-{identify(store).id[:8]}"
    events = EventAccumulator(str(folder)).Reload()
    assert [each.step for each in events.Scalars("episode/steps")] == [0, 1, 2, 3]
    assert events.Scalars("high/control")[-1].value == pytest.approx(0.658, abs=1e-3)
    text = events.Tensors("conditions/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| control | 0.0 % | 0.0 to 65.8 | 2 |" in text and "drop" in text


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


def test_rerun_reads_back_images_path_actions_and_predicates(played: Path, tmp_path: Path):
    rr = pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    with Store.reading(played) as store:
        export_to("rerun", store, tmp_path / "out", most=1)
        key = store.frame()["key"][0]
        atoms = list(json.loads(store.frame()["truth"][0]))
    (file,) = (tmp_path / "out").glob("*.rrd")
    reader = importlib.import_module("rerun.chunk").RrdReader(file)
    (recording,) = reader.recordings()
    assert (recording.application_id, recording.recording_id) == ("assay", key)
    assert len(reader.blueprints()) == 1
    rows = Counter[str]()
    for chunk in reader.stream():
        rows[str(chunk.entity_path)] += 0 if chunk.is_static else chunk.num_rows
    goals = {f"/goal/{rr.escape_entity_path_part(atom)}": 7 for atom in atoms}
    # Images at steps 0, 5 and the last.
    wanted = {"/camera": 3, "/world/hand": 7, "/action": 6, "/gripper": 7} | goals
    assert {name: rows[name] for name in wanted} == wanted
    assert {"/world/path", "/world/things", "/episode"} <= rows.keys()
