from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from assay.measures import MEASURES, Result
from assay.report.run_report import RunReport

DOCUMENT = (Path(__file__).parents[2] / "docs" / "report.md").read_text()


def objects() -> set[type[Result]]:
    """Every kind of object that may be in a report."""
    assert all(MEASURES[name] for name in MEASURES)  # imports them
    classes, left = set[type[Result]](), [Result]
    packages = ("assay.measures.", "assay.support.stats.", "assay.extensions.tabletop.measures.")
    while left:
        kinds = left.pop().__subclasses__()
        left += kinds
        classes |= {kind for kind in kinds if kind.__module__.startswith(packages)}
    audits = "assay.measures.shortcuts"
    return {kind for kind in classes if kind.__name__ != "Difference" and kind.__module__ != audits}


def keys(kind: type[Result]) -> list[str]:
    return [each.name for each in dataclasses.fields(kind) if not each.metadata]


def test_the_documents_top_keys_are_those_of_the_object(read_everything: RunReport):
    part = DOCUMENT.partition("## The JSON object")[2].partition("## The objects in it")[0]
    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == [
        *read_everything.as_json(),
        "tabletop",
        "thresholds",
    ]


def test_every_object_within_is_documented_key_by_key():
    part = DOCUMENT.partition("## The objects in it")[2]
    told = {
        name: re.findall(r"`(\w+)`", text)
        for name, text in re.findall(r"^\| \*\*(\w+)\*\* \| (.*) \|$", part, re.M)
    }
    expected = {kind.__name__: keys(kind) for kind in objects()}
    assert told == expected
