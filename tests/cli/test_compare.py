from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.runs.store import Store


def a_run(path: Path, outcomes: Iterable[bool], first: int = 0) -> Path:
    with Store.writing(path) as store:
        wins = list(outcomes)
        store.plan(EpisodeSpec("libero_goal/1", first + seed) for seed in range(len(wins)))
        for waiting, win in zip(store.todo(), wins, strict=True):
            outcome = Outcome.SUCCESS if win else Outcome.FAILURE
            store.append(waiting.number, Episode(outcome, 100, no_trajectory(), "do it"))
    return path


def test_compare_fits_into_80_columns_and_says_what_did_not_match(assay: Callable, tmp_path: Path):
    good, bad = a_run(tmp_path / "good.assay", [True] * 12), a_run(tmp_path / "bad.assay", [False] * 10)
    said = assay("compare", good, bad)
    assert said.status == 0 and "A: good\nB: bad\n" in said.out
    rows = {line.split("  ")[0].strip(): line.split() for line in said.out.splitlines()}
    assert len(" ".join(rows["control"])) <= 80
    for name in ("all, controls too", "control"):
        assert {"10", "100.0", "0.0", "\N{MINUS SIGN}100.0", "0.002"} <= set(rows[name])
    assert "10 shared episodes" in said.out
    assert "good: 10 shared, 2 not matched, 0 errors" in said.out


def test_compare_gives_json(assay: Callable, tmp_path: Path):
    runs = [a_run(tmp_path / f"{name}.assay", [name == "a"] * 6) for name in "abc"]
    told = json.loads(assay("compare", *runs, "--json", "-").out)
    assert told["shared"] == 6 and told["unmatched"] == {"a": 0, "b": 0, "c": 0}
    assert [(each["first"], each["second"], each["change"]) for each in told["overall"]] == [
        ("a", "b", -1.0),
        ("a", "c", -1.0),
        ("b", "c", 0.0),
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.assay"], "needs two at least"),
        (["a.assay", "a.assay"], "the same run twice"),
        (["a.assay", "b.assay"], "share no episode (a has 2, b has 3)"),
        (["a.assay", "c.assay"], "c.assay: there is no such run"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    assay: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], message: str
):
    monkeypatch.chdir(tmp_path)
    a_run(Path("a.assay"), [True] * 2)
    a_run(Path("b.assay"), [True] * 3, first=70)
    said = assay("compare", *names)
    assert said.status == 2 and message in " ".join(said.err.split()) and said.err.count("\n") == 1
