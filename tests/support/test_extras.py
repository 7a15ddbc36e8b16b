"""What to install is said in one line, and it is what pyproject.toml offers."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import Said

from assay.errors import RunError
from assay.extensions.eqa.question import QuestionError
from assay.extensions.eqa.sources import open_source
from assay.perturb.words.distance.pride import DistanceError
from assay.perturb.words.distance.table import score_table
from assay.support.extras import DISTRIBUTION, EXTRAS, require

ROOT = Path(__file__).parents[2]
with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]


def test_names_are_those_of_the_project():
    assert PROJECT["name"] == DISTRIBUTION
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - {"dev"}


def test_what_is_here_is_not_asked_for():
    require("eqa", "it needs it")


def test_what_is_not_here_is_asked_for_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunError, match=r"^it needs ray\. Install with: pip install 'assay-robotics\[ray\]'$"):
        require("ray", "it needs ray", RunError)


def test_probes_say_what_they_need(
    monkeypatch: pytest.MonkeyPatch, assay: Callable[..., Said], tmp_path: Path
):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    said = assay("eqa", "leak", tmp_path)
    assert said.status == 2 and said.err.count("\n") == 1 and "pip install 'assay-robotics[eqa]'" in said.err


def test_records_say_what_they_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "a.tfrecord-00000-of-00001").touch()
    monkeypatch.setitem(sys.modules, "tfrecord", None)
    with pytest.raises(QuestionError, match=r"pip install 'assay-robotics\[eqa\]'$"):
        open_source(str(tmp_path))


def test_bleu_says_what_it_needs_before_anything_is_scored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(DistanceError, match=r"pip install 'assay-robotics\[bleu\]'$"):
        score_table(pl.DataFrame(), baselines=True)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_pages_install_nothing_under_another_name(page: Path):
    text = page.read_text(encoding="utf-8")
    assert "pip install assay\n" not in text and "pip install assay " not in text and "'assay[" not in text
