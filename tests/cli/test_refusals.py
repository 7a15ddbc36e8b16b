"""Invalid input to any command: status 2, one line with the reason, and no file written."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .runs_on_disk import write_run

pytestmark = pytest.mark.usefixtures("no_assets")
STOVE = "--tasks libero_goal/7"
RUN = f"run libero --policy idle {STOVE}"
DUEL = f"duel idle idle --experiment libero {STOVE} --steps 1 --workers 0 --out duel"
SEARCH = f"search --policy idle {STOVE} --steps 1 --workers 0 --uncertified --out new.assay"
TRY = f"try --policy idle {STOVE}"
FILES = {
    "broken.assay": "not a run, but long enough to be read as one" * 20,
    "file": "",
}

REFUSALS = {
    "assets add gone": "gone is not a folder",
    "assets add folder": "folder",
    "assets add file": "file",
    "audit nonsense": "nonsense",
    f"audit libero --policy blind {STOVE}": "blind: expected each policy only once",
    "certify xx": "did you mean 'x'?",
    "certify x --seeds none": "expected a number of seeds",
    "certify x --assets primitive": "did you mean 'primitives'?",
    "certify x?time=2": "expected 0.8 to 1.5, or unlimited",
    f"certify x {STOVE} --json /dev/null/a.json": "/dev/null/a.json cannot be written",
    f"certify x {STOVE} --json /": "/ cannot be written: it is a folder",
    "compare a.assay": "at least two runs",
    "compare a.assay a.assay": "one was given twice",
    "compare a.assay b.assay": "share no episode (a has 2, b has 3)",
    "compare a.assay none.assay": "none.assay: the run does not exist",
    "demo --assets primitive": "did you mean 'primitives'?",
    "demo --assets libero": "ASSAY_LIBERO_ASSETS",
    f"{DUEL} --margin 5": "margin 5: expected a number between 0 and 1",
    f"{DUEL} --per-start none": "--per-start 'none': expected an integer >= 1, or all",
    f"{DUEL} --experiment libbero": "libbero",
    "gate a.assay --baseline a.assay": "the run and the baseline are the same",
    "gate a.assay --baseline b.assay": "share no episode",
    "gate none.assay --baseline a.assay": "the run does not exist",
    "gate b.assay --baseline a.assay --margin 5": "margin 5: expected a number between 0 and 1",
    "experiments show libero --sheet a.txt": "--sheet 'a.txt': expected a file name that ends in .png",
    "experiments show libero --tasks ''": "no task selected",
    "experiments show libero --tasks all --sheet x.png": "select at most 10",
    "parity gone": "gone",
    "report a.assay --width page": "need --figures pdf|svg",
    "report a.assay --paper libero-x --out x --figures pdf": "cannot be combined with --paper",
    "report none.assay --json -": "none.assay: the run does not exist",
    "report none.assay nil.assay --json -": "none of 2 runs can be read",
    "report broken.assay --json -": "broken.assay: not a run",
    "report a.assay --out a.assay": "a.assay cannot be written: it is a file",
    "tasks export libero_goal/3 --bddl folder": "folder cannot be written: is a folder",
    f"{RUN} --workers=-1": "expected a number >= 0",
    f"{RUN} --workers=two": "expected an integer",
    "tasks export libero_goal/3 --bddl b.assay": "b.assay cannot be overwritten: it is a run",
    "report a.assay --json a.assay/no.json": "a.assay/no.json cannot be written",
    "report a.assay --json a.assay": "a.assay cannot be overwritten: it is a run",
    "report a.assay --json - --near-far theirs": "unknown rule 'theirs'",
    "report a.assay --json - --near-far floor=-1": "expected a floor from 0 to 1 m",
    "run libreo --policy idle": "did you mean 'libero'?",
    f"run x --policy idle {STOVE} --steps 9": "--steps cannot be combined with x",
    f"{RUN} --seeds x": "expected a number of seeds",
    f"{RUN} --seeds 3,3": "different seeds",
    f"{RUN} --until decide=0.5": "did you mean 'decided'?",
    f"{RUN} --policy orcale": "did you mean 'oracle'?",
    f"{RUN} --tasks libero_gaol": "libero_goal",
    f"{RUN} --out a.txt": "in .assay",
    "runs show none.assay": "none.assay",
    f"{SEARCH} --axes distnace": "there is no axis 'distnace': did you mean 'distance'",
    f"{SEARCH} --axes delay,noise --budget 0": "allow at least 28 (default: 180)",
    f"{SEARCH} --axes distance": "nothing can be searched: distance: the target of libero_goal/7 is flat_stove_1",
    "serve --policy oracle --protocol openpi": "'oracle' needs the simulator's state",
    "serve --policy random --protocol openpy": "did you mean 'openpi'?",
    "tasks list --nosuch": "No such option: --nosuch",
    "tasks list libero_gaol": "did you mean 'libero_goal'?",
    "tasks show libero_goal/44": "libero_goal/0 to libero_goal/9",
    "tasks show libero_goal/3 --picture x.jpg": "expected a file name that ends in .png",
    "tasks export libero_goal/3 --bddl file/x.bddl": "file/x.bddl cannot be written",
    "tasks check folder": "folder",
    "try --policy clumsy?mis=1": "did you mean 'miss'?",
    "try --policy clumsy?miss=abc": "got 'abc'",
    "try --policy clumsy?miss=-1": "expected a fraction from 0 to 1",
    "try --policy oracle?x=1": "it takes no fields",
    "try --policy clumsy?miss": "expected field=value",
    "try --policy python:": "should be python:",
    f"{TRY} --assets x": "asset pack",
    f"{TRY} --latency measured": "assay run measures it",
    f"{TRY} --latency soon": "expected 0 to 1000 control steps of 50 ms, or measured",
    f"{TRY} --while-waiting hold": "--latency above 0",
    f"{TRY} --seeds 1 --video all --out file": "file",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs without a shared episode, a folder, and damaged or incomplete files."""
    path = tmp_path_factory.mktemp("inputs")
    (path / "folder").mkdir()
    for name, content in FILES.items():
        (path / name).write_text(content)
    write_run(path / "a.assay", {"control": [True] * 2})
    write_run(path / "b.assay", {"control": [True] * 3}, first=70)
    return path


PAPER = pytest.param(
    "report a.assay --paper libero-xx --out x",
    "did you mean 'libero-x'?",
    marks=pytest.mark.extensions("papers"),
    id="an unknown paper",
)


@pytest.mark.parametrize(
    ("command", "reason"), [*(pytest.param(*case, id=case[0]) for case in REFUSALS.items()), PAPER]
)
def test_invalid_input_is_refused_in_one_line_before_anything_is_written(
    assay: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    said = assay(*shlex.split(command))
    assert said.status == 2 and "Traceback" not in said.err
    last = said.err.splitlines()[-1]
    assert last.startswith("error: ") and reason in last
    assert sorted(folder.iterdir()) == before
