from __future__ import annotations

import dataclasses
import re
import typing
from pathlib import Path

from assay.measures.compare import Comparison
from assay.measures.diagnosis import Finding
from assay.measures.profile import Profile
from assay.measures.result import Result
from assay.report.run_report import RunReport

DOCUMENT = (Path(__file__).parents[2] / "docs" / "report.md").read_text()


def objects(*kinds: type) -> set[type[Result]]:
    """Every kind of object that may be found within these."""
    found: set[type[Result]] = set()

    def look(kind: object) -> None:
        if isinstance(kind, type) and issubclass(kind, Result) and kind not in found:
            found.add(kind)
            hints = typing.get_type_hints(kind)
            for each in keys(kind):
                look(hints[each])
        for part in typing.get_args(kind):
            look(part)

    for kind in kinds:
        look(kind)
    return found


def keys(kind: type[Result]) -> list[str]:
    return [each.name for each in dataclasses.fields(kind) if not each.metadata]


def test_the_documents_top_keys_are_those_of_the_object(everything: Path):
    part = DOCUMENT.partition("## The JSON object")[2].partition("## The objects in it")[0]
    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == list(RunReport.read(everything).as_json())


def test_every_object_within_is_documented_key_by_key():
    part = DOCUMENT.partition("## The objects in it")[2]
    told = {
        name: re.findall(r"`(\w+)`", text)
        for name, text in re.findall(r"^\| \*\*(\w+)\*\* \| (.*) \|$", part, re.M)
    }
    expected = {kind.__name__: keys(kind) for kind in objects(Profile, Finding, Comparison) - {Profile}}
    assert told == expected
