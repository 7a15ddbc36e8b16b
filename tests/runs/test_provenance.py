"""What a run says about where it comes from."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from assay import __version__
from assay.errors import RunError
from assay.runs.provenance import check, commit_of, describe, provenance
from assay.runs.store import Store

HERE = provenance("libero", "oracle", "primitives")


def test_a_run_resumed_elsewhere_says_so_once(tmp_path: Path):
    elsewhere = HERE | {"host": "another", "started": "later"}
    with Store.writing(tmp_path / "run.assay") as store:
        for now in (HERE, HERE | {"started": "a little later"}, elsewhere, elsewhere):
            describe(store, now)
        assert store.meta["host"] == HERE["host"]
        assert [each["host"] for each in store.meta["resumed"]] == ["another"]


def test_another_experiment_is_not_resumed(tmp_path: Path):
    with Store.writing(tmp_path / "run.assay") as store:
        describe(store, HERE)
    check(tmp_path / "run.assay", HERE)
    with pytest.raises(RunError, match="holds a run with policy oracle, not idle"):
        check(tmp_path / "run.assay", HERE | {"policy": "idle"})


def test_the_version_is_always_recorded():
    assert HERE["assay"] == __version__


OURS = '[project]\nname = "assay-robotics"\n'
THEIRS = '[project]\nname = "theirs"\ndependencies = ["assay-robotics"]\n'


@pytest.mark.parametrize(
    ("project", "package", "is_ours"),
    [
        (OURS, "src", True),
        (THEIRS, ".venv/lib/python3.11/site-packages", False),
        (OURS, ".venv/lib/python3.11/site-packages", False),
        (THEIRS, "src", False),
        (None, "src", False),
    ],
    ids=[
        "our checkout",
        "an environment in another repository",
        "an environment in our checkout, not editable",
        "a copy in another repository",
        "a repository that is no project",
    ],
)
def test_the_commit_is_that_of_our_checkout_and_of_no_other(
    tmp_path: Path, project: str | None, package: str, is_ours: bool
):
    module = tmp_path / package / "assay" / "runs" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.touch()
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for command in (["init", "-q"], ["add", "."], [*somebody, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    found = commit_of(module)
    assert re.fullmatch("[0-9a-f]{12}", found or "") if is_ours else found is None


def test_without_a_repository_there_is_no_commit(tmp_path: Path):
    module = tmp_path / "src" / "assay" / "runs" / "provenance.py"
    module.parent.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(OURS)
    assert commit_of(module) is None
