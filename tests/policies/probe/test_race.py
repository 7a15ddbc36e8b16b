from __future__ import annotations

from collections import Counter

import numpy as np

from assay.policies.probe.examination import race
from assay.policies.probe.server import RequestRefusedError
from assay.support.streams import stream


def test_the_best_wins_and_poor_contenders_drop_out_early():
    asked: Counter[float] = Counter()
    rng = stream(0, "race")

    def score(quality: float, number: int) -> float:
        asked[quality] += 1
        return float(np.clip(quality + rng.normal(scale=0.2), 0.0, 1.0))

    entries = race([0.2, 0.9, 0.3, 0.8], range(200), score)
    assert entries[0].value == 0.9
    assert asked[0.2] < 30 and asked[0.3] < 30 < asked[0.8]


def test_the_default_wins_ties():
    entries = race(["usual", "other"], range(20), lambda what, number: 0.5)
    assert entries[0].value == "usual" and abs(entries[0].ahead_of(entries[1])) < 1e-9


def test_a_refused_contender_is_out_with_the_reason():
    def score(what: str, number: int) -> float:
        if what == "usual":
            raise RequestRefusedError("no such state")
        return 0.7

    best, other = race(["usual", "other"], range(3), score)
    assert (best.value, other.refused, other.scores) == ("other", "no such state", [])


def test_equal_contenders_are_rarely_eliminated():
    """Two that are alike: each may be called worse in at most one of a hundred races; 60 races, 30 rounds."""
    dropped = 0
    for number in range(60):
        scores = iter(stream(number, "alike").random(200))
        entries = race(["a", "b"], range(30), lambda what, this, scores=scores: float(next(scores)))  # type: ignore[misc]
        dropped += any(entry.is_eliminated for entry in entries)
    assert dropped <= 4
