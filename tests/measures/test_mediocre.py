"""Mediocre, stochastic, partially and doubly flawed policies, through store, profile and diagnosis."""

from __future__ import annotations

from collections import Counter
from functools import cache

from bench.diagnosis import as_a_user, examined, named
from bench.synthetic import GOALS, Synthetic, asked_tasks, drawn, even, planned, uneven

from assay.measures.diagnosis import examine
from assay.measures.findings import Fall, Finding, Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import profile
from assay.measures.multiple_testing import with_adjusted_p
from assay.measures.sentences import format_finding
from assay.measures.success.drops import DROPS
from assay.measures.success.other_tasks import OTHER_TASKS
from assay.support.stats.intervals import plain

CHOSEN = (
    "pro position,environment,semantic,task,task=known,task=two,object=colour,object=pattern,"
    "displace=0.2,words=xxx,words=empty"
)
"""Smallest set of conditions that distinguishes these flaws."""


@cache
def found(policy: str, seeds: int = 4) -> dict[str, Finding]:
    plan = planned(CHOSEN, GOALS, seeds)
    return {each.flaw: each for each in examined(drawn(policies()[policy], plan, policy))[1]}


def most_asked() -> str:
    """Return the task that is requested most often in the scenes of other tasks."""
    plan = planned(CHOSEN, GOALS, 1)
    asked = Counter(task for spec in plan for task in asked_tasks(spec) if task != spec.task)
    return asked.most_common(1)[0][0]


@cache
def policies() -> dict[str, Synthetic]:
    return {
        "half": Synthetic(uneven(0.5)),
        "falls back": Synthetic(even(0.9), falls_back=1.0),
        "deaf": Synthetic(even(0.9), falls_back=1.0, deaf=1.0),
        "bad at one": Synthetic({**even(1.0), most_asked(): 0.0}),
        "replays, and light": Synthetic(even(1.0), {"room": 0.7}, replays=1.0),
        "declines": Synthetic(even(0.95), any_change=0.4),
        "blocked": Synthetic(even(1.0), replays=1.0, blocked=True),
        "two tasks": Synthetic(
            even(1.0), lost_in={(GOALS[2], "appearance"): 1.0, (GOALS[5], "appearance"): 1.0}
        ),
    }


def test_mediocre_policy_has_no_flaw_but_failures():
    assert not named(tuple(found("half").values()))
    assert found("half")[Flaw.UNABLE].verdict in (Verdict.FOUND, Verdict.EXPLAINED)


def test_policy_that_follows_requests_does_not_ignore_words():
    words = found("falls back")[Flaw.IGNORES_WORDS]
    assert words.verdict is Verdict.NOT_FOUND and words.evidence[0].hits == 0
    assert words.evidence[1].value > 0.9, "told nonsense it does the usual, which is told apart"
    assert found("deaf")[Flaw.IGNORES_WORDS].verdict is Verdict.FOUND
    assert found("deaf")[Flaw.OTHER_TASKS].cause == Flaw.IGNORES_WORDS


def test_other_tasks_are_compared_with_the_control_of_the_requested_task():
    """A policy that fails a task also fails it when it is requested in the scene of another task."""
    assert found("bad at one")[Flaw.OTHER_TASKS].verdict is Verdict.NOT_FOUND
    profile, _ = examined(drawn(policies()["bad at one"], planned(CHOSEN, GOALS, 4), "bad at one"))
    asked = {str(drop.group["condition"]): drop for drop in profile[OTHER_TASKS.name].asked[:-1]}
    assert set(asked) == {"pro/task=known", "pro/task=two"}
    assert all(drop.change == 0 and drop.pairs > 24 for drop in asked.values())
    together = profile[OTHER_TASKS.name].asked[-1]
    assert together.pairs == asked["pro/task=known"].pairs, "two tasks in one use the same controls again"
    raw = {str(drop.group["condition"]): drop.change for drop in profile["drops"]}
    assert raw["pro/task=known"] < 0, "against the controls of the tasks that ask it would be a loss"


def test_memorisation_explains_displacement_but_not_lighting():
    here = found("replays, and light")
    assert here[Flaw.MEMORISES].verdict is Verdict.FOUND
    assert here[Flaw.POSITION].cause == Flaw.MEMORISES
    assert here[Flaw.ROOM].verdict is Verdict.FOUND


def test_uniform_decline_is_reported_as_such():
    first = next(iter(found("declines").values()))
    assert first.flaw == Flaw.LOSS and isinstance(first.detail, Fall)
    assert first.detail.alike_p is not None and first.detail.alike_p >= 0.05 and not first.detail.costly
    assert named(tuple(found("declines").values())) == {Flaw.LOSS}
    parts = [finding for finding in found("declines").values() if finding.cause == Flaw.LOSS]
    assert parts and all("part of the general decline" in format_finding(part).text for part in parts)


def test_replayed_actions_are_memory_although_displaced_objects_block_the_arm():
    here = found("blocked")
    assert here[Flaw.MEMORISES].verdict is Verdict.FOUND and here[Flaw.POSITION].cause == Flaw.MEMORISES


def test_new_goals_are_not_tested_and_no_adjusted_p_is_below_its_own():
    measured, _ = examined(drawn(policies()["half"], planned(CHOSEN, GOALS, 4), "half"))
    shown = with_adjusted_p(measured, examine(measured)[1])
    rows, before = ({drop.group["condition"]: drop for drop in each["drops"]} for each in (shown, measured))
    new = rows["pro/task"]
    assert (new.p, new.p_holm, new.interval) == (None, None, before["pro/task"].interval)
    table = DROPS.panels[0].tables[0](shown["drops"], None)
    (line,) = (row for row in table.formatted_rows if row[0] == "pro/task")
    assert line[-2:] == ["not tested", "not tested"]
    tested = [drop for name in ("changes", "axes", "drops") for drop in shown[name] if drop.p is not None]
    assert len(tested) > 15 and all(drop.p <= drop.p_holm for drop in tested)


def test_flaw_in_some_tasks_names_them():
    where = found("two tasks")[Flaw.APPEARANCE].where
    assert where is not None and where.uneven_p is not None and where.uneven_p < 0.05
    assert {each.task for each in where.tasks} == {GOALS[2], GOALS[5]}


def test_run_in_memory_has_the_diagnosis_of_its_file():
    """A simulated run in memory, measured lazily, has the same diagnosis as its file."""
    specs = planned(CHOSEN, GOALS, 1)
    assert plain(examined(drawn(policies()["half"], specs, "same"))[1]) == plain(
        as_a_user(policies()["half"], specs, "same")
    )


def test_row_is_significant_only_if_its_interval_excludes_zero():
    """A position loss is significant over all combinations of factors, but not from its own episodes alone."""
    specs = planned("factors", GOALS[:4], 3)
    with drawn(Synthetic(even(0.8), {"position": 0.6}), specs, "rows").written() as store:
        found = profile(store)
    findings, adjusted = examine(found)
    (position,) = (each for each in findings if each.flaw == Flaw.POSITION)
    assert position.verdict is Verdict.FOUND and position.evidence[0].measure == "attribution"
    shown = with_adjusted_p(found, adjusted)
    (row,) = (drop for drop in shown["changes"] if drop.group["change"] == "position")
    (effect,) = (each for each in shown["attribution"].effects if each.factors == ("world",))
    assert effect.p < position.p <= effect.p_holm < 0.05 <= row.p_holm and row.p == row.p_two_sided / 2
    for name in ("changes", "axes", "drops"):
        assert all(drop.certain == (drop.p_holm < 0.05) for drop in shown[name] if drop.plausible)
