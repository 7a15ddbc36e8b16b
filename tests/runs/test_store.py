from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.episodes import Outcome
from assay.errors import RunError
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs import rows
from assay.runs import store as store_module
from assay.runs.shards import merge
from assay.runs.store import Store

WORDS = Experiment(
    "words",
    "Two wordings.",
    variants=lambda task: (Variant("para", (Say("do it"),), {"pd": 0.25, "cell": "none"}),),
)
RULE = {"rule": "decided=0.5", "episodes": 2, "low": 0.1, "high": 0.9}
PLAN = list(WORDS.plan([tasks.load("libero_goal/0"), tasks.load("libero_goal/7")], range(3)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.assay"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.writing(path) as planned:
        planned.plan(PLAN)
        yield planned


def test_plan_is_stored_once(store: Store):
    store.plan(PLAN)
    assert store.planned == 12
    waiting = store.todo()
    assert store.specs([each.number for each in waiting]) == PLAN
    assert [each.key for each in waiting] == [spec.key for spec in PLAN]
    assert store.conditions() == [("control", 6), ("para", 6)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE episodes SET outcome = 'banana' WHERE id = 1",
        "UPDATE specs SET labels = 'x' WHERE id = 3",
        "UPDATE specs SET spec = '{' WHERE id = 3",
        "UPDATE episodes SET truth = '{' WHERE id = 1",
    ],
)
def test_run_with_a_row_that_cannot_be_decoded_is_refused(path: Path, episode, damage: str):
    with Store.writing(path) as store:
        store.plan(PLAN)
        store.append(1, episode())
    with sqlite3.connect(path) as file:
        file.execute(damage)
    for opener in (Store.reading, Store.writing):
        with pytest.raises(RunError, match="damaged: 1 row cannot be decoded"):
            opener(path)


def test_trajectories_that_cannot_be_decoded_are_skipped_and_counted(path: Path, episode):
    with Store.writing(path) as store:
        store.plan(PLAN)
        for number in (4, 5):
            store.append(number, episode())
    with sqlite3.connect(path) as file:
        file.execute("UPDATE trajectories SET actions = x'0102' WHERE id = 4")
    with Store.reading(path) as store:
        assert store.frame()["id"].to_list() == [4, 5] and not store.damage
        assert [number for number, _ in store.trajectories()] == [5]
        assert store.damage == ["trajectories of 1 episode cannot be read"]


def test_labels_of_several_types_are_read_as_one(path: Path, episode):
    labels = ({"a": 1, "b": True, "c": "x", "d": 1}, {"a": 2.5, "b": 3, "c": 4, "d": None})
    with Store.writing(path) as store:
        store.plan(replace(PLAN[number], labels=label) for number, label in enumerate(labels))
        for number in (1, 2):
            store.append(number, episode())
        frame = store.frame()
    assert [frame[name].to_list() for name in "abcd"] == [[1.0, 2.5], [1, 3], ["x", "4"], [1, None]]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_rows_are_read_in_blocks(path: Path, episode, monkeypatch: pytest.MonkeyPatch, count: int):
    with Store.writing(path) as store:
        store.plan(PLAN)
        for number in range(1, count + 1):
            store.append(number, episode())
        whole, outcomes = store.frame(), store.outcome_frame()
        monkeypatch.setattr(rows, "_BLOCK", 2)
        assert store.frame().equals(whole) and store.frame().schema == whole.schema
        assert len(whole) == count and store.outcome_frame().equals(outcomes)
        assert outcomes.drop("plausible").equals(whole.select(outcomes.drop("plausible").columns))
        assert outcomes["plausible"].all()


def test_episode_is_read_back_unchanged(path: Path, episode):
    given = episode(truth={"TurnOn flat_stove_1": ((1, 3),)}, touched="plate_1", moved=None, seconds=1.5)
    with Store.writing(path) as store:
        store.plan(PLAN)
        store.append(2, given)
    with Store.reading(path) as store:
        ((number, back),) = store.trajectories()
        assert number == 2
        for name in ("end_effector", "gripper", "actions"):
            assert np.array_equal(getattr(back, name), getattr(given.trajectory, name))
        row = store.frame().row(0, named=True)
    assert (row["key"], row["outcome"]) == (PLAN[1].key, "success")
    assert (row["touched"], row["moved"]) == ("plate_1", None)
    assert row["truth"] == '{"TurnOn flat_stove_1": [[1, 3]]}'


def test_only_missing_episodes_and_transient_errors_are_to_do(store: Store, episode):
    store.append(1, episode())
    store.append(2, episode(Outcome.ERROR, error="nan"))
    store.append(3, episode(Outcome.ERROR, error="away", transient=True))
    assert [each.number for each in store.todo()][:2] == [3, 4]
    assert [each.number for each in store.todo(retry="errors")][:3] == [2, 3, 4]
    assert [each.number for each in store.todo(retry="nothing")][:1] == [4]
    assert store.reasons() == {"away": 1, "nan": 1}


def test_episodes_after_the_last_that_decided_a_condition_do_not_count(store: Store, episode):
    for number in range(1, 13):
        store.append(number, episode())
    counted = [spec.key for spec in PLAN if spec.condition == "para"][1:4]
    store.stop("para", counted, RULE)
    assert store.frame().filter(condition="para")["key"].to_list() == counted
    assert store.stopped == {"para": RULE}
    counts = {row["condition"]: row["done"] for row in store.counts().iter_rows(named=True)}
    assert counts == {"control": 6, "para": 3}, "what is printed is what is exported"


def test_closed_run_is_one_file(path: Path, episode):
    with Store.writing(path) as store:
        store.plan(PLAN)
        store.append(1, episode())
        assert len(list(path.parent.iterdir())) > 1
    assert list(path.parent.iterdir()) == [path]


def test_run_file_is_created_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "SCHEMA", "BEGIN; CREATE TABLE specs (id); no such statement;")
        with pytest.raises(RunError, match="cannot be created"):
            Store.writing(path).__enter__()
    assert list(path.parent.iterdir()) == []


def test_only_one_process_writes_and_others_may_read(path: Path, store: Store, episode):
    with pytest.raises(RunError, match="another process is writing"):
        Store.writing(path)
    store.append(1, episode())
    with Store.reading(path) as reader:
        assert reader.done == 1
        with pytest.raises(sqlite3.OperationalError):
            reader.describe(a=1)


def test_files_that_are_not_runs_are_refused(path: Path):
    def refuses(content: bytes, reason: str, *openers) -> None:
        path.write_bytes(content)
        for opener in openers or (Store.reading,):
            with pytest.raises(RunError, match=reason), opener(path) as store:
                store.frame()

    with Store.writing(path) as store:
        store.plan(PLAN)
    whole = path.read_bytes()
    refuses(b"", "not a run")
    refuses(b"not a database at all, but long enough to be one" * 9, "not a run")
    refuses(whole[:3000], "damaged")
    no_text = whole.replace(b"CREATE TABLE specs", b"CREATE T\xaaBLE \xffpecs")
    refuses(no_text, "damaged", Store.reading, Store.writing)
    path.write_bytes(whole)
    sqlite3.connect(path).execute("PRAGMA user_version = 99").connection.close()
    refuses(path.read_bytes(), "format 99")
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.close()
    refuses(path.read_bytes(), "not a run created by Assay", Store.writing)


def test_parts_of_an_experiment_merge_into_one(tmp_path: Path, episode):
    meta = {"experiment": "words", "pack": "primitives", "pack_digest": "x", "mujoco": "y"}
    for name, numbers in (("a", (1, 2)), ("b", (2, 3)), ("c", ())):
        with Store.writing(tmp_path / f"{name}.assay") as store:
            store.plan(PLAN[:6] if name == "a" else PLAN)
            store.describe(**meta, policy="idle" if name == "c" else "oracle")
            for number in numbers:
                broken = name == "a" and number == 2
                store.append(number, episode(Outcome.ERROR if broken else Outcome.SUCCESS, steps=number))
    out = tmp_path / "all.assay"
    assert merge([tmp_path / "a.assay", tmp_path / "b.assay"], out) == 3
    with Store.reading(out) as store:
        assert store.planned == 12
        assert store.frame()["outcome"].to_list() == ["success"] * 3
        assert len(list(store.trajectories())) == 3
    with pytest.raises(RunError, match="already exists"):
        merge([tmp_path / "a.assay"], out)
    with pytest.raises(RunError, match="another experiment, with policy idle, not oracle"):
        merge([tmp_path / "a.assay", tmp_path / "c.assay"], tmp_path / "no.assay")
    with Store.writing(tmp_path / "a.assay") as store:
        store.stop("control", [PLAN[0].key], RULE)
    with pytest.raises(RunError, match="stopped control early"):
        merge([tmp_path / "a.assay"], tmp_path / "no.assay")
    assert not (tmp_path / "no.assay").exists()


@pytest.mark.parametrize(
    ("column", "recorded"),
    [
        ("initial_positions", {"bowl_1": (0.1, 0.2, 0.9)}),
        ("contacts", {"bowl_1": ((3, 5),), "stove_1": ((4, 9),)}),
        ("stages", {"TurnOn stove_1": {"reached": 3, "touched": None}}),
        ("progress", 0.25),
    ],
)
def test_details_of_episodes_are_columns_and_survive_a_merge(
    tmp_path: Path, episode, column: str, recorded: object
):
    for name, number in (("one", 1), ("other", 2)):
        with Store.writing(tmp_path / f"{name}.assay") as store:
            store.plan(PLAN)
            store.append(number, episode(**({column: recorded} if number == 2 else {})))
            store.describe(experiment="words", policy="oracle")
    merge([tmp_path / "one.assay", tmp_path / "other.assay"], tmp_path / "both.assay")
    with Store.reading(tmp_path / "both.assay") as store:
        missing, written = store.frame()[column]
        assert missing is None and written == (recorded if column == "progress" else json.dumps(recorded))


def test_an_episode_that_replaces_an_error_in_a_merge_brings_its_own_details(tmp_path: Path, episode):
    for name, outcome, progress in (("failed", Outcome.ERROR, 0.25), ("repeated", Outcome.SUCCESS, None)):
        with Store.writing(tmp_path / f"{name}.assay") as store:
            store.plan(PLAN)
            store.append(1, episode(outcome, progress=progress))
            store.describe(experiment="words", policy="oracle")
    merge([tmp_path / "failed.assay", tmp_path / "repeated.assay"], tmp_path / "both.assay")
    with Store.reading(tmp_path / "both.assay") as store:
        assert store.frame()["progress"].to_list() == [None]


def test_a_merged_run_can_be_merged_again(tmp_path: Path, episode):
    for number in (1, 2):
        with Store.writing(tmp_path / f"{number}.assay") as store:
            store.plan(PLAN)
            store.append(number, episode())
            store.describe(experiment="words", policy="oracle")
    merge([tmp_path / "1.assay"], tmp_path / "first.assay")
    assert merge([tmp_path / "first.assay", tmp_path / "2.assay"], tmp_path / "both.assay") == 2
    with Store.reading(tmp_path / "both.assay") as store:
        assert store.meta["merged"] == ["first.assay", "2.assay"]
