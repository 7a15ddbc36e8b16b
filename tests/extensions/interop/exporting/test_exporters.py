from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.conftest import Said

from assay.errors import RunError
from assay.extensions.interop.exporting import export_to
from assay.runs.store import Store
from assay.tasks.formats.lerobot import LerobotFolder


def test_failures_become_a_dataset_with_the_result_of_each_action(played: Path, tmp_path: Path):
    with Store.reading(played) as store:
        said = export_to("lerobot", store, tmp_path / "out", episodes="failures", most=2, size=32)
        recorded = {row["key"]: row for row in store.frame().to_dicts()}
        paths = dict(store.trajectories())
    assert said.startswith("2 episodes written to") and said.endswith("(2 omitted because of --most)")
    folder = LerobotFolder(tmp_path / "out")
    rows = list(folder.rows())
    assert len(rows) == 2 and folder.features["next.success"]["dtype"] == "bool"
    for row in rows:
        frames = row.frames(("action", "next.success", "next.done", "next.reward"))
        assert frames["next.done"].to_list() == [False] * 5 + [True] and not frames["next.success"].any()
        known = recorded[row.metadata["assay/key"]]
        assert row.metadata["assay/condition"] == known["condition"]
        assert row.instruction == known["instruction"]
        actions = paths[known["id"]].actions.clip(-1, 1)
        assert (frames["action"].to_numpy() == actions).all()
    videos = pl.Series([clip.exists() for row in rows for clip, _ in row.clips.values()])
    assert len(videos) == 4 and videos.all()


def test_results_for_the_hub_have_value_n_and_interval(played: Path, tmp_path: Path):
    file = tmp_path / ".eval_results" / "assay.yaml"
    with Store.reading(played) as store:
        export_to("hf", store, file, dataset="lab/pro")
    control, changed = yaml.safe_load(file.read_text())
    assert control["dataset"] == {"id": "lab/pro", "task_id": "control"} and control["value"] == 0.0
    assert changed["dataset"]["task_id"] == "pro/semantic" and "n = 2" in changed["notes"]
    assert "95 % interval 0.0 to 65.8" in control["notes"] and len(control["date"]) == 10
    assert "not expected" not in changed["notes"]


def test_invalid_exports_are_rejected(played: Path):
    with Store.reading(played) as store:
        for name, out, options, words in (
            ("mlflow", None, {}, "--to 'mlflow'"),
            ("hf", None, {}, "--to hf needs --out"),
            ("hf", Path("x.yaml"), {}, "expected the id of a dataset"),
            ("hf", Path("x.yaml"), {"dataset": "pro"}, "a dataset on the Hub, OWNER/NAME"),
            ("hf", Path("x.txt"), {"dataset": "a/b"}, "expected a YAML file"),
            ("lerobot", Path("/"), {}, "is not empty"),
            ("lerobot", Path("/no/such"), {"size": 33}, "expected an even number"),
            ("lerobot", Path("/no/such"), {"episodes": "zz"}, "with a key that begins with 'zz'"),
        ):
            with pytest.raises(RunError, match=words):
                export_to(name, store, out, **options)


def test_a_run_that_does_not_exist_is_refused_in_one_line(assay: Callable[..., Said]):
    result = assay("export", "none.assay", "--json", "-")
    assert result.status == 2 and result.err.count("\n") == 1 and "none.assay" in result.err
