"""Results as Hugging Face's model pages show them: a file in ``.eval_results/`` of a model's repository.

    - dataset: {id: ..., task_id: pro/position}
      value: 63.3
      date: '2026-11-17'
      source: {url: ..., name: Assay}
      notes: success in %; 95 % interval 52.1 to 73.2, n = 80; ...

Notes of conditions in which success is not expected begin with that.

A benchmark is a dataset of the Hub; its id is the one under which its board collects results.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import yaml

from assay import __version__
from assay.errors import RunError
from assay.measures.summary import NOT_EXPECTED, ConditionRate, summarise
from assay.runs.store import Store
from assay.support.files import replacing

SOURCE = {"name": f"Assay {__version__}"}


def write(store: Store, file: Path, dataset: str) -> int:
    """Write success of each condition with n and interval; returns how many. ``dataset``: its id on the Hub."""
    if dataset.count("/") != 1 or not all(dataset.split("/")):
        raise RunError(f"--dataset '{dataset}': valid: the id of a dataset on the Hub, OWNER/NAME")
    if file.suffix not in (".yaml", ".yml"):
        raise RunError(f"{file}: valid: a file such as .eval_results/assay.yaml")
    meta, summary = store.meta, summarise(store)
    when = str(meta.get("started") or datetime.now(UTC).isoformat())[:10]
    told = [
        {
            "dataset": {"id": dataset, "task_id": rate.condition},
            "value": round(100 * rate.rate, 1),
            "date": when,
            "source": dict(SOURCE),
            "notes": _notes(rate, meta),
        }
        for rate in summary.rates.values()
    ]
    if not told:
        raise RunError(f"{store.path}: no condition has an episode that counts")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished:
        unfinished.write_text(yaml.safe_dump(told, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return len(told)


def _notes(share: ConditionRate, meta: dict[str, object]) -> str:
    errors = f", {share.errors} errors left out" if share.errors else ""
    apart = (
        ""
        if share.is_expected
        else f"{NOT_EXPECTED} in this condition, so that a high value is no good sign; "
    )
    return (
        f"{apart}success in %; 95 % interval {100 * share.low:.1f} to {100 * share.high:.1f}, "
        f"n = {share.episodes}{errors}; "
        f"experiment {meta.get('experiment')}, policy {meta.get('label') or meta.get('policy')}, "
        f"assets {meta.get('pack')}"
    )
