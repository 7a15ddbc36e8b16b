"""A run that Assay 0.1.0 wrote: opened, reported and resumed."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import assay
from assay.episodes import WORLDS
from assay.errors import RunError
from assay.runs.execute import Options, execute
from assay.runs.merge import merge
from assay.runs.queries import reading
from assay.runs.rows import VERSION
from assay.runs.store import Store

WRITTEN = Path(__file__).parent / "data" / "run_of_0.1.0.assay"
OPTIONS = Options(tasks="libero_goal/7", seeds=(0,), steps=3, workers=0)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy, made on the assets that are here now."""
    path = Path(shutil.copy(WRITTEN, tmp_path / "old.assay"))
    with sqlite3.connect(path) as database:
        digest = json.dumps(WORLDS["libero"].digest("primitives"))
        database.execute("UPDATE meta SET value = ? WHERE name = 'pack_digest'", (digest,))
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def test_it_is_read_under_the_present_names_and_left_as_it_is(old: Path, tmp_path: Path):
    before = old.read_bytes()
    run = assay.open(old)
    frame = run.frame()
    assert len(frame) == 12 and run.meta["experiment"] == "corruption" and "suite" not in run.meta
    assert {"experiment", "images", "change"} <= set(frame.columns)
    assert dict(frame.select("condition", "change").iter_rows())["corruption/synonyms"] == "wording"
    assert run.episodes[frame["key"][0]].trajectory.end_effector.shape == (4, 3)
    assert run.report(tmp_path / "report").is_file()
    with reading(old) as page:
        assert page.rows("SELECT count(*) FROM specs WHERE experiment = 'corruption'") == [(12,)]
    assert old.read_bytes() == before and version(old) == 1


def test_it_is_resumed_with_the_same_keys_and_brought_up_to_date(old: Path):
    with Store.reading(old) as store:
        known = store.frame()
    assert execute("corruption", "idle", old, OPTIONS).done == 0
    assert version(old) == VERSION
    with Store.reading(old) as store:
        assert store.frame().equals(known) and store.meta["upgraded_from"] == 1


def test_what_does_not_fit_is_refused_in_one_line(old: Path):
    with pytest.raises(RunError, match="holds a run with policy idle, not random"):
        execute("corruption", "random", old, OPTIONS)
    with pytest.raises(RunError, match="holds a run with settings steps=3, not steps=4"):
        execute("corruption", "idle", old, replace(OPTIONS, steps=4))
    assert version(old) == 1, "what is refused is left as it is"


def test_it_is_extended_and_every_row_says_what_is_changed(old: Path):
    assert execute("corruption", "idle", old, replace(OPTIONS, seeds=(0, 1))).done == 12
    with Store.reading(old) as store:
        changes = store.frame().select("condition", "seed", "change").to_dicts()
    told = {(row["condition"], row["seed"]): row["change"] for row in changes}
    assert told["corruption/synonyms", 0] == told["corruption/synonyms", 1] == "wording"


def test_it_is_merged_with_a_run_of_today(old: Path, tmp_path: Path):
    new, out = tmp_path / "new.assay", tmp_path / "both.assay"
    execute("corruption", "idle", new, replace(OPTIONS, seeds=(1,)))
    assert merge([old, new], out) == 24 and version(old) == 1


def test_a_run_of_a_later_version_is_refused(old: Path):
    with sqlite3.connect(old) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(RunError, match="format 99; this version of Assay reads formats 1 to 2"):
        Store.reading(old)
