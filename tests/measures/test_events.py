from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import profile
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.world.events import EVENTS, events_sentences, events_table

KINDS = {
    "moved": "meanwhile",
    "knocked": "meanwhile",
    "changed": "request",
    "cancelled": "cancel",
    "distractor": "interruption",
}


def played(made, lost: set[str], absent: Collection[str] = ()):
    """Ten starts; what is ``absent`` happens in the first two of them only."""
    for seed in range(10):
        yield made(True, seed=seed, condition="control")
        for name, change in KINDS.items():
            axis = "words" if change in ("request", "cancel") else "world"
            labels = {"axis": axis, "plausible": True, "change": change, "event": name, "trigger": "near"}
            each = made(name not in lost, seed=seed, condition=f"events/{name}", labels=labels)
            step = None if name in absent and seed > 1 else 12 + seed
            happened = {"event": f"{name} at near(0.1)", "due": step, "step": step, "told": ""}
            yield replace(each, events=(happened,))


def test_episodes_with_events_are_not_memorised(run, made) -> None:
    hand = np.linspace(0.0, 0.3, 30).reshape(10, 3)
    goal = {"TurnOn flat_stove_1": ()}
    episodes = [
        replace(
            each, hand=hand + 0.001 * each.seed, truth=goal if each.condition == "events/changed" else None
        )
        for each in played(made, {"changed"})
    ]
    assert profile(run(episodes)).get(MEMORISATION) is None


def test_each_flaw_is_named_and_no_other(run, made) -> None:
    for lost, flaw, explained in (
        ({"moved", "knocked"}, Flaw.NO_SECOND_LOOK, set()),
        ({"changed", "cancelled"}, Flaw.NOT_LISTENING, {Flaw.CANNOT_STOP}),
        ({"cancelled"}, Flaw.CANNOT_STOP, set()),
        ({"distractor"}, Flaw.INTERRUPTED, set()),
        (set(), Flaw.NOTHING, set()),
    ):
        findings = diagnose(profile(run(played(made, lost))))
        by = {verdict: {each.flaw for each in findings if each.verdict is verdict} for verdict in Verdict}
        assert (by[Verdict.FOUND], by[Verdict.EXPLAINED]) == ({flaw}, explained)


def test_occurrence_of_events_is_separate_from_success_after_them(run, made) -> None:
    measured = profile(run(played(made, {"moved"}, absent={"moved"})))
    found = {each.event: each for each in measured[EVENTS.name]}
    moved, changed = found["moved"], found["changed"]
    assert (moved.happened.successes, moved.happened.count) == (2, 10)
    assert moved.after is not None and (moved.after.successes, moved.after.count) == (0, 2)
    assert moved.control is not None and moved.control.count == 2 and moved.step == 12.5
    assert changed.after is not None and (changed.happened.successes, changed.after.successes) == (10, 10)
    said = list(events_sentences(measured[EVENTS.name], measured))
    assert said[0] == "Events happened in 42 of 50 episodes; 40 of these succeed."
    assert "moved (in 2 of 10)" in said[1]
    assert events_table(measured[EVENTS.name], None) is not None  # type: ignore[arg-type]


def test_episodes_without_their_event_are_left_out(run, made) -> None:
    measured = profile(run(played(made, {"moved", "knocked"}, absent={"moved", "knocked"})))
    (drop,) = (each for each in measured["changes"] if each.group["change"] == "meanwhile")
    assert drop.pairs == 4, "two starts of each, of ten"
