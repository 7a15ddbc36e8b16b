"""`assay export --to TOOL`: selects the exporter by name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import yaml

from assay import __version__
from assay.api.tracking import PROJECT, export, load_tracker
from assay.errors import RunError, did_you_mean
from assay.measures.summary import NOT_EXPECTED, summarise
from assay.runs.store import Store
from assay.support.files import replacing
from assay.support.plugins import registered_addresses

DEFAULT_IMAGE_SIZE = 256
"""Height and width of images, in pixels, as in the training data of LIBERO policies."""


def _export_hf(store: Store, file: Path, dataset: str) -> str:
    """Write results for Hugging Face's model pages to a file in ``.eval_results/`` of a model's repository.

        - dataset: {id: ..., task_id: pro/position}
          value: 63.3
          date: '2026-11-17'
          source: {name: Assay}
          notes: success in %; 95 % interval 52.1 to 73.2, n = 80; ...

    A benchmark is a dataset on the Hub; its leaderboard collects the results under the dataset's id.
    """
    if dataset.count("/") != 1 or not all(dataset.split("/")):
        raise RunError(f"--dataset '{dataset}': expected the id of a dataset on the Hub, OWNER/NAME")
    if file.suffix not in (".yaml", ".yml"):
        raise RunError(f"{file}: expected a YAML file, such as .eval_results/assay.yaml")
    meta, results = store.meta, []
    for rate in summarise(store).rates.values():
        caveat = f"{NOT_EXPECTED} in this condition, so a high value is not desirable; "
        errors = f", {rate.errors} errors excluded" if rate.errors else ""
        notes = (
            f"{'' if rate.is_expected else caveat}success in %; "
            f"95 % interval {100 * rate.low:.1f} to {100 * rate.high:.1f}, n = {rate.episodes}{errors}; "
            f"experiment {meta.get('experiment')}, policy {meta.get('label') or meta.get('policy')}, "
            f"assets {meta.get('pack')}"
        )
        results.append(
            {
                "dataset": {"id": dataset, "task_id": rate.condition},
                "value": round(100 * rate.rate, 1),
                "date": str(meta.get("started") or datetime.now(UTC).isoformat())[:10],
                "source": {"name": f"Assay {__version__}"},
                "notes": notes,
            }
        )
    if not results:
        raise RunError(f"{store.path}: no condition has an episode that finished without an error")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished:
        unfinished.write_text(yaml.safe_dump(results, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return f"{len(results)} conditions written to {file}"


def export_to(
    tool: str,
    store: Store,
    out: Path | None = None,
    episodes: str = "all",
    most: int | None = None,
    *,
    size: int = DEFAULT_IMAGE_SIZE,
    project: str = PROJECT,
    dataset: str = "",
) -> str:
    """Export a run to a tool or tracker and return a one-line summary. Raises RunError.

    Options that do not apply to the tool are ignored.
    """
    if tool in registered_addresses("tracker"):
        count = export(store, load_tracker(tool)(), project)
        return f"{count} episodes sent to {tool}" + (
            "" if count == store.done else " (the others had already been sent)"
        )
    examples = {"lerobot": "rollouts", "hf": ".eval_results/assay.yaml"}
    if tool not in examples:
        tools = [*registered_addresses("tracker"), *examples]
        raise RunError(f"--to '{tool}': {did_you_mean(tool, tools, most=9)}")
    if out is None:
        raise RunError(f"--to {tool} needs --out, such as {examples[tool]}")
    if tool == "hf":
        return _export_hf(store, out, dataset)
    from assay.extensions.interop.exporting.lerobot_datasets import write_rollouts

    return write_rollouts(store, out, episodes, most, size)
