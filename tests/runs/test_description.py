from __future__ import annotations

from pathlib import Path

from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.provenance import MAX_VALUES, describe_meta


def test_provenance_is_described_without_empty_values_marks_and_long_digests():
    plan = RunPlan.make("libero", RunOptions(replan=4))
    meta = plan.recorded_as("oracle", Path("a.assay")).provenance
    facts = dict(describe_meta(meta | {"conditions": ["position"], "label": "mine", "refused": [["x"]]}))
    assert list(facts)[:4] == ["experiment", "conditions", "policy", "label"]
    assert facts["settings"] == "replan=4, initial=sampled" and facts["world"] == "libero"
    assert len(facts["pack digest"]) == 12
    assert facts["started"].endswith(" UTC") and not {"plugins", "refused", "policy metadata"} & facts.keys()
    assert not any(mark in text for text in facts.values() for mark in "{}[]'")


def test_long_lists_are_counted_and_nested_values_joined():
    meta = {"own_value": {"a": [1, {"b": 2}]}, "duel": {"per_start": 2, "order": list(range(20))}}
    assert dict(describe_meta(meta)) == {"own value": "a=1, b=2", "duel": "per_start=2, order=20 values"}


def test_many_values_are_counted():
    meta = {f"value_{number}": number for number in range(MAX_VALUES + 7)}
    lines = describe_meta(meta | {"label": meta})
    assert lines[0] == ("label", f"{MAX_VALUES + 7} values")
    assert len(lines) == MAX_VALUES + 1 and lines[-1] == ("...", "and 8 more values")
