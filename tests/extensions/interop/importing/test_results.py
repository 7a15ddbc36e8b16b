"""Files as other people's tools write them, made from the facts of their formats."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import assay as api
from assay import tasks
from assay.cli.runs import app as runs
from assay.errors import AssayError, RunError
from assay.extensions.interop.commands import app
from assay.extensions.interop.importing.results import ImportedRun, ResultFile, import_results
from assay.runs.store import Store
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.libero_plus import wordings

STOVE = "turn on the stove"
DRAWER = "open the middle drawer of the cabinet"


def import_run(tmp_path: Path, *files: str, **options) -> tuple[ImportedRun, pl.DataFrame]:
    out = tmp_path / "run.assay"
    (done,) = import_results([ResultFile.parse(file) for file in files], out, **options)
    with Store.reading(out) as store:
        return done, store.frame()


def table(tmp_path: Path, text: str, name: str = "results.csv") -> str:
    file = tmp_path / name
    file.write_text(text)
    return str(file)


def vla_eval(folder: Path, *suites: str, states: bool = True) -> str:
    """A recording as vla-eval 0.8 writes it: three episodes of two tasks of each suite, two of them tried twice."""
    file = folder / "recording-1.sqlite"
    db = sqlite3.connect(file)
    db.executescript(
        "CREATE TABLE eval_metadata (eval_id TEXT PRIMARY KEY, safe_name TEXT, metadata TEXT);"
        "CREATE TABLE episode_results (sid TEXT, eid TEXT, eval_id TEXT, task_name TEXT, episode_id INTEGER, "
        "status TEXT, metrics TEXT, steps INTEGER, elapsed_sec REAL, context TEXT, jsonl_path TEXT, "
        "failure_reason TEXT, failure_detail TEXT, PRIMARY KEY (sid, eid));"
        "CREATE TABLE step_rows (sid TEXT, eid TEXT, step_id INTEGER, fields TEXT);"
    )
    for suite in suites:
        about = {"benchmark": "x:Y", "server_info": {"model_server": "Model"}}
        db.execute("INSERT INTO eval_metadata VALUES (?, ?, ?)", (suite, suite, json.dumps(about)))
        tries = [(name, trial, "") for name in (DRAWER, STOVE) for trial in range(3)]
        for name, trial, again in [(STOVE, 2, "broke"), *tries]:
            status = "error" if again else "success" if suite == "libero_goal" else "fail"
            eid = f"{suite}-{name}-{trial}{again}"
            detail = "Traceback ...\nRuntimeError: no memory" if again else None
            db.execute(
                "INSERT INTO episode_results VALUES (?, ?, ?, ?, ?, ?, '{}', 4, 1.5, ?, '', ?, ?)",
                ("s", eid, suite, name, trial, status, json.dumps({"suite": suite}), again or None, detail),
            )
            for step in range(4 if states else 0):
                fields = {"action": [0.1] * 7, "state": [0.1 * step, 0, 0.3, 0, 0, 0, 0.04, -0.02]}
                db.execute("INSERT INTO step_rows VALUES ('s', ?, ?, ?)", (eid, step, json.dumps(fields)))
    db.commit()
    db.close()
    return str(file)


def test_tasks_in_a_table_are_recognised_by_id_file_name_or_instruction(tmp_path: Path):
    file = table(
        tmp_path,
        "task,seed,condition,success,steps,instruction,lamp\n"
        f"libero_goal/3,0,,true,142,a,1.5\nturn_on_the_stove,0,control,1,90,{STOVE},\n"
        f"libero_goal/3,0,position,False,300,a,2\nturn_on_the_stove,0,position,error,0,{STOVE},\n"
        "my own task,0,control,yes,3,b,\n",
    )
    done, frame = import_run(tmp_path, file, policy="mine")
    assert (done.episodes, done.controls, done.errors, done.remarks) == (5, 3, 1, ())
    assert frame.select("task", "outcome", "change").rows() == [
        ("libero_goal/3", "success", None),
        ("libero_goal/7", "success", None),
        ("libero_goal/3", "failure", "position"),
        ("libero_goal/7", "error", "position"),
        ("my own task", "success", None),
    ]
    assert frame["axis"].to_list()[2] == "world" and frame["lamp"].to_list()[0] == 1.5
    run = api.load_run(done.out)
    assert run.meta["policy"] == "mine" and run.profile()["drops"][0].change == -1.0
    assert run.diagnose()


def test_an_invalid_table_is_rejected_and_one_of_two_policies_needs_a_folder(tmp_path: Path):
    for text, words in (
        ("task,seed\na,0\n", "no column 'success'"),
        ("task,success\na,maybe\n", "line 2: success is 'maybe'; expected true or false"),
        ("task,success,seed\na,1,x\n", "line 2: seed is 'x'; expected a number"),
        ("task,success,seed\na,1,0\na,0,0\n", "line 3: the same episode as on line 2"),
        ("task,success\na\n", "line 2: the number of fields differs"),
        ("task,success\n", "contains no episodes"),
        ("{}\n", "not a supported result file; expected one of: vla-eval recording"),
    ):
        name = "results.json" if text.startswith("{") else "results.csv"
        with pytest.raises(ReleaseError, match=words):
            import_run(tmp_path, table(tmp_path, text, name))
        assert not (tmp_path / "run.assay").exists()
    file = table(tmp_path, "policy,task,success\na,x,1\nb,x,0\n")
    with pytest.raises(RunError, match=r"cannot contain 2 policies \(a, b\); pass a folder"):
        import_run(tmp_path, file)
    made = list(import_results([ResultFile.parse(file)], tmp_path / "runs"))
    assert [done.out.name for done in made] == ["a.assay", "b.assay"]


def test_an_exported_table_can_be_imported_again_and_its_episodes_cannot_be_replayed(tmp_path: Path):
    file = table(
        tmp_path, "task,seed,condition,success,steps\nlibero_goal/7,0,,1,4\nlibero_goal/7,0,light,0,9\n"
    )
    done, frame = import_run(tmp_path, file)
    frame.drop("id").write_csv(tmp_path / "again.csv")
    (again,) = import_results([ResultFile.parse(str(tmp_path / "again.csv"))], tmp_path / "again.assay")
    columns = ("task", "seed", "condition", "outcome", "steps", "change")
    with Store.reading(again.out) as store:
        assert store.frame().select(columns).equals(frame.select(columns))
    with pytest.raises(AssayError, match="it was run with another tool"):
        api.load_run(done.out).episodes[frame["key"][1]].replay()


def test_a_vla_eval_recording_keeps_paths_and_replaces_errors_by_their_retry(tmp_path: Path):
    done, frame = import_run(tmp_path, vla_eval(tmp_path, "libero_goal", "libero_goal_swap"))
    assert (done.policy, done.episodes, done.controls, done.paths, done.errors) == ("Model", 12, 6, 12, 0)
    assert frame.group_by("condition").len().sort("condition").rows() == [
        ("control", 6),
        ("libero-pro/position", 6),
    ]
    assert set(frame["task"]) == {"libero_goal/0", "libero_goal/7"} and done.remarks == ()
    with Store.reading(done.out) as store:
        _, path = next(iter(store.trajectories()))
    assert path.end_effector.shape == (4, 3) and path.actions.shape == (4, 7)
    assert np.allclose(path.end_effector[:, 0], [0, 0.1, 0.2, 0.3]) and np.allclose(path.gripper, 0.06)
    assert api.load_run(done.out).profile()["drops"][0].pairs == 6


def test_a_recording_without_states_is_imported_with_a_remark(tmp_path: Path):
    done, frame = import_run(tmp_path, vla_eval(tmp_path, "libero_goal", states=False))
    assert (done.episodes, done.paths, set(frame["steps"])) == (6, 0, {4})
    assert done.remarks[0].startswith("the recording has no states, so trajectories are not analysed")


def test_lerobots_results_of_two_conditions_are_paired_by_episode(tmp_path: Path):
    def info(name: str, *successes: bool) -> str:
        metrics = {"successes": successes, "sum_rewards": []}
        task = {"task_group": "libero_goal", "task_id": 7, "metrics": metrics}
        return table(tmp_path, json.dumps({"per_task": [task], "overall": {}}), name)

    usual, dark = info("a.json", True, True), info("b.json", True, False)
    done, frame = import_run(tmp_path, usual, f"light={dark}", policy="act")
    assert frame["condition"].to_list() == ["control", "control", "light", "light"]
    assert set(frame["task"]) == {"libero_goal/7"} and len(done.remarks) == 1
    (drop,) = api.load_run(done.out).profile()["drops"]
    assert (drop.pairs, drop.only_control) == (2, 1)
    with pytest.raises(ReleaseError, match="occurs twice; pass files of different conditions"):
        list(import_results([ResultFile.parse(usual), ResultFile.parse(dark)], tmp_path / "no.assay"))


def test_a_libero_log_is_read_between_progress_bars_and_exceptions_are_errors(tmp_path: Path):
    log = (
        "Task suite: libero_goal\n  0%|   | 0/10\rINFO:root:\nTask: turn on the stove\n"
        "2026-01-01 12:00:00 [INFO] Starting episode 1...\n[INFO] Success: True\n# episodes completed so far: 1\n"
        "\nTask: turn on the stove\nStarting episode 2...\nCaught exception: no memory\nSuccess: False\n"
        "\nTask: turn on the stove view 345 15 100 0 0 initstate 0\nStarting episode 1...\nSuccess: False\n"
        "\nTask: turn on the stove view 0 0 100 0 0 initstate 17\nStarting episode 1...\nSuccess: True\n"
        "\nTask: turn on the stove view 0 0 100 0 0 initstate 0 noise 42\nStarting episode 1...\nSuccess: True\n"
        "\nTask: turn on the stove add 3\nStarting episode 1...\nSuccess: True\n"
        "\nTask: ignite the hob\nStarting episode 1...\nSuccess: False\n"
        "Current task success rate: 0.5\n"
    )
    done, frame = import_run(tmp_path, table(tmp_path, log, "eval.txt"))
    rows = frame.select("condition", "task", "seed", "outcome", "change").rows()
    assert rows == [
        ("control", "libero_goal/7", 0, "success", None),
        ("control", "libero_goal/7", 1, "error", None),
        ("libero-plus/camera-viewpoints", "libero_goal/7", 0, "failure", "camera"),
        ("libero-plus/robot-initial-states", "libero_goal/7", 0, "success", "robot"),
        ("libero-plus/sensor-noise", "libero_goal/7", 0, "success", "senses"),
        ("libero-plus/objects-layout", "libero_goal/7", 0, "success", "clutter"),
        ("libero-plus/language-instructions", "libero_goal/ignite the hob", 0, "failure", "wording"),
    ]
    assert frame["error"][1] == "no memory" and len(done.remarks) == 3
    assert "the tasks of 1 LIBERO-plus rewordings are unknown" in done.remarks[1]
    assert done.remarks[2].startswith("1 of 5 perturbed episodes have no control")


def test_rewordings_of_libero_plus_are_resolved_from_its_checkout(tmp_path: Path, shared: Path):
    release = shared / "libero_plus"
    wording = wordings(release)[0]
    suite = wording.task.partition("/")[0]
    usual = tasks.load(wording.task).instruction.text
    log = "".join(
        f"Task: {prompt}\nStarting episode 1...\nSuccess: True\n"
        for prompt in (usual, f"{usual} view 0 0 100 0 0 initstate 9", wording.text)
    )
    done, frame = import_run(
        tmp_path, table(tmp_path, f"Task suite: {suite}\n{log}", "log.txt"), plus=release
    )
    assert set(frame["task"]) == {wording.task} and len(done.remarks) == 1
    assert frame["condition"][2] == "libero-plus/language-instructions"


def test_libero_pro_episodes_keep_their_traces(tmp_path: Path):
    step = {"libero_action": [0.1] * 7, "before_eef_pos": [0, 0, 0], "after_eef_pos": [0, 0, 1]}
    step |= {"before_gripper_qpos": [0.04, -0.04], "after_gripper_qpos": [0.0, 0.0]}
    (tmp_path / "action_traces").mkdir()
    (tmp_path / "action_traces" / "t.jsonl").write_text(json.dumps(step) + "\n")
    row = {"policy": "pi0", "base_suite": "libero_goal", "effective_suite": "libero_goal_temp"}
    row |= {"task": "turn_on_the_stove", "prompt": STOVE, "init_state_id": 4, "steps": 1}
    row |= {"duration_seconds": 2.0, "policy_query_count": 1, "action_trace_path": "/elsewhere/t.jsonl"}
    lines = [
        row | {"perturbation_type": kind, "success": success, "termination_reason": reason}
        for kind, success, reason in (
            ("none", True, "success"),
            ("swap+language", False, "max_steps"),
            ("object", False, "KeyError: x"),
        )
    ]
    done, frame = import_run(tmp_path, table(tmp_path, "\n".join(map(json.dumps, lines)), "episodes.jsonl"))
    assert frame["outcome"].to_list() == ["success", "failure", "error"] and done.policy == "pi0"
    assert frame["condition"][1] == "libero-pro/position+semantic"
    assert frame["change"][1] == "wording+position"
    assert frame["seed"].to_list() == [4, 4, 4] and frame["task"][0] == "libero_goal/7"
    with Store.reading(done.out) as store:
        _, path = next(iter(store.trajectories()))
    assert path.end_effector.tolist() == [[0, 0, 0], [0, 0, 1]] and np.allclose(path.gripper, [0.08, 0])


def test_files_can_be_given_without_a_command_name(tmp_path: Path):
    file, out = tmp_path / "mine.csv", tmp_path / "run.assay"
    file.write_text("task,success\nlibero_goal/7,1\nlibero_goal/7,error\n")
    ended = CliRunner().invoke(app, [str(file), "--policy", "mine", "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    assert "2 episodes of mine (CSV; 1 task; 2 controls; 0 with trajectories) written to" in ended.stdout
    assert "excluded from rates: 1 error" in ended.stderr
    assert "note: no episode is perturbed" in ended.stderr
    shown = CliRunner().invoke(runs, ["show", str(out)])
    assert shown.exit_code == 0 and "control" in shown.stdout
