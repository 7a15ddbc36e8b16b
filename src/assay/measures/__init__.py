"""Measures: functions from the episodes of a run to numbers with intervals, and their views in reports.

    with Store.reading(path) as store:
        results = profile(store)            # all measures that apply
        success_rate(store.frame())         # one measure; raises MeasureError if the run lacks the data
    diagnose(results)                       # flaws, from the profiles of all runs of one policy

A result is a frozen dataclass with ``as_json()`` that includes its counts; errors are counted separately. A `Measure`
is a function with its tables, figures and sentences; `assay.register` adds one.
"""

LOSS_WORTH_FINDING = 0.2
"""Loss of success, 0 to 1, for which plans and reports recommend a number of seeds (``--detect``, in points)."""
