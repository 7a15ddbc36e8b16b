"""What a run says of itself, in words."""

from __future__ import annotations

from assay.runs.description import describe_meta
from assay.runs.provenance import provenance


def test_it_is_told_in_words_and_nothing_of_what_is_empty():
    meta = provenance(
        "pro", "oracle", "primitives", settings={"steps": None, "replan": 4, "certificates": None}
    )
    told = dict(describe_meta(meta | {"conditions": ["position"], "label": "mine", "refused": [["x"]]}))
    assert told["policy"] == "oracle (mine)" and told["conditions"] == "position"
    assert told["settings"] == "4 actions of each chunk, uncertified scenes"
    assert told["assets"].startswith("primitives (") and len(told["assets"]) == len("primitives ()") + 12
    assert told["started"].count("UTC on") == 1 and "MuJoCo 3" in told["started"]
    assert (
        told["world"] == "libero"
        and not {"plugins", "policy files", "policy metadata", "refused", "label"} & told.keys()
    )
    assert not any(mark in text for text in told.values() for mark in "{}[]'")


def test_what_later_commands_added_is_told():
    again = {"started": "2026-03-04T05:06:07+00:00", "host": "other", "assay": "0.2.0"}
    told = dict(describe_meta({"resumed": [{}, again], "shard": {"number": 3, "of": 16}}))
    assert told["resumed"].startswith("2 times") and told["resumed"].endswith(
        "2026-03-04 05:06 UTC on other; Assay 0.2.0"
    )
    assert told["shard"] == "3 of 16"
    assert dict(describe_meta({"own_value": {"a": [1, None, {"b": 2}]}})) == {"own value": "a=1, , b=2"}


def test_a_search_a_measured_latency_and_a_duels_measure_are_told_in_words():
    pairs = [
        {"task": task, "axis": axis, "unit": unit, "magnitudes": list(range(5, most, 5)), "ended": "settled"}
        for axis, unit in (("camera", "degrees"), ("noise", ""))
        for task, most in (("libero_goal/1", 60), ("libero_goal/2", 95))
    ]
    told = dict(
        describe_meta(
            {
                "search": {
                    "level": 0.5, "confidence": 0.95, "guided": False, "pairs": pairs,
                    "cannot": ["size: libero_goal/7 is about flat_stove_1", "rewording: none"],
                },
                "latency": {"steps": 3, "median_ms": 141.25, "ms": [141.25] * 5, "by": "server"},
                "duel": {"per_start": 2, "order": [["libero_goal/1", 0]], "measure": "progress"},
            }
        )
    )  # fmt: skip
    assert told == {
        "search": "where success falls below 50 %, intervals of 95 %, magnitudes at random, "
        "along camera (2 tasks, 5 to 90 degrees), noise (2 tasks, 5 to 90)",
        "not searched": "size: libero_goal/7 is about flat_stove_1; rewording: none",
        "latency": "3 control steps: median 141.25 ms as reported by the server",
        "duel": "2 of each start's episodes, compared by progress",
    }
    assert dict(describe_meta({"latency": {"steps": 1, "median_ms": 50.0, "by": "clock"}, "duel": {}})) == {
        "latency": "1 control step: median 50 ms by the clock",
        "duel": "all of each start's episodes",
    }
