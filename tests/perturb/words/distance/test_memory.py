from __future__ import annotations

from pathlib import Path

import pytest

from assay.perturb.words.distance import distances, pride
from assay.perturb.words.distance.pride import attempts, cached_distances, memory_file

PAIRS = [
    ("turn on the stove", "turn on the range"),
    ("turn on the stove", "the stove on turn"),
    ("turn on the stove", "turn on the range"),
    ("open the drawer", "打开抽屉"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with nothing in it."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def nobody(pairs: object) -> None:
    raise AssertionError("scored again")


def test_what_is_remembered_is_what_was_scored_warnings_included(
    models: object, monkeypatch: pytest.MonkeyPatch
):
    scored = distances(PAIRS)
    assert cached_distances(PAIRS) == scored and any(each.warnings for each in scored)
    monkeypatch.setattr(pride, "attempts", nobody)
    assert cached_distances(PAIRS) == scored


def test_only_what_is_new_is_scored(models: object, monkeypatch: pytest.MonkeyPatch):
    cached_distances(PAIRS[:1])
    asked: list[tuple[str, str]] = []

    def counted(pairs: list[tuple[str, str]]) -> list:
        asked.extend(pairs)
        return attempts(pairs)

    monkeypatch.setattr(pride, "attempts", counted)
    cached_distances(PAIRS)
    assert asked == [PAIRS[1], PAIRS[3]]


@pytest.mark.parametrize("trouble", ["no database", "no folder"])
def test_a_memory_that_cannot_be_used_costs_time_and_nothing_else(models: object, trouble: str, cache: Path):
    if trouble == "no folder":
        cache.write_text("this is a file")
    else:
        memory_file().parent.mkdir(parents=True)
        memory_file().write_text("these are my notes, " * 100)
    assert cached_distances(PAIRS) == distances(PAIRS)
