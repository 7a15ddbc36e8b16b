from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.measures.world.thresholds import (
    AtMagnitude,
    AxisThreshold,
    Thresholds,
    thresholds_table,
)
from assay.report.run_report import RunReport
from assay.report.summary import terminal_summary

POINTS = (AtMagnitude(0.1, 6, 6), AtMagnitude(0.2, 1, 5))
THRESHOLD = AxisThreshold(
    "libero_goal/1", "distance", "m", (0.1, 0.2, 0.3), 0.1, 0.2, 0.2, True, POINTS, 7, 6, 11, "settled"
)


def test_location_describes_the_interval_of_the_threshold():
    assert THRESHOLD.location == "0.1 to 0.2 m"
    assert replace(THRESHOLD, kept=0.3, lost=None).location == "above 0.3 m"
    assert replace(THRESHOLD, kept=0.0).location == "up to 0.2 m"
    assert replace(THRESHOLD, kept=0.0, lost=None).location == "unknown"
    assert replace(THRESHOLD, kept=None, lost=None, fits=False).location == "none fits"


def test_table_has_the_interval_the_controls_and_the_reason_for_the_end():
    results = Thresholds(0.5, 0.95, (THRESHOLD, replace(THRESHOLD, ended="controls")), ("size: x is fixed",))
    table = thresholds_table(results)
    first, second = table.formatted_rows
    assert first == ["libero_goal/1", "distance", "0.1 to 0.2 m", "0.2", "6/7", "11", ""]
    assert "nothing to lose" in second[-1]
    assert "less than 50 %" in table.note and "x is fixed" in table.note
    assert "libero\\_goal/1 & distance" in table.as_latex() and "0.1 to 0.2 m" in table.as_csv()


def test_terminal_summary_has_settled_and_open_thresholds(tmp_path: Path, write, made):
    def searched(magnitude: float, success: bool, seed: int):
        labels = {"searched": "distance", "magnitude": magnitude}
        return made(success, f"search/distance={magnitude:g}", labels, seed=seed)

    episodes = [made(True, seed=seed) for seed in range(12)]
    episodes += [searched(0.1, True, seed) for seed in range(12)]
    episodes += [searched(0.2, False, seed) for seed in range(12)]
    ladder = {"axis": "distance", "unit": "m", "magnitudes": [0.1, 0.2]}
    pairs = [
        {**ladder, "task": "libero_goal/1", "ended": "settled"},
        {**ladder, "task": "libero_goal/2", "ended": "budget"},
    ]
    about = {"experiment": "search", "search": {"level": 0.5, "confidence": 0.95, "pairs": pairs}}
    run = write(tmp_path / "run.assay", episodes, **about)
    text = "\n".join(line for lines in terminal_summary([RunReport.read(run)]) for line, _ in lines)
    assert "- Success is lost along distance at: 0.1 to 0.2 m in libero_goal/1; confidence 95 % each." in text
    assert (
        "- The threshold along distance is not settled: unknown (the budget is used up) in libero_goal/2."
        in text
    )
