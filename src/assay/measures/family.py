"""One family: what a diagnosis tests, and what it looks for besides, is wrong about a flawless policy in 5 % at most.

Four fifths of the 5 % are for the flaws that are named beforehand, adjusted by Holm; the last fifth is for
patterns that are only looked for (``search``). What cannot come out sure, however it turns out, costs nothing: a
test that so few starts cannot bring below the level is not counted (after Tarone).
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.support.stats.significance import SURE, holm

NAMED = 0.8
"""The part of the 5 % that is for flaws named beforehand."""
SEARCHED = 1 - NAMED
"""The part that is for what is only looked for."""


def adjusted(values: Sequence[float], least: Sequence[float], part: float = NAMED) -> list[float]:
    """p values (one-sided) adjusted for all that were tested together, to be read against 5 %.

    ``least``: the least p that each can come to. Those that cannot be sure are adjusted as if they could.
    """
    level = part * SURE
    able = [place for place, bound in enumerate(least) if bound < level]
    found = [min(1.0, value * max(len(able) + 1, 1) / part) for value in values]
    for place, p in zip(able, holm([values[place] for place in able]), strict=True):
        found[place] = min(1.0, p / part)
    return found


def least_adjusted(place: int, values: Sequence[float], least: Sequence[float], part: float = NAMED) -> float:
    """The least that the adjusted p of one of them could have been, with the others as they are."""
    bound = [*values[:place], least[place], *values[place + 1 :]]
    return adjusted(bound, least, part)[place]


def multiplier(place: int, values: Sequence[float], part: float = NAMED) -> float:
    """By what the p of one of them is multiplied in the family once there are starts enough for all of them.

    Those that are surer already do not count against it.
    """
    surer = sum(
        values[other] < values[place] and values[other] < SURE / len(values) for other in range(len(values))
    )
    return (len(values) - surer) / part
