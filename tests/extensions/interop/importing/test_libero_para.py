from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.episodes import horizon, task_of
from assay.errors import AssayError, RunError
from assay.extensions.interop.importing.libero_para import import_libero_para
from assay.extensions.interop.importing.results import ImportedRun
from assay.measures.frames import pairs, valid_rows
from assay.runs.store import Store
from assay.tasks.formats import ReleaseError

COLUMNS = [
    *("high", "mid", "low", "eval", "batch_idx", "new_instruction", "original_instruction"),
    *("structural_similarity", "keyword_similarity"),
]
ORIGINAL = "open the middle drawer of the cabinet"
ROW = ["act", "lexical", "addition_deletion", "0", "0", f"gently {ORIGINAL}", ORIGINAL, "0.9", "1.0"]
EPISODE = {
    "paraphrase_type": "act",
    "categories": ["lexical"],
    "subcategories": ["addition_deletion"],
    "variant_id": 0,
    "paraphrased_instruction": f"gently {ORIGINAL}",
    "success": True,
    "num_steps": 127,
}
STEPS = 3
STATE = [0.1, 0.2, 1.1, 3.1, 0.0, 0.0, 0.03, -0.02]
"""Position, orientation, both fingers."""
MOVED = {
    "num_steps": STEPS,
    "proprio_states": [[step + each for each in STATE] for step in range(STEPS)],
    "actions": [[step / 10] * 7 for step in range(STEPS)],
    "action_chunk_boundaries": [0, 2],
}


@pytest.fixture
def logs(tmp_path: Path) -> Callable[..., tuple[Path, Path, Path]]:
    """Writes logs and metadata; returns folder, metadata and where the run goes."""

    def written(*episodes: dict, rows: tuple[list[str], ...] = (ROW,), eval_id: int = 0, seed: str = "seed7"):
        folder, metadata = tmp_path / "logs", tmp_path / "metadata.csv"
        (folder / seed).mkdir(parents=True, exist_ok=True)
        content = {
            "eval_id": eval_id,
            "original_instruction": None,
            "episodes": [EPISODE | each for each in episodes],
        }
        (folder / seed / f"eval{eval_id}.json").write_text(json.dumps(content))
        with metadata.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        return folder, metadata, tmp_path / "run.assay"

    return written


def import_run(folder: Path, metadata: Path, out: Path, controls: Path | None = None) -> ImportedRun:
    (done,) = import_libero_para([folder], metadata, out, controls)
    return done


def frame(path: Path) -> pl.DataFrame:
    with Store.reading(path) as store:
        return store.frame()


def test_the_official_logs_become_a_run(shared: Path, tmp_path: Path):
    folder = shared / "libero_para"
    done = import_run(folder / "logs", folder / "metadata.csv", tmp_path / "run.assay")
    assert (done.episodes, done.controls, done.paths) == (2021, 0, 0)
    assert done.remarks == ("2,071 of the 4,092 episodes in the evaluation are missing",)
    rows = frame(tmp_path / "run.assay")
    assert len(rows) == 2021 and rows["key"].n_unique() == 2021
    assert set(rows["task"]) == {f"libero_goal/{number}" for number in (0, 1, 3, 5, 8)}
    assert rows["condition"].n_unique() == 43 and rows["pd"].null_count() == 0
    with Store.reading(tmp_path / "run.assay") as store:
        meta = store.meta
        assert meta["policy"] == "Xiaomi-Robotics-0" and meta["expected"] == 4092
        assert meta["settings"] == {"seeds": "7", "max_steps": "300", "replan_steps": "10"}
        assert meta["started"] == "2026-03-04T13:22:36"
        (spec,) = store.specs([1])
    assert task_of(spec).instruction.text == "gently open the middle drawer of the cabinet"
    assert (horizon(spec), spec.replan) == (300, 10)


def test_an_episode_carries_its_cell_and_the_published_similarities(logs):
    folder, metadata, out = logs({})
    import_run(folder, metadata, out)
    (row,) = frame(out).iter_rows(named=True)
    assert row["condition"] == "para/obj=none,act=addition"
    assert (row["object"], row["action"], row["axis"]) == ("none", "addition", "words")
    assert (row["s_k"], row["s_t"], row["pd"]) == (1.0, 0.9, pytest.approx(0.05))
    assert (row["outcome"], row["steps"], row["task"], row["seed"]) == ("success", 127, "libero_goal/0", 7)


def test_missing_pairs_are_counted_both_ways(logs):
    spare = [*ROW[:4], "5", "calmly " + ORIGINAL, *ROW[6:]]
    folder, metadata, out = logs(
        {},
        {"variant_id": 1, "paraphrased_instruction": "new words"},
        {"variant_id": 5, "paraphrased_instruction": "not what the metadata says"},
        rows=(ROW, spare),
    )
    logs({}, {}, eval_id=3, rows=(ROW, spare))  # the metadata does not know this task
    done = import_run(folder, metadata, out)
    assert done.episodes == 3 and frame(out)["s_k"].null_count() == 2
    assert [remark.split()[0] for remark in done.remarks] == ["2", "2", "1", "2"]
    assert "wordings that are not in the metadata" in done.remarks[0] and "of the 5" in done.remarks[-1]


def test_repeated_wordings_and_several_seeds_are_separate_episodes(logs):
    twin = [*ROW[:4], "1", *ROW[5:]]
    logs({}, rows=(ROW, twin))
    folder, metadata, out = logs({}, {"variant_id": 1, "success": False}, rows=(ROW, twin), seed="seed8")
    done = import_run(folder, metadata, out)
    assert done.episodes == 3
    rows = sorted(frame(out).select("seed", "outcome").iter_rows())
    assert rows == [(7, "success"), (8, "failure"), (8, "success")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_steps": -1}, "eval0.json: not a LIBERO-Para log: episodes.0.num_steps"),
        ({"success": "maybe"}, "episodes.0.success"),
        ({"categories": ["musical"]}, "LIBERO-Para has no type act, musical, addition_deletion"),
        ({"proprio_states": [STATE] * 2}, "2 rows of 8 numbers; expected num_steps = 3 rows of 7 or 8"),
        ({"proprio_states": [STATE, STATE, STATE[:7]]}, "proprio_states: 3 rows of 7 or 8 numbers"),
        ({"proprio_states": [[*STATE[:7], "x"]] * 3}, "episodes.0.proprio_states.0.7"),
        ({"actions": [[0.0] * 8] * 3}, "actions: 3 rows of 8 numbers; expected num_steps = 3 rows of 7"),
    ],
)
def test_an_invalid_log_is_rejected_with_its_place(logs, change: dict, words: str):
    folder, metadata, out = logs(MOVED | {"bddl_file": "act_ver0.bddl"} | change)
    with pytest.raises(ReleaseError) as caught:
        import_run(folder, metadata, out)
    assert words in str(caught.value) and "eval0.json" in str(caught.value)
    assert list(out.parent.glob("*.assay")) == list(out.parent.glob(".*")) == []


def test_invalid_metadata_missing_inputs_and_existing_outputs_are_rejected(logs, tmp_path: Path):
    for row, words in (
        ([*ROW[:7], "x", "1.0"], "metadata.csv:2: structural_similarity"),
        ([*ROW[:7], "nan", "1.0"], "metadata.csv:2: structural_similarity"),
        ([*ROW[:8], "1.7"], "metadata.csv:2: keyword_similarity: input should be less than or equal to 1"),
        (["act", "lexical", "shouting", *ROW[3:]], "metadata.csv:2: LIBERO-Para has no type"),
        ([*ROW[:6], "make tea", *ROW[7:]], "'make tea' is not an instruction of libero_goal"),
        (ROW[:5], "metadata.csv:2: new_instruction"),
    ):
        with pytest.raises((ReleaseError, RunError), match=words):
            import_run(*logs({}, rows=(row,)))
    folder, metadata, out = logs({})
    with pytest.raises(ReleaseError, match=r"contains no seed\*"):
        import_run(tmp_path / "nothing", metadata, out)
    (tmp_path / "bad.csv").write_text("high,mid\nact,lexical\n")
    with pytest.raises(ReleaseError, match="lacks the columns batch_idx, eval"):
        import_run(folder, tmp_path / "bad.csv", out)
    log = folder / "seed7" / "eval0.json"
    log.write_text(log.read_text()[:-9])
    with pytest.raises(ReleaseError, match=r"eval0\.json: not a LIBERO-Para log: invalid JSON"):
        import_run(folder, metadata, out)
    logs({})
    import_run(folder, metadata, out)
    with pytest.raises(RunError, match="already exists"):
        import_run(folder, metadata, out)


CONTROL = {
    "bddl_file": "open_the_middle_drawer_of_the_cabinet.bddl",
    "paraphrase_type": "unknown",
    "categories": [],
    "subcategories": [],
    "variant_id": -1,
    "paraphrased_instruction": "Open the middle layer of the drawer",
}
"""As ``--mode original`` logs it: the words are those of the task's file, which are not LIBERO's own."""


def as_control(folder: Path, *episodes: dict, seed: str = "seed7", model: str | None = None) -> Path:
    """Writes the log of ``--mode original``."""
    (folder / seed).mkdir(parents=True, exist_ok=True)
    content = {"eval_id": -1, "episodes": [EPISODE | CONTROL | each for each in episodes]}
    (folder / seed / "eval_unknown.json").write_text(json.dumps(content))
    if model is not None:
        (folder / seed / "meta.json").write_text(json.dumps({"model_name": model}))
    return folder


def test_trajectories_are_kept(logs):
    folder, metadata, out = logs(MOVED, {"variant_id": 1, "paraphrased_instruction": "without a path"})
    done = import_run(folder, metadata, out)
    assert (done.episodes, done.paths) == (2, 1)
    with Store.reading(out) as store:
        (_, moved), (_, stripped) = store.trajectories()
        assert store.frame()["decisions"].to_list() == [2, 0]
    assert moved.end_effector == pytest.approx(np.array(MOVED["proprio_states"])[:, :3])
    assert moved.gripper == pytest.approx([0.05] * STEPS), "from one finger to the other"
    assert moved.actions == pytest.approx(np.array(MOVED["actions"]))
    assert stripped.end_effector.shape == (0, 3) and stripped.actions.shape == (0, 7)


@pytest.mark.parametrize("beside", [False, True])
def test_logs_of_the_originals_become_controls_of_their_task_and_seed(logs, tmp_path: Path, beside: bool):
    logs({"success": False}, seed="seed8")
    folder, metadata, out = logs({"success": False})
    controls = as_control(
        tmp_path / "originals" if beside else folder, {}, {"bddl_file": "turn_on_the_stove.bddl"}
    )
    done = import_run(folder, metadata, out, controls if beside else None)
    assert (done.episodes, done.controls) == (4, 2) and done.remarks[0].startswith(
        "2 controls have an instruction other than"
    )
    paired = pairs(valid_rows(frame(out)))
    assert paired.select("task", "seed", "success", "control_success").rows() == [("libero_goal/0", 7, 0, 1)]


def test_invalid_controls_are_rejected(logs, tmp_path: Path):
    folder, metadata, out = logs({})
    (folder / "seed7" / "meta.json").write_text(json.dumps({"model_name": "One"}))
    for controls, words in (
        (folder, "contains paraphrases; expected a log of --mode original"),
        (
            as_control(tmp_path / "a", {}, {}),
            "open_the_middle_drawer_of_the_cabinet.bddl: the task occurs twice with seed 7",
        ),
        (as_control(tmp_path / "b", {}, model="Two"), "the model is Two, but in other logs it is One"),
        (as_control(tmp_path / "c", {"bddl_file": "make_tea.bddl"}), "unknown task 'make_tea'"),
        (tmp_path / "none", "contains no seed"),
    ):
        with pytest.raises(ReleaseError) as caught:
            import_run(folder, metadata, out, controls)
        assert words in str(caught.value) and not out.exists()


def test_several_models_become_several_runs(logs, tmp_path: Path):
    folder, metadata, _ = logs({})
    every, originals, out = tmp_path / "all", tmp_path / "originals", tmp_path / "runs"
    for name in ("one", "two"):
        shutil.copytree(folder, every / name)
    as_control(originals / "two", {})
    done = list(import_libero_para([every], metadata, out, originals))
    paths = [(model.out, model.episodes, model.controls) for model in done]
    assert paths == [(out / "one.assay", 1, 0), (out / "two.assay", 2, 1)]
    as_control(originals / "three", {})
    new = tmp_path / "new"
    for arguments, words in (
        (([every], metadata, tmp_path / "run.assay"), r"cannot contain 2 models \(one, two\); pass a folder"),
        (([every], metadata, out), "one.assay already exists"),
        (([every, every], metadata, new), "have the same name"),
        (([every], metadata, new, originals), "no logs for model 'three'; available models: one, two"),
    ):
        with pytest.raises(AssayError, match=words):
            list(import_libero_para(*arguments))


def test_without_seed_folders_the_settings_give_the_seed(logs):
    folder, metadata, out = logs({}, seed=".")
    with pytest.raises(ReleaseError, match="neither the folder's name nor its meta"):
        import_run(folder, metadata, out)
    (folder / "meta.json").write_text(json.dumps({"seed": 9}))
    import_run(folder, metadata, out)
    assert frame(out)["seed"].to_list() == [9]
