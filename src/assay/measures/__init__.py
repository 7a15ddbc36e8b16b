"""Measures: functions from the episodes of a run to numbers with intervals, and their views in reports.

    with Store.reading(path) as store:
        results = profile(store)            # all measures that apply
        success_rate(store.frame())         # one measure; raises MeasureError if the run lacks the data
    diagnose(results)                       # flaws, from the profiles of all runs of one policy

A result is a frozen dataclass with ``as_json()`` that includes its counts; errors are counted separately. A `Measure`
is a function with its tables, figures and sentences; `assay.register` adds one.
"""

from assay.measures.compare import compare
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Claim, Evidence, Finding, FlawTest, Untested, Verdict
from assay.measures.flaws import Degree, Flaw, OwnFlaw
from assay.measures.frames import label_changes
from assay.measures.measure import MEASURES, Measure, Panel
from assay.measures.profile import Profile, profile
from assay.measures.result import MeasureError, Missing, Result, attempt
from assay.measures.run_data import RunData
from assay.measures.success.rates import success_rate

__all__ = [
    "MEASURES",
    "Claim",
    "Degree",
    "Evidence",
    "Finding",
    "Flaw",
    "FlawTest",
    "Measure",
    "MeasureError",
    "Missing",
    "OwnFlaw",
    "Panel",
    "Profile",
    "Result",
    "RunData",
    "Untested",
    "Verdict",
    "attempt",
    "compare",
    "diagnose",
    "label_changes",
    "profile",
    "success_rate",
]
