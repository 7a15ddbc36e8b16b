from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.measures.world.thresholds import AtMagnitude, Threshold, Thresholds, WorstCase
from assay.report.figures.thresholds import figure_of_thresholds
from assay.report.run_report import RunReport
from assay.report.summary import terminal_summary
from assay.report.thresholds import in_words, table_of_cases, table_of_thresholds

POINTS = (AtMagnitude(0.1, 6, 6), AtMagnitude(0.2, 1, 5))
FOUND = Threshold(
    "libero_goal/1", "distance", "m", (0.1, 0.2, 0.3), 0.1, 0.2, 0.2, True, POINTS, 7, 6, 11, "settled"
)


def test_where_success_is_lost_is_said_in_words():
    assert in_words(FOUND) == "0.1 to 0.2 m"
    assert in_words(replace(FOUND, kept=0.3, lost=None)) == "above 0.3 m"
    assert in_words(replace(FOUND, kept=0.0)) == "up to 0.2 m"
    assert in_words(replace(FOUND, kept=0.0, lost=None)) == "unknown"
    assert in_words(replace(FOUND, kept=None, lost=None, fits=False)) == "none fits"


def test_the_table_has_the_interval_the_controls_and_why_it_ended():
    several = Thresholds(0.5, 0.95, (FOUND, replace(FOUND, ended="controls")), ("size: x is fixed",))
    table = table_of_thresholds(several)
    assert table.shown[0] == ["libero_goal/1", "distance", "0.1 to 0.2 m", "0.2", "6/7", "11", ""]
    assert (
        "nothing to lose" in table.shown[1][-1]
        and "less than 50 %" in table.note
        and "x is fixed" in table.note
    )
    assert "libero\\_goal/1 & distance" in table.as_latex() and "0.1 to 0.2 m" in table.as_csv()


def test_the_figure_shades_where_the_threshold_may_be():
    known = figure_of_thresholds(Thresholds(0.5, 0.95, (FOUND,), ()))
    unknown = figure_of_thresholds(Thresholds(0.5, 0.95, (replace(FOUND, fits=False),), ()))
    assert "0.1 to 0.2 m" in known.svg and "95 % at all times" in known.caption
    assert known.svg.count("#D55E00".lower()) > unknown.svg.count("#D55E00".lower())


def test_cases_are_told_with_their_videos_and_none_make_no_table():
    case = WorstCase("libero_goal/1", "search/distance=0.1+delay=4", 8, 8, True, "abc")
    assert table_of_cases(()) is None
    table = table_of_cases([case], {"abc": "videos/x.mp4"})
    assert table.shown == [["libero_goal/1", "distance=0.1+delay=4", "8/8", "yes", "videos/x.mp4"]]


def test_the_terminal_says_where_success_is_lost_and_what_breaks_it_together(tmp_path: Path, write, made):
    def played(magnitude: float, success: bool, seed: int):
        return made(
            success,
            f"search/distance={magnitude:g}",
            {"searched": "distance", "magnitude": magnitude},
            seed=seed,
        )

    episodes = [made(True, seed=seed) for seed in range(24)]
    episodes += [played(0.1, True, seed) for seed in range(12)] + [
        played(0.2, False, seed) for seed in range(12)
    ]
    fresh = "search/distance=0.1+delay=4"
    episodes += [made(False, fresh, {"fresh": True}, seed=seed) for seed in range(12, 24)]
    pairs = [
        {
            "task": "libero_goal/1",
            "axis": "distance",
            "unit": "m",
            "magnitudes": [0.1, 0.2],
            "ended": "settled",
        },
        {
            "task": "libero_goal/2",
            "axis": "distance",
            "unit": "m",
            "magnitudes": [0.1, 0.2],
            "ended": "budget",
        },
    ]
    about = {"experiment": "search", "search": {"level": 0.5, "confidence": 0.95, "pairs": pairs}}
    run = write(tmp_path / "run.assay", episodes, **about)
    text = "\n".join(line for lines in terminal_summary([RunReport.read(run)]) for line, _ in lines)
    assert "- Success is lost along distance at: 0.1 to 0.2 m in libero_goal/1; each holds with 95 %." in text
    assert (
        "- Where success is lost along distance is not settled: unknown (the budget is used up) in libero_goal/2."
        in text
    )
    assert "distance=0.1+delay=4 in libero_goal/1 (12 of 12 fresh starts fail)" in text
