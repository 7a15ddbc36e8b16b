"""What several runs of one policy say together."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay.measures.diagnosis import diagnose
from assay.measures.sentences import Diagnosis
from assay.measures.views.wording import listed
from assay.report.run_report import RunReport
from assay.runs.description import lateness
from assay.runs.provenance import IDENTITY


def joint_diagnoses(reports: Sequence[RunReport]) -> dict[str, Diagnosis]:
    """Title -> diagnosis, for each policy with several runs.

    Runs are of one policy where label, address, what it says of itself, the digests of its source and files, and its
    latency agree: episodes before and after an edit, or at once and late, are never judged as one policy's.
    """
    groups: dict[str, list[RunReport]] = {}
    for report in reports:
        groups.setdefault(_policy(report), []).append(report)
    return {
        _title(runs): Diagnosis.of(diagnose(*(run.profile for run in runs)))
        for runs in groups.values()
        if len(runs) > 1
    }


def _title(runs: Sequence[RunReport]) -> str:
    who = ", ".join(filter(None, (runs[0].policy, lateness(runs[0].meta))))
    return f"{who}, from {listed([run.name for run in runs])} together"


def _policy(report: RunReport) -> str:
    """A text that is the same for runs of one policy alone."""
    meta = report.meta
    parts = (
        meta.get("label"),
        meta.get("policy"),
        meta.get("policy_metadata") or {},
        meta.get(IDENTITY) or {},
        lateness(meta),
    )
    return json.dumps(parts, sort_keys=True)
