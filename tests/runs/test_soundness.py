"""Whatever the cells of a run's file hold, it is read, and what is damaged is left out and told."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.runs.conftest import made_episode

from assay import tasks
from assay.episodes.conduct import Aftermath, SideEffects
from assay.errors import RunError
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs import provenance, queries
from assay.runs.merge import merge
from assay.runs.soundness import Damage
from assay.runs.store import Store

CORPUS = json.loads((Path(__file__).parents[2] / "fuzz/corpus/run_files.json").read_text())
LABELS = {"pd": 0.25, "cell": "none", "plausible": True, "axis": "words", "change": "wording"}
WORDS = Experiment("words", "One.", variants=lambda task: (Variant("para", (Say("do it"),), LABELS),))
RULE = {"rule": "decided=0.5", "episodes": 2, "low": 0.1, "high": 0.9}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "sound.assay"
    with Store.writing(path) as store:
        store.describe(experiment="words", policy="x", pack="primitives", settings={}, plugins=[])
        store.plan(WORDS.plan([tasks.load("libero_goal/7")], range(3)))
        for waiting in store.todo():
            given = {"clipped": 1, "contacts": {"plate_1": ((0, 1),)}, "inference": (1.0,), "traceback": "x"}
            given |= {"stages": {"TurnOn flat_stove_1": {"reached": 3, "done": None}}, "progress": 0.25}
            given |= {
                "side_effects": SideEffects(moved={"plate_1": 0.1}),
                "aftermath": Aftermath(9, True, True),
            }
            given["events"] = ({"event": "x at near(0.1)", "due": 3, "step": None, "told": ""},)
            store.append(
                waiting.number, made_episode(initial_positions={"plate_1": (0.0, 0.0, 1.0)}, **given)
            )
        store.stop("para", [], RULE)
    return path


def everything(path: Path) -> list[str]:
    """Read a run in every way that reads cells; what is damaged."""
    with queries.reading(path) as run:
        store = run.store
        store.frame(), store.counts(), store.reasons(), store.tracebacks(), store.clipping(), store.seconds()
        assert all(isinstance(each, dict) for each in (store.meta, store.stopped))
        store.world, store.states, store.todo(), store.conditions(), list(store.trajectories())
        page = queries.page(run, queries.Filters())
        for row in page.rows:
            assert queries.one(run, row.key) == row
            queries.control_of(run, row), queries.traceback_of(run, row), queries.clipped_of(run, row)
            queries.events_of(run, row)
            queries.place_of(run, row, queries.Filters()), queries.contacts_of(run, row)
            queries.conduct_of(run, row)
        return store.damaged()


def test_a_sound_run_has_no_damage(sound: Path):
    assert everything(sound) == []


@pytest.mark.parametrize("statement", CORPUS)
def test_hostile_cells_are_read(statement: str, sound: Path, tmp_path: Path):
    path = tmp_path / "hostile.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        try:
            file.executescript(statement)
        except sqlite3.IntegrityError:
            return
    try:
        everything(path)
    except RunError as error:
        assert "\n" not in str(error) and path.name in str(error)
        return


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE episodes SET seconds = 1e999 WHERE id = 2", "1 episode left out: a number that cannot be"),
        ("UPDATE specs SET seed = 9 WHERE id = 2", "1 episode left out: a spec that is another's"),
        (
            "UPDATE specs SET spec = replace(spec, 'libero', 'Libero') WHERE id = 2",
            "1 episode left out: a spec that does not",
        ),
        ("UPDATE meta SET value = '[' WHERE name = 'pack'", "what it says of its pack left out"),
        ("UPDATE contacts SET intervals = '[]' WHERE id < 3", "contacts of 2 episodes left out"),
        ("UPDATE progress SET score = '1.5' WHERE id < 3", "progress of 2 episodes left out"),
        (
            "UPDATE stages SET reached = json_set(reached, '$.\"TurnOn flat_stove_1\".reached', -1)",
            "stages of 6 episodes left out",
        ),
        (
            "UPDATE side_effects SET effects = json_set(effects, '$.tilted.plate_1', 'far') WHERE id < 3",
            "side effects of 2 episodes left out",
        ),
        ("UPDATE aftermath SET after = '{}' WHERE id < 3", "aftermath of 2 episodes left out"),
        ("UPDATE stopped SET rule = '{}'", "the rule that stopped 'para' left out"),
        (
            "UPDATE trajectories SET gripper = actions WHERE id = 2",
            "trajectories of 1 episode cannot be read",
        ),
        (
            "UPDATE specs SET labels = json_set(labels, '$.cell', 5) WHERE id = 4",
            None,
        ),
        (
            "UPDATE specs SET labels = json_set(labels, '$.pd', 'far') WHERE id = 4",
            "1 episode without the label 'pd': of a type that it cannot be",
        ),
        (
            "UPDATE specs SET labels = json_set(labels, '$.labels', 1, '$.cell', json('[1]')) WHERE id = 4",
            "1 episode without the label 'cell', 'labels': of a type",
        ),
        (
            "UPDATE meta SET value = CAST(x'22ff22' AS TEXT) WHERE name = 'pack'",
            "what it says of its pack left out",
        ),
        (
            "UPDATE stopped SET rule = CAST(x'22ff22' AS TEXT)",
            "the rule that stopped 'para' left out",
        ),
    ],
)
def test_what_is_left_out_is_counted_and_told(statement: str, told: str | None, sound: Path, tmp_path: Path):
    path = altered(sound, tmp_path, statement)
    found = everything(path)
    assert len(found) == (told is not None) and all(each.startswith(str(told)) for each in found)
    with Store.reading(path) as store:
        assert store.done == 6 - ("episode left out" in str(told)), (
            "a label or a value takes no episode along"
        )


def altered(sound: Path, folder: Path, statement: str) -> Path:
    path = folder / "damaged.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.executescript(statement)
    return path


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ({"distance": "near"}, [None] * 3),
        ({"object": 5}, ["5"] * 3),
        ({"plausible": [False, "yes", 0.5]}, [False, None, None]),
        ({"distance": [False, "near", 0.5]}, [0.0, None, 0.5]),
        ({"level": [0, 3, "max"]}, ["0", "3", "max"]),
        ({"level": [True, 3, 0.5]}, [1.0, 3.0, 0.5]),
        ({"level": [float("nan"), 3, 4]}, [None, 3, 4]),
        ({"level": "\ud800"}, ["?"] * 3),
    ],
)
def test_labels_of_any_type_cost_no_episode(values: dict[str, object], read: list[object], tmp_path: Path):
    ((name, value),) = values.items()
    several = value if isinstance(value, list) else [value] * 3
    variants = tuple(Variant(f"v{at}", (Say("do it"),), {name: each}) for at, each in enumerate(several))
    path = tmp_path / "labelled.assay"
    with Store.writing(path) as store:
        store.plan(Experiment("mine", "One.", lambda task: variants).plan([tasks.load("libero_goal/7")], [0]))
        for waiting in store.todo():
            store.append(waiting.number, made_episode())
    everything(path)
    with Store.reading(path) as store:
        assert store.frame().filter(condition="control").height == 1
        found = store.frame().filter(pl.col("condition") != "control")[name]
        assert found.to_list() == read and (name != "plausible" or found.dtype == pl.Boolean)


def test_a_run_whose_episodes_are_all_damaged_is_not_taken_for_an_empty_one(sound: Path, tmp_path: Path):
    path = altered(sound, tmp_path, "UPDATE episodes SET truth = 5")
    another = provenance.provenance("corruption", "x", "primitives")
    with Store.writing(path) as store:
        assert (store.done, store.held) == (0, 6)
        provenance.describe(store, another)
        assert store.meta["experiment"] == "words" and store.planned == 6
    with pytest.raises(RunError, match="holds a run with"):
        provenance.check(path, another, empty_is_new=True)


def test_a_damaged_plan_without_an_episode_is_cleared(sound: Path, tmp_path: Path):
    path = altered(sound, tmp_path, "DELETE FROM episodes; UPDATE specs SET seed = 9 WHERE id = 2")
    with Store.writing(path) as store:
        store.clear()
        assert (store.meta, store.planned, store.damaged()) == ({}, 0, [])


def test_a_row_that_has_lost_its_key_is_mended_in_its_place(sound: Path, tmp_path: Path):
    path = altered(sound, tmp_path, "UPDATE specs SET key = 'lost' WHERE id = 2")
    specs = list(WORDS.plan([tasks.load("libero_goal/7")], range(3)))
    places = {spec.key: place for place, spec in enumerate(specs)}
    with Store.writing(path) as store:
        assert store.plan(specs, lambda spec: places[spec.key]) == 1
        assert [row[1] for row in store.plan_rows()] == [spec.key for spec in specs]
        assert (store.held, store.damaged()) == (5, []), "whose episode it was cannot be told"


def test_many_damaged_rows_are_mended_quickly(tmp_path: Path):
    path = tmp_path / "many.assay"
    spec = next(iter(WORDS.plan([tasks.load("libero_goal/7")], [0])))
    specs = [
        replace(spec, seed=seed) for seed in range(33_000)
    ]  # more than a query of SQLite may have variables
    with Store.writing(path) as store:
        store.plan(specs)
    with closing(sqlite3.connect(path)) as file:
        file.executescript("UPDATE specs SET task = 'x'")
    with Store.writing(path) as store:
        began = time.process_time()
        assert store.plan(specs) == 33_000 and store.damaged() == []
        assert time.process_time() - began < 20


def test_ids_that_are_no_numbers_are_no_run(sound: Path, tmp_path: Path):
    statement = (
        "CREATE TABLE other AS SELECT * FROM specs; DROP TABLE specs; ALTER TABLE other RENAME TO specs"
    )
    with pytest.raises(RunError, match="the ids of its specs may be anything"):
        Store.reading(altered(sound, tmp_path, statement))


def test_what_is_said_of_a_run_is_cleaned(tmp_path: Path):
    with Store.writing(tmp_path / "said.assay") as store:
        store.describe(label="\ud800", settings={"a": [float("nan"), 1.5]})
        assert store.meta == {"label": "?", "settings": {"a": [None, 1.5]}} and store.damaged() == []


def test_a_run_that_would_run_something_when_it_is_read_is_none(sound: Path, tmp_path: Path):
    path = tmp_path / "hostile.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TRIGGER t AFTER INSERT ON episodes BEGIN DELETE FROM specs; END")
    with pytest.raises(RunError, match="it has the trigger 't'"):
        Store.writing(path)


def test_few_bytes_that_stand_for_gigabytes_are_not_unpacked(sound: Path, tmp_path: Path):
    path = tmp_path / "bomb.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE trajectories SET actions = ? WHERE id = 1", (zlib.compress(bytes(4_000_000)),))
        file.commit()
    assert everything(path) == ["trajectories of 1 episode cannot be read"]


def test_merging_leaves_out_what_is_damaged(sound: Path, tmp_path: Path):
    path = tmp_path / "damaged.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.executescript(
            "DELETE FROM stopped; DELETE FROM uncounted; UPDATE episodes SET truth = 5 WHERE id = 2"
        )
    assert merge([path], tmp_path / "merged.assay") == 5
    assert everything(tmp_path / "merged.assay") == []


def test_a_page_that_cannot_be_read_is_told_as_a_run_that_cannot(sound: Path, tmp_path: Path):
    path = altered(sound, tmp_path, "CREATE TABLE late AS SELECT * FROM episodes")
    with closing(sqlite3.connect(path)) as file:
        (page,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'late'").fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    raw = bytearray(path.read_bytes())
    raw[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(raw)
    with (
        pytest.raises(RunError, match="its file is damaged, or cannot be used"),
        Store.reading(path) as store,
    ):
        store._db.execute("SELECT count(*) FROM late").fetchone()


def test_asking_what_is_damaged_changes_nothing_that_threads_share():
    damage = Damage()
    before = [*damage.rows]
    assert (damage.episodes, damage.values, bool(damage)) == ({}, {}, False) and [*damage.rows] == before
    assert {"specs", "episodes", "contacts"} <= {*before}
