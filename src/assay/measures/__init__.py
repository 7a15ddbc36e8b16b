"""Measures: functions from the episodes of a run to numbers with intervals, and their views in reports.

    with Store.reading(path) as store:
        results = profile(store)            # all measures that apply
        grid(store.frame())                 # one measure; raises MeasureError if the run lacks the data
        failures(store.frame(), Paths.of(store.trajectories()))
    diagnose(results)                       # flaws, from the profiles of all runs of one policy

A result is a frozen dataclass with ``as_json()`` that includes its counts; errors are counted separately. A `Measure`
is a function with its tables, figures and sentences; `assay.register` adds one.
"""

from assay.measures.attribution import attribution
from assay.measures.compare import compare
from assay.measures.diagnosis import diagnose
from assay.measures.failure.grounding import confusion
from assay.measures.failure.near_far import NearFarRule, failures
from assay.measures.findings import Claim, Evidence, Finding, FlawTest, Untested, Verdict
from assay.measures.flaws import Degree, Flaw, OwnFlaw
from assay.measures.frames import label_changes
from assay.measures.measure import MEASURES, Measure, Panel
from assay.measures.memory.memorisation import memorisation
from assay.measures.memory.paths import Paths
from assay.measures.profile import Profile, profile
from assay.measures.result import MeasureError, Missing, Result, attempt
from assay.measures.run_data import RunData
from assay.measures.success.drops import drops
from assay.measures.success.rates import rates, success_rate
from assay.measures.time.timing import efficiency, no_mistakes, time_limits, time_to_success
from assay.measures.words.names import name_gaps
from assay.measures.words.paraphrase import distance_correlation, grid, object_gap
from assay.measures.words.phrasing import action_gaps
from assay.measures.words.pride import overestimation, pride, sweep
from assay.measures.world.curves import curve

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
    "NearFarRule",
    "OwnFlaw",
    "Panel",
    "Paths",
    "Profile",
    "Result",
    "RunData",
    "Untested",
    "Verdict",
    "action_gaps",
    "attempt",
    "attribution",
    "compare",
    "confusion",
    "curve",
    "diagnose",
    "distance_correlation",
    "drops",
    "efficiency",
    "failures",
    "grid",
    "label_changes",
    "memorisation",
    "name_gaps",
    "no_mistakes",
    "object_gap",
    "overestimation",
    "pride",
    "profile",
    "rates",
    "success_rate",
    "sweep",
    "time_limits",
    "time_to_success",
]
