"""Distances on disk: what was scored once is not scored again, by no process of this user."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from assay.perturb.words.distance.errors import DistanceError
from assay.perturb.words.distance.models import MINILM_SHA256, PARSER_VERSION
from assay.perturb.words.distance.pride import ALPHA, Distance, all_scored, attempts
from assay.support.files import KeyValues, cache_folder

RECIPE = 1
"""To be raised whenever a pair gets another score, or another warning, than before."""

Pair = tuple[str, str]


def remembered(pairs: Sequence[Pair]) -> list[Distance]:
    """As ``distances``, but only pairs that were never scored before are scored; the models may stay away."""
    return all_scored(remembered_attempts(pairs))


def remembered_attempts(pairs: Sequence[Pair]) -> list[Distance | DistanceError]:
    """As ``remembered``, but with the error in the place of a pair that has no distance."""
    try:
        with closing(_scores()) as scores:
            known: dict[Pair, Distance | DistanceError] = {**_known(scores, pairs)}
            new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
            if new:
                found = dict(zip(new, attempts(new), strict=True))
                known |= found
                scores.put_all(
                    (*pair, *_row(each)) for pair, each in found.items() if isinstance(each, Distance)
                )
            return [known[pair] for pair in pairs]
    except (sqlite3.Error, OSError):
        return attempts(pairs)  # without a place to remember, it takes longer, and that is all


def memory_file() -> Path:
    """Where distances are kept; another file for other models and other recipes."""
    made_with = json.dumps([RECIPE, MINILM_SHA256, PARSER_VERSION], sort_keys=True)
    return cache_folder() / f"distances-{hashlib.sha256(made_with.encode()).hexdigest()[:12]}.sqlite"


def _scores() -> KeyValues:
    columns = ("s_k", "s_t", "parser", "warnings")
    return KeyValues(memory_file(), "scores", ("original", "paraphrase"), columns, wal=False)


def _known(scores: KeyValues, pairs: Sequence[Pair]) -> dict[Pair, Distance]:
    found: dict[Pair, Distance] = {}
    for pair in pairs:
        if row := scores.get(*pair):
            s_k, s_t, parser, warnings = row
            pd = ALPHA * (1 - s_k) + (1 - ALPHA) * (1 - s_t)
            found[pair] = Distance(s_k, s_t, pd, parser, warnings=tuple(json.loads(warnings)))
    return found


def _row(found: Distance) -> tuple[float, float, str, str]:
    return found.s_k, found.s_t, found.parser, json.dumps(found.warnings)
