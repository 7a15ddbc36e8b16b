from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from assay.measures.result import MeasureError
from assay.measures.success.rates import success_rate
from assay.measures.words.paraphrase import distance_correlation, grid, object_gap
from assay.measures.words.pride import overestimation, pride, sweep
from assay.runs.store import Store


@pytest.fixture(scope="module")
def official(shared: Path, tmp_path_factory: pytest.TempPathFactory):
    """LIBERO-Para's published run, imported."""
    path = tmp_path_factory.mktemp("official") / "run.assay"
    libero_para = pytest.importorskip("assay.extensions.interop.importing.libero_para")
    folder = shared / "libero_para"
    list(libero_para.import_libero_para([folder / "logs"], folder / "metadata.csv", path))
    with Store.reading(path) as store:
        yield store.frame()


@pytest.fixture(scope="module")
def episodes(shared: Path) -> list[tuple[bool, float, float, str]]:
    """The same, read with nothing of ours: success, S_K, S_T and how the object is named."""
    folder = shared / "libero_para"
    with (folder / "metadata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    scores = {
        (row["high"], row["mid"], row["low"], int(row["eval"]), int(row["batch_idx"])): (
            float(row["keyword_similarity"]),
            float(row["structural_similarity"]),
        )
        for row in rows
    }
    found = []
    for log in sorted(folder.glob("logs/seed*/eval*.json")):
        content = json.loads(log.read_text())
        for each in content["episodes"]:
            kind, mid, low = (
                each["paraphrase_type"],
                "+".join(each["categories"]),
                "+".join(each["subcategories"]),
            )
            named = "none" if kind == "act" else each["subcategories"][0]
            key = (kind, mid, low, content["eval_id"], each["variant_id"])
            found.append((each["success"], *scores[key], named))
    return found


def by_definition(episodes: list[tuple[bool, float, float, str]], alpha: float) -> float:
    distances = [1 - (alpha * s_k + (1 - alpha) * s_t) for _, s_k, s_t, _ in episodes]
    gained = sum(distance for (success, *_), distance in zip(episodes, distances, strict=True) if success)
    return 100 * gained / sum(distances)


def test_pride_of_the_published_run_agrees_with_the_definition(official, episodes):
    for alpha in (0.0, 0.3, 0.5, 1.0):
        found = pride(official, alpha)
        assert found.pride == pytest.approx(by_definition(episodes, alpha), abs=1e-9)
        assert found.episodes == len(episodes) and found.unscored == 0
        assert found.interval.low < found.pride < found.interval.high


def test_five_tasks_of_the_published_run_say_little_about_tasks_in_general(official, episodes):
    """By definition: 71.5, within these tasks 69 to 74, and 32 points to either side if the five tasks are a sample."""
    result, over = pride(official), overestimation(official)
    rows = official.filter(official["outcome"] != "error")
    distance = (1 - (rows["s_k"] + rows["s_t"]) / 2).to_numpy()
    success, task = (rows["outcome"] == "success").to_numpy(), rows["task"].to_numpy()
    names = sorted(set(task))
    without = [
        100 * (distance * success)[task != name].sum() / distance[task != name].sum() for name in names
    ]
    half = 2.7764451 * np.sqrt(4 / 5 * np.square(np.array(without) - np.mean(without)).sum())
    assert 31 < half < 34 and result.tasks == 5
    assert result.over_tasks.low == pytest.approx(result.pride - half, abs=1e-5)
    assert result.over_tasks.high == 100.0
    assert over.over_tasks.low < 0 < over.interval.low


def test_success_and_overestimation_of_the_published_run_agree_with_the_definition(official, episodes):
    rate = sum(success for success, *_ in episodes) / len(episodes)
    assert 0.7 < rate < 0.8
    assert success_rate(official).rate == pytest.approx(rate, abs=1e-12)
    found = overestimation(official)
    assert found.overestimation == pytest.approx(1 - by_definition(episodes, 0.5) / 100 / rate, abs=1e-9)
    assert 0.0 < found.interval.low < found.overestimation < found.interval.high < 0.2


def test_sweep_of_the_published_run_falls_as_keywords_weigh_more(official, episodes):
    found = sweep(official)
    values = [by_definition(episodes, alpha / 10) for alpha in range(11)]
    assert [each.pride for each in found.points] == pytest.approx(values, abs=1e-9)
    assert found.slope == pytest.approx(np.polyfit(np.arange(11) / 10, values, 1)[0], abs=1e-9)
    assert found.interval.low < found.slope < found.interval.high < 0


def test_grid_of_the_published_run_has_43_cells_and_both_margins(official, episodes):
    found = grid(official)
    assert len(found.cells) == 43 and len(found.objects) == 4 and len(found.actions) == 11
    assert sum(cell.rate.count for cell in found.cells) == len(episodes)
    assert sum(margin.count for margin in found.objects) == sum(margin.count for margin in found.actions)
    correlation = distance_correlation(found)
    assert correlation.cells == 43 and -0.9 < correlation.r < -0.6 and correlation.interval.high < 0


def test_object_gap_of_the_published_run_agrees_with_the_definition(official, episodes):
    found = object_gap(official)
    kept = [success for success, _, _, named in episodes if named in ("none", "addition_deletion")]
    changed = [success for success, _, _, named in episodes if named not in ("none", "addition_deletion")]
    assert (found.preserved.count, found.paraphrased.count) == (len(kept), len(changed))
    assert found.change == pytest.approx(np.mean(changed) - np.mean(kept), abs=1e-12)
    assert found.interval.low < found.change < found.interval.high < 0


def paraphrase(
    made, success: bool | None, number: int, thing="none", action="hint", s_k=0.8, s_t=0.6, **more
):
    labels = {"object": thing, "action": action, "s_k": s_k, "s_t": s_t}
    return made(success, condition=f"para/{thing},{action}", labels=labels, words=f"wording {number}", **more)


def test_control_is_the_corner_of_the_grid(run, made):
    store = run(
        [made(True, seed=seed) for seed in range(4)]
        + [paraphrase(made, seed < 2, 0, seed=seed) for seed in range(4)]
        + [paraphrase(made, None, 1)]
    )
    corner, hint = grid(store.frame()).cells
    assert (corner.object, corner.action, corner.rate.rate, corner.pd) == ("none", "none", 1.0, 0.0)
    assert (hint.rate.rate, hint.rate.errors, hint.pd) == (0.5, 1, None), "pd was not labelled"
    assert [each.count for each in grid(store.frame()).actions] == [4], "margins leave the control out"


def test_pride_weighs_by_distance_and_counts_what_is_not_scored(run, made):
    store = run(
        [paraphrase(made, True, 0, s_k=1.0, s_t=0.8), paraphrase(made, False, 1, s_k=0.4, s_t=0.8)]
        + [paraphrase(made, True, 2, s_k=None, s_t=None)]
    )
    found = pride(store.frame())
    assert found.pride == pytest.approx(100 * 0.1 / (0.1 + 0.4))
    assert (found.episodes, found.wordings, found.unscored) == (2, 2, 1)


def test_overestimation_has_no_interval_without_failures(run, made):
    frame = run(
        paraphrase(made, True, number, s_k=1 - 0.05 * number, s_t=0.9) for number in range(1, 9)
    ).frame()
    assert overestimation(frame).overestimation == 0.0 and overestimation(frame).interval is None
    assert sweep(frame).slope == pytest.approx(0.0) and sweep(frame).interval is None
    assert pride(frame).interval.low < 90


def test_run_without_paraphrases_raises(run, made):
    frame = run([made(True), made(True, seed=1, condition="c", labels={"object": "none"})]).frame()
    for measure in (grid, pride, sweep, overestimation, object_gap):
        with pytest.raises(MeasureError, match="no episode has"):
            measure(frame)


def test_missing_data_raises_with_the_reason(run, made):
    for measure, change, reason in (
        (pride, {"s_k": 1.0, "s_t": 1.0}, "no paraphrase differs"),
        (pride, {"s_k": None}, "no episode has s_k"),
        (overestimation, {}, "no episode with a paraphrase succeeds"),
        (object_gap, {}, "needs paraphrases that keep"),
    ):
        frame = run(paraphrase(made, False, number, **change) for number in range(3)).frame()
        with pytest.raises(MeasureError, match=reason):
            measure(frame)
        with pytest.raises(MeasureError, match=r"4 scored cells; found [01]"):
            distance_correlation(grid(frame))
