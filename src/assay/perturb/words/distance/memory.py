"""Distances on disk: what was scored once is not scored again, by no process of this user."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from assay.folders import cache_folder
from assay.perturb.words.distance.models import MINILM_SHA256, PARSER_VERSION
from assay.perturb.words.distance.pride import ALPHA, Distance, distances

RECIPE = 1
"""To be raised whenever a pair gets another score, or another warning, than before."""
_TABLE = """
CREATE TABLE IF NOT EXISTS scores (
    original TEXT, paraphrase TEXT, s_k REAL, s_t REAL, parser TEXT, warnings TEXT,
    PRIMARY KEY (original, paraphrase)
) WITHOUT ROWID
"""

Pair = tuple[str, str]


def remembered(pairs: Sequence[Pair]) -> list[Distance]:
    """As ``distances``, but only pairs that were never scored before are scored; the models may stay away."""
    try:
        with closing(_database()) as database:
            known = _look_up(database, pairs)
            new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
            if new:
                known |= zip(new, distances(new), strict=True)
                with database:
                    database.executemany(
                        "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?, ?)",
                        [(*pair, *_row(known[pair])) for pair in new],
                    )
            return [known[pair] for pair in pairs]
    except (sqlite3.Error, OSError):
        return distances(pairs)  # without a place to remember, it takes longer, and that is all


def memory_file() -> Path:
    """Where distances are kept; another file for other models and other recipes."""
    made_with = json.dumps([RECIPE, MINILM_SHA256, PARSER_VERSION], sort_keys=True)
    return cache_folder() / f"distances-{hashlib.sha256(made_with.encode()).hexdigest()[:12]}.sqlite"


def _database() -> sqlite3.Connection:
    file = memory_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(file, timeout=10.0)
    database.execute(_TABLE)
    return database


def _look_up(database: sqlite3.Connection, pairs: Sequence[Pair]) -> dict[Pair, Distance]:
    found: dict[Pair, Distance] = {}
    for pair in pairs:
        row = database.execute(
            "SELECT s_k, s_t, parser, warnings FROM scores WHERE original = ? AND paraphrase = ?", pair
        ).fetchone()
        if row is not None:
            s_k, s_t, parser, warnings = row
            pd = ALPHA * (1 - s_k) + (1 - ALPHA) * (1 - s_t)
            found[pair] = Distance(s_k, s_t, pd, parser, warnings=tuple(json.loads(warnings)))
    return found


def _row(found: Distance) -> tuple[float, float, str, str]:
    return found.s_k, found.s_t, found.parser, json.dumps(found.warnings)
