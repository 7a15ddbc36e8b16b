"""Whatever the cells of a run's file hold, it is read, and what is damaged is left out and told."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from tests.runs.conftest import made_episode

from assay import tasks
from assay.errors import RunError
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs import queries
from assay.runs.merge import merge
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
            queries.place_of(run, row, queries.Filters()), queries.contacts_of(run, row)
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
        ("UPDATE stopped SET rule = '{}'", "the rule that stopped 'para' left out"),
        (
            "UPDATE trajectories SET gripper = actions WHERE id = 2",
            "trajectories of 1 episode cannot be read",
        ),
        (
            "UPDATE specs SET labels = json_set(labels, '$.cell', 5) WHERE id = 4",
            "1 episode left out: the label 'cell', which is of another type",
        ),
    ],
)
def test_what_is_left_out_is_counted_and_told(statement: str, told: str, sound: Path, tmp_path: Path):
    path = tmp_path / "damaged.assay"
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.executescript(statement)
    found = everything(path)
    assert len(found) == 1 and found[0].startswith(told)


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
