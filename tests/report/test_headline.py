"""The first lines of a report on a mediocre policy: all parts of the page make the same claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from assay.cli.runs import _terminal_summary
from assay.measures.findings import Claim, Fall, Unnoticed, Verdict
from assay.measures.flaws import Flaw
from assay.measures.sentences import Diagnosis
from assay.report.page import build
from assay.report.run_report import RunReport
from assay.report.summary import advice, describe_results

TASKS = ("libero_goal/6", "libero_goal/8", "libero_goal/1")
LEVELS = {
    "x/level1": "position",
    "x/level2": "position",
    "x/level3": "position+clutter",
    "x/level4/unseen": "position+object+clutter",
    "x/level4/confounding": "position+object+clutter",
    **{f"x/level5/{form}": "wording+position+object+clutter" for form in ("a", "b", "c", "d")},
}
"""Conditions of the experiment x, and the properties that they change."""


def starts(tasks: int, seeds: int) -> list[tuple[str, int]]:
    return [(task, seed) for task in TASKS[:tasks] for seed in range(seeds)]


def conditions(made, which: Iterable[tuple[str, int]], changes: dict[str, str], succeed: int):
    """Yield perturbed episodes, ``succeed`` of which succeed, spread evenly."""
    every = [(start, name) for start in which for name in changes]
    for place, ((task, seed), name) in enumerate(every):
        axis = "words" if changes[name] == "wording" else "world"
        labels = {"axis": axis, "change": changes[name], "plausible": True}
        success = (place + 1) * succeed // len(every) > place * succeed // len(every)
        yield made(success, name, labels, task, seed)


@pytest.fixture
def read(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., RunReport]:
    def reported(episodes, **meta: object) -> RunReport:
        path = tmp_path / f"run{len(list(tmp_path.iterdir()))}.assay"
        return RunReport.read(write(path, episodes, **meta))

    return reported


def texts(report: RunReport) -> str:
    """Return the text of the summary at the top of the page."""
    said = Diagnosis.of(report.diagnosis)
    return " ".join((*said.found, *said.unsure, *said.others, *describe_results(report.profile)[0]))


@pytest.mark.usefixtures("unpainted")
def test_a_large_loss_with_too_few_starts_comes_first_with_a_command_for_more_seeds(read, made):
    few = starts(2, 2)
    episodes = [made(True, task=task, seed=seed) for task, seed in few]
    report = read([*episodes, *conditions(made, few, LEVELS, 5)], experiment="x", policy="python:mine:Blob")
    first = report.diagnosis[0]
    assert (first.flaw, first.claim) == (Flaw.NOTHING, Claim.TOO_FEW)
    fall = first.detail
    assert isinstance(fall, Fall) and fall.more is not None and fall.p == 2.0**-4
    assert (fall.control_hits, fall.control_count, fall.hits, fall.count) == (4, 4, 5, 36)
    assert (fall.more.now, fall.more.needed > 2) == (2, True)
    said = Diagnosis.of(report.diagnosis)
    assert said.found[0] == (
        "No significant drop (4 of 4 unperturbed, 5 of 36 perturbed); chance alone produces such a drop in 6 of 100 "
        "runs; 4 starts are too few to detect a large drop."
    ) and "No flaw" not in texts(report)
    (command,) = [each.command for each in advice(report) if each.command]
    assert command.startswith(
        "assay run x --policy python:mine:Blob --tasks libero_goal/6,libero_goal/8 --seeds "
    )
    assert f"--seeds {fall.more.needed} --out" in command
    page = build([report]).html()
    assert said.found[0] in page and command in page and "No flaw" not in page


def test_the_parts_of_a_page_of_factors_agree(read, made):
    """Success falls from 5 of 6 to 15 of 42 over seven factors; all parts of the page must be equally certain."""
    few = starts(3, 2)
    names = ("names", "wording", "position", "appearance", "room", "clutter", "senses")
    axes = dict.fromkeys(names, "world") | {"names": "words", "wording": "words", "senses": "senses"}
    rows = [made(place > 0, task=task, seed=seed) for place, (task, seed) in enumerate(few)]
    for place, (task, seed) in enumerate(few):
        for number, name in enumerate(names):
            factors = {f"factor:{each}": each == name for each in names}
            labels = {"axis": axes[name], "change": name, "plausible": True, **factors}
            success = place > 0 and name != "senses" and (place + number) % 2 == 0
            rows.append(made(success, f"factors/{name}", labels, task, seed))
    report = read(rows, experiment="factors")
    said = Diagnosis.of(report.diagnosis)
    assert said.found[0].startswith(
        "Success fell from 5 of 6 to 15 of 42; chance alone produces such a drop in 3 of 100 runs; "
        "5 of 6 starts can show a loss"
    )
    assert not [each for each in report.diagnosis if each.verdict is Verdict.FOUND]
    page = texts(report)
    assert "no significant effect" not in page and "No flaw" not in page
    sure = [
        drop for name in ("changes", "axes", "drops") for drop in report.profile[name] if drop.p_holm < 0.05
    ]
    sure += [effect for effect in report.profile["attribution"].effects if effect.p_holm < 0.05]
    assert not sure, "what no part of the diagnosis claims is certain nowhere"


def test_an_overall_loss_can_be_excluded_if_changes_are_only_made_together(read, made):
    """60 of 60 succeed with and without changes: no change was made alone, but an overall loss would be detected."""
    many, changes = starts(3, 20), {"x/level3": "position+clutter"}
    rows = [made(True, task=task, seed=seed) for task, seed in many]
    report = read([*rows, *conditions(made, many, changes, 60)], experiment="x")
    first = report.diagnosis[0]
    assert (first.flaw, first.claim) == (Flaw.NOTHING, Claim.PRESENT)
    assert isinstance(first.detail, Unnoticed) and first.detail.loss is not None
    assert 0 < first.detail.loss < 0.5 and "too few" not in texts(report)
    few = starts(1, 3)
    rows = [made(True, task=task, seed=seed) for task, seed in few]
    small = read([*rows, *conditions(made, few, changes, 3)], experiment="x")
    assert (small.diagnosis[0].flaw, small.diagnosis[0].claim) == (Flaw.NOTHING, Claim.TOO_FEW)


@pytest.mark.parametrize(("certificates", "option"), [(None, "--uncertified"), ("0123", "--certified")])
def test_the_command_keeps_the_settings_of_the_run(read, made, certificates: str | None, option: str):
    few = starts(2, 2)
    episodes = [made(True, task=task, seed=seed) for task, seed in few]
    settings = {"steps": 50, "replan": 5, "start": 3, "initial": "sampled", "certificates": certificates}
    report = read([*episodes, *conditions(made, few, LEVELS, 5)], experiment="x", settings=settings)
    (command,) = [each.command for each in advice(report) if each.command]
    assert f"--steps 50 --replan 5 --hold-start 3 {option} --out {report.file}" in command


@pytest.mark.parametrize("able", [2, 0])
def test_the_advice_for_a_weak_policy_names_the_tasks_that_it_solves(read, made, able: int):
    few = starts(3, 2)
    rows = [made(place < able, task=task, seed=seed) for place, (task, seed) in enumerate(few)]
    rows += conditions(made, few, {"words/a": "wording", "words/b": "wording"}, able)
    report = read(rows, experiment="para")
    page = texts(report)
    unable = next(each for each in report.diagnosis if each.flaw == Flaw.UNABLE)
    assert unable.verdict is Verdict.FOUND and unable.evidence[0].hits == 6 - able
    assert "significant effect" not in page and "No flaw" not in page
    (first, *_) = advice(report)
    if able:
        assert "here 2 of 6 starts" in first.text and "libero_goal/6 (2 of 2)" in first.text
        assert first.command.split("--tasks ")[1].split()[0] == "libero_goal/6"
        out = Path(first.command.split("--out ")[1])
        assert out.parent == Path(report.file).parent and not out.exists(), "never into the very run"
    else:
        assert "robustness cannot be measured" in first.text and not first.command
        assert "cannot be measured: none of the controls succeeds" in page


def test_a_run_of_errors_is_headed_by_the_error(read, made):
    rows = [
        made(None, task=task, seed=seed, error="Mine, step 0: KeyError: 'head'")
        for task, seed in starts(2, 2)
    ]
    report = read(rows)
    page = build([report]).html()
    assert report.conclusions.found == (
        "Every episode ended in an error: 4 x Mine, step 0: KeyError: 'head'.",
    )
    assert "cannot say" not in page and "Success by condition" not in page
    assert [line for lines in _terminal_summary([report]) for line, style in lines if style == "bold"][
        1:
    ] == list(report.conclusions.found)


def erring(made, errors: int) -> list:
    """Return 40 controls and 40 perturbed episodes, some of which end in an error; the others succeed."""
    few = starts(2, 20)
    rows = [made(True, task=task, seed=seed) for task, seed in few]
    labels = {"axis": "world", "change": "camera", "plausible": True}
    for place, (task, seed) in enumerate(few):
        error = "broke" if place < errors else ""
        rows.append(made(place % 2 == 0, "pro/camera", labels, task, seed, error=error))
    return rows


@pytest.mark.usefixtures("unpainted")
def test_rates_with_errors_are_stated_with_their_bounds(read, made):
    report = read(erring(made, 4), experiment="pro")
    sentences, numbers = describe_results(report.profile)
    (number,) = (number for number in numbers if number.name == "success, perturbed")
    assert number.value == "50.0 %"
    assert number.detail.endswith("; 10.0 % errors, as failures or as successes 45.0 to 55.0")
    assert (
        "; 45.0 to 55.0 % with 4 errors as failures or as successes), and in 40 of 40 controls"
        in sentences[0]
    )
    assert report.diagnosis[0].claim is not Claim.ERRORS
    page = build([report]).html()
    assert "errors, as failures or as successes 45.0 to 55.0" in page
    assert "errors as failures, as successes" in page
    assert "as failures" not in " ".join(describe_results(read(erring(made, 0)).profile)[0])


@pytest.mark.usefixtures("unpainted")
def test_no_headline_and_no_rate_is_stated_with_many_errors(read, made):
    report = read(erring(made, 12), experiment="pro")
    assert report.diagnosis[0].claim is Claim.ERRORS
    assert report.conclusions.found == (
        "Too many errors: 12 of 80 episodes (15.0 %) ended in an error, which may hide failures, so no conclusion is "
        "drawn from the others; fix the cause and repeat these episodes with --retry-errors.",
    )
    assert any("with another camera pose" in text for text in report.conclusions.others)
    sentences, numbers = describe_results(report.profile)
    assert "50.0 %" not in [number.value for number in numbers]
    assert "35.0 to 65.0 %" in [number.value for number in numbers]
    assert "in 35.0 to 65.0 % of 40 perturbed" in sentences[0]
    assert not advice(report)


def test_performing_the_trained_task_without_an_instruction_is_not_ignoring_requests(read, made):
    few = starts(2, 4)
    rows = [made(True, task=task, seed=seed, hand=path(seed)) for task, seed in few]
    labels = {"axis": "words", "change": "wording", "plausible": False}
    rows += [made(True, "corruption/empty", labels, task, seed, hand=path(seed)) for task, seed in few]
    (said,) = [each for each in read(rows).conclusions.found if "trajectory" in each]
    assert said.startswith(
        "Performs the trained task without an instruction: in 8 of 8 episodes with a missing or nonsense "
        "instruction (empty)"
    )
    assert "counterfactual" in said and "Ignores" not in said
    asked = {**labels, "asked_goal": "On plate_1 stove_1"}
    rows += [
        made(False, "corruption/counterfactual", asked, task, seed, hand=path(seed)) for task, seed in few
    ]
    (said,) = [each for each in read(rows).conclusions.found if "trajectory" in each]
    assert said.startswith(
        "Ignores the instruction: in 8 of 8 episodes with a request for something else (counterfactual)"
    )


def path(seed: int) -> np.ndarray:
    """Return a path of the end effector, in metres, of shape (41, 3)."""
    time = np.linspace(0, np.pi, 41)[:, None]
    return np.sin(time) * np.array([0.3, 0.1 + 0.001 * seed, 0.2])


def test_a_likely_cause_of_a_loss_is_named_with_the_number_of_seeds_to_confirm_it(read, made):
    """7 of 8 successes are lost under one of five changes: hardly chance, but not significant over all changes."""
    few = starts(2, 4)
    rows = [made(True, task=task, seed=seed) for task, seed in few]
    rows += conditions(made, few, {"pro/camera": "camera"}, 1)
    others = {f"pro/{change}": change for change in ("room", "clutter", "senses", "robot")}
    rows += conditions(made, few, others, len(few) * len(others))
    report = read(rows, experiment="pro")
    first = report.diagnosis[0]
    assert (first.flaw, first.claim) == (Flaw.NOTHING, Claim.TOO_FEW)
    assert isinstance(first.detail, Fall) and first.detail.likely == Flaw.CAMERA
    (camera,) = (finding for finding in report.diagnosis if finding.flaw == Flaw.CAMERA)
    assert first.detail.likely_p == camera.p and camera.p is not None and 0.05 <= camera.p < 0.2
    assert report.conclusions.found[0].startswith(
        "No significant drop (8 of 8 unperturbed, 33 of 40 perturbed)"
    )
    assert "which is not significant: depends on the camera pose (p = 0.055" in report.conclusions.found[0]
    assert camera.more is not None and camera.more.loss == 0.2
    (wanted,) = advice(report)
    assert wanted.text.startswith(
        f"With {camera.more.more} more seeds, a loss of 20 points with another camera pose would be found with a "
        "probability of 80 %. Extend the run once"
    )
    assert f"--seeds {camera.more.needed} " in wanted.command
