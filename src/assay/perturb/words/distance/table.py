"""Distances for every row of a CSV file."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from assay.perturb.words.distance.models import MINILM
from assay.perturb.words.distance.pride import ALPHA, Distance, DistanceError, attempts, scorer
from assay.perturb.words.grid.table import ORIGINAL, TEXT
from assay.support.extras import require

COLUMNS = tuple(zip(ORIGINAL, TEXT, strict=True))[::-1]
"""Column names of original and paraphrase: LIBERO-Para's, and those of ``assay words generate``."""
SCORES = {
    "s_k": pl.Float64,
    "s_t": pl.Float64,
    "pd": pl.Float64,
    "parser": pl.String,
    "embedding": pl.String,
}
BASELINES = ("bleu", "meteor[", "bert_score[")
"""Prefixes of the column names of general-purpose similarities."""
WARNING = {"pd_warning": pl.String}
CHUNK = 512


@dataclass(frozen=True, slots=True)
class Scored:
    """A table with its scores, and the warnings about them."""

    frame: pl.DataFrame
    parser: str
    """Name and version of the parser's model."""
    refused: int
    """Number of rows without a score."""
    reasons: Counter[str]
    """Reasons for missing scores and for warnings -> number of rows."""


def read_table(path: Path) -> pl.DataFrame:
    """Read a CSV file with every cell as text. Raises DistanceError if it is not CSV."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DistanceError(
            f"{path}:{line}: not UTF-8 (byte 0x{content[error.start]:02X}): save it as UTF-8"
        ) from None
    if not text.strip():
        raise DistanceError(f"{path} is empty: it needs a header with the columns {_expected_columns()}")
    try:
        return pl.read_csv(io.StringIO(text), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DistanceError(
            f"{path} is not a CSV file that can be read: {str(error).splitlines()[0]}"
        ) from None


def score_table(
    frame: pl.DataFrame,
    *,
    alpha: float = ALPHA,
    baselines: bool = False,
    bert_model: str = MINILM,
    on_scored: Callable[[int], object] = lambda count: None,
) -> Scored:
    """Add the columns s_k, s_t, pd, parser and embedding to a table.

    With ``baselines``, also add those of BLEU, METEOR and BERTScore, whose name contains the model: ``bert_score[all-
    MiniLM-L6-v2]``. If a row has no distance, they are empty and the column pd_warning gives the reason; without any
    warnings, that column is omitted. Existing columns of these names are replaced. Raises DistanceError if the
    columns with the texts are missing. ``on_scored`` is called after every chunk with its number of rows.
    """
    if baselines:
        require("words", "BLEU needs sacrebleu", DistanceError)
    before, after = _columns(frame.columns)
    pairs = list(zip(frame[before].fill_null(""), frame[after].fill_null(""), strict=True))
    results: list[Distance | DistanceError] = []
    rows: list[dict[str, object]] = []
    rivals: dict[str, type[pl.DataType]] = {}
    for start in range(0, len(pairs), CHUNK):
        chunk = pairs[start : start + CHUNK]
        results += attempts(chunk, alpha=alpha)
        rows += map(_row, results[start:])
        if baselines:
            rivals |= _add_baselines(chunk, rows[start:], bert_model)
        on_scored(len(chunk))
    reasons = Counter(note for result in results for note in _notes(result))
    added = SCORES | rivals | (WARNING if reasons else {})
    earlier = [name for name in frame.columns if name.startswith(BASELINES)]
    rest = frame.drop(*SCORES, *earlier, *WARNING, strict=False)
    return Scored(
        pl.concat([rest, pl.DataFrame(rows, schema=added)], how="horizontal"),
        scorer().parser,
        sum(isinstance(result, DistanceError) for result in results),
        reasons,
    )


def _row(found: Distance | DistanceError) -> dict[str, object]:
    warning = dict.fromkeys(WARNING, "; ".join(_notes(found)) or None)
    if isinstance(found, DistanceError):
        return {**warning}
    return {**warning, **{name: getattr(found, name) for name in SCORES}}


def _notes(found: Distance | DistanceError) -> tuple[str, ...]:
    return (str(found),) if isinstance(found, DistanceError) else found.warnings


def _add_baselines(
    pairs: Sequence[tuple[str, str]], rows: Sequence[dict[str, object]], model: str
) -> dict[str, type[pl.DataType]]:
    """Add the similarities to the rows that have a score; returns the columns."""
    from assay.perturb.words.distance.baselines import baselines

    scored = [(pair, row) for pair, row in zip(pairs, rows, strict=True) if "pd" in row]
    similarities = baselines([pair for pair, _ in scored], model)
    for (_, row), similarity in zip(scored, similarities, strict=True):
        row |= similarity.columns
    return {name: pl.Float64 for similarity in similarities[:1] for name in similarity.columns}


def _columns(there: Sequence[str]) -> tuple[str, str]:
    for names in COLUMNS:
        if set(names) <= set(there):
            return names
    raise DistanceError(f"the table needs the columns {_expected_columns()}; it has {', '.join(there)}")


def _expected_columns() -> str:
    return " (or ".join(" and ".join(names) for names in COLUMNS) + ")"
