"""Who is better, and who is more robust, in words: made from what a comparison has decided."""

from __future__ import annotations

import math

from assay.measures.compare import Aspect, Comparison, Decision, Robustness, RunContrast
from assay.measures.views.wording import between, number, p_phrase, percent, plural, points
from assay.support.stats.significance import SURE

Decided = RunContrast | Robustness

_SUCCESS = {
    Decision.BETTER: "{second} succeeds more often than {first}",
    Decision.WORSE: "{second} succeeds less often than {first}",
    Decision.EQUIVALENT: "{first} and {second} succeed equally often, to within {margin} points",
    Decision.UNDECIDED: "It is undecided whether {first} or {second} succeeds more often",
}
_DROP = {
    Decision.BETTER: "{second} loses less to the changes than {first}",
    Decision.WORSE: "{second} loses more to the changes than {first}",
    Decision.EQUIVALENT: "{first} and {second} lose equally much to the changes, to within {margin} points",
    Decision.UNDECIDED: "It is undecided whether {first} or {second} loses more to the changes",
}
_KEPT = {
    Decision.BETTER: "{second} keeps more of its successes than {first}",
    Decision.WORSE: "{second} keeps fewer of its successes than {first}",
    Decision.EQUIVALENT: "{first} and {second} keep equally many of their successes, to within {margin} points",
    Decision.UNDECIDED: "It is undecided whether {first} or {second} keeps more of its successes",
}


def verdicts(found: Comparison, first: str | None = None, second: str | None = None) -> list[str]:
    """A sentence on success, one on drops and one on what is kept, for each pair of runs, or for one pair."""
    said = []
    for each in found.overall:
        if (first, second) not in ((None, None), (each.first, each.second)):
            continue
        said.append(_success(each))
        for robust in found.robustness:
            if (robust.first, robust.second) == (each.first, each.second):
                said.append(_robustness(robust))
    return said


def _success(each: RunContrast) -> str:
    values = f"{each.second} {percent(each.second_rate)}, {each.first} {percent(each.first_rate)}"
    return f"{_claim(_SUCCESS, each)}: {values}; {_numbers(each)}{_more(each)}."


def _robustness(each: Robustness) -> str:
    if each.aspect is Aspect.KEPT:
        values = f"{each.second} keeps {percent(each.second_value)}, {each.first} {percent(each.first_value)}"
        return f"{_claim(_KEPT, each)}: {values}; {_numbers(each)}{_more(each)}."
    values = (
        f"success changes by {points(each.second_value)} points for {each.second}, by "
        f"{points(each.first_value)} for {each.first}"
    )
    return f"{_claim(_DROP, each)}: {values}; {_numbers(each)}{_more(each)}."


def _claim(claims: dict[Decision, str], each: Decided) -> str:
    return claims[each.decision].format(
        first=each.first, second=each.second, margin=number(100 * each.margin, 0)
    )


def _numbers(each: Decided) -> str:
    return (
        f"difference {points(each.change)} points (95 % interval {between(each.interval, 100)}, "
        f"{p_phrase(each.p_holm)})"
    )


def _more(each: Decided) -> str:
    """How many seeds would decide what is undecided."""
    if each.decision is not Decision.UNDECIDED:
        return ""
    few = (
        f"; {plural(each.starts, 'start')} are too few for any difference to be certain"
        if few_starts(each)
        else ""
    )
    seeds = seeds_more(each)
    return few + (
        f"; {plural(seeds, 'more seed')} for each task would decide a difference like this" if seeds else ""
    )


def few_starts(each: Decided) -> bool:
    """Whether no difference could be certain with so many starts."""
    return each.least_p >= SURE


def seeds_more(each: Decided) -> int | None:
    """How many more seeds for each task would show a difference like the one seen; None where there is none."""
    if each.starts_needed is None or not each.tasks or each.starts_needed <= each.starts:
        return None
    return math.ceil((each.starts_needed - each.starts) / each.tasks)


def in_a_word(each: Decided) -> str:
    """What is decided, for a row of a table."""
    seeds = seeds_more(each)
    if each.decision is not Decision.UNDECIDED or not few_starts(each):
        return str(each.decision)
    return "too few starts" + (f": {seeds} more seeds" if seeds else "")
