"""Computes the paraphrase distance of every row in a CSV file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl

from assay.perturb.words.distance.models import MINILM
from assay.perturb.words.distance.pride import ALPHA, DistanceError, attempts
from assay.perturb.words.grid.table import ORIGINAL, TEXT
from assay.support.extras import require

COLUMNS = tuple(zip(ORIGINAL, TEXT, strict=True))[::-1]
"""Names of the columns with the original and the paraphrase: in LIBERO-Para, and in ``assay words generate``."""
SCORES = {
    "s_k": pl.Float64,
    "s_t": pl.Float64,
    "pd": pl.Float64,
    "parser": pl.String,
    "embedding": pl.String,
}
BASELINES = ("bleu", "meteor[", "bert_score[")
"""Column-name prefixes of general-purpose similarities."""
WARNING = "pd_warning"
WARNING_SEPARATOR = "; "
CHUNK = 512
_EXPECTED = " (or ".join(" and ".join(names) for names in COLUMNS) + ")"


def read_table(path: Path) -> pl.DataFrame:
    """Read a CSV file with every value as text. Raises DistanceError if the file is not valid CSV."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DistanceError(
            f"{path}:{line}: not UTF-8 (byte 0x{content[error.start]:02X}): save it as UTF-8"
        ) from None
    if not text.strip():
        raise DistanceError(f"{path} is empty: it needs a header with the columns {_EXPECTED}")
    try:
        return pl.read_csv(io.StringIO(text), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DistanceError(f"{path} is not a readable CSV file: {str(error).splitlines()[0]}") from None


def score_table(
    frame: pl.DataFrame,
    *,
    alpha: float = ALPHA,
    baselines: bool = False,
    bert_model: str = MINILM,
    on_scored: Callable[[int], object] = lambda count: None,
) -> pl.DataFrame:
    """Return a table with the additional columns s_k, s_t, pd, parser and embedding.

    ``baselines`` also adds columns for BLEU, METEOR and BERTScore, with the model in the name, such as
    ``bert_score[all-MiniLM-L6-v2]``. For a row without a distance, these columns are empty and the column
    pd_warning gives the reason; if no row has a warning, that column is omitted. Existing columns with these
    names are replaced. Raises DistanceError if the columns with the texts are missing. ``on_scored`` is called
    after every chunk with its number of rows.
    """
    columns = next((names for names in COLUMNS if set(names) <= set(frame.columns)), None)
    if columns is None:
        raise DistanceError(f"the table needs the columns {_EXPECTED}; it has {', '.join(frame.columns)}")
    if baselines:
        require("words", "BLEU needs sacrebleu", DistanceError)
    pairs = list(zip(*(frame[name].fill_null("") for name in columns), strict=True))
    rows: list[dict[str, object]] = []
    rivals: dict[str, type[pl.DataType]] = {}
    for start in range(0, len(pairs), CHUNK):
        chunk = pairs[start : start + CHUNK]
        for result in attempts(chunk, alpha=alpha):
            if isinstance(result, DistanceError):
                rows.append({WARNING: str(result)})
            else:
                scores = {name: getattr(result, name) for name in SCORES}
                rows.append({WARNING: WARNING_SEPARATOR.join(result.warnings) or None, **scores})
        if baselines:
            from assay.perturb.words.distance.baselines import baselines as compute_baselines

            scored = [(pair, row) for pair, row in zip(chunk, rows[start:], strict=True) if "pd" in row]
            similarities = compute_baselines([pair for pair, _ in scored], bert_model)
            for (_, row), similarity in zip(scored, similarities, strict=True):
                row |= similarity
                rivals |= dict.fromkeys(similarity, pl.Float64)
        on_scored(len(chunk))
    warns = any(row[WARNING] for row in rows)
    added = SCORES | rivals | ({WARNING: pl.String} if warns else {})
    earlier = [name for name in frame.columns if name.startswith(BASELINES)]
    rest = frame.drop(*SCORES, *earlier, WARNING, strict=False)
    return pl.concat([rest, pl.DataFrame(rows, schema=added)], how="horizontal")
