"""LIBERO-Para's official logs as a run, so that published results get the same report as our own.

The logs hold no controls and no paths.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from assay import __version__, tasks
from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import EpisodeSpec, Label
from assay.errors import RunError
from assay.formats.libero_para import SUITE, Logged, Paraphrase, Settings, Types, read_logs, read_metadata
from assay.perturb import Say
from assay.perturb.words.grid.cells import Cell, cell_of
from assay.runs.store import Store

EXPERIMENT = "para"
ALPHA = 0.5
"""The weight of keywords in the published distance."""

Key = tuple[Types, int, int]
"""A wording: its types, its task's number (eval) and its number within both."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the logs."""

    episodes: int
    seeds: tuple[int, ...]
    unscored: int
    """Episodes whose wording the metadata lacks; they have no similarities, so PRIDE leaves them out."""
    unknown: int
    """Episodes left out, because the metadata does not say what their task is."""
    unrun: int
    """Wordings of the metadata that no log has."""
    expected: int
    """Episodes that the logs are of, by their own account."""


def import_libero_para(folder: Path, metadata: Path, out: Path) -> Imported:
    """Write LIBERO-Para's logs into a new run. Raises ReleaseError where they, or the metadata, are not such."""
    if out.exists():
        raise RunError(f"{out} exists already")
    rows = read_metadata(metadata)
    wordings: dict[Key, Paraphrase] = {(each.types, each.eval, each.batch_idx): each for each in rows}
    homes = _homes(rows, metadata)

    found: list[tuple[EpisodeSpec, Logged]] = []
    unscored = unknown = 0
    evaluations: dict[int, Settings] = {}
    met: set[Key] = set()
    said: Counter[tuple[str, int, Types, str]] = Counter()
    for log in read_logs(folder):
        evaluations[log.seed] = log.settings
        if log.eval not in homes:
            unknown += len(log.episodes)
            continue
        task = homes[log.eval]
        for episode in log.episodes:
            key, text = (episode.types, log.eval, episode.variant_id), episode.paraphrased_instruction
            wording = wordings.get(key)
            if wording is not None and wording.new_instruction != text:
                wording = None
            if wording is None:
                unscored += 1
            else:
                met.add(key)
            said[task, log.seed, episode.types, text] += 1
            cell = cell_of(*episode.types)
            spec = EpisodeSpec(
                task=task,
                seed=log.seed,
                pack="libero",
                experiment=EXPERIMENT,
                condition=f"{EXPERIMENT}/{cell}",
                # A wording that a cell has twice is said twice, which is another spec and the same task.
                perturbations=(Say(text),) * said[task, log.seed, episode.types, text],
                steps=log.settings.max_steps,
                replan=log.settings.replan_steps,
                labels=_labels(cell, wording),
            )
            found.append((spec, episode))
    if not found:
        raise RunError(
            f"{folder}: the metadata does not say what the task of any of its {unknown} episodes is"
        )
    expected = max(sum(each.total_tasks for each in evaluations.values()), len(found) + unknown)
    _write(out, found, _about(evaluations, folder, expected))
    seeds = tuple(sorted({spec.seed for spec, _ in found}))
    return Imported(len(found), seeds, unscored, unknown, len(wordings.keys() - met), expected)


def _homes(rows: tuple[Paraphrase, ...], metadata: Path) -> dict[int, str]:
    """The number of each task -> its id."""
    catalogue = {str(task.instruction): task.id for task in tasks.suite(SUITE)}
    originals = {row.eval: row.original_instruction for row in rows}
    for original in originals.values():
        if original not in catalogue:
            raise RunError(f"{metadata}: '{original}' is no instruction of {SUITE}")
    return {number: catalogue[original] for number, original in originals.items()}


def _labels(cell: Cell, wording: Paraphrase | None) -> dict[str, Label]:
    labels: dict[str, Label] = {
        "axis": "words",
        "plausible": True,
        "object": str(cell.object_type),
        "action": str(cell.action_type),
    }
    if wording is not None:
        s_k, s_t = wording.keyword_similarity, wording.structural_similarity
        labels |= {"s_k": s_k, "s_t": s_t, "pd": 1 - (ALPHA * s_k + (1 - ALPHA) * s_t)}
    return labels


def _about(evaluations: dict[int, Settings], folder: Path, expected: int) -> dict[str, object]:
    """What is known about the evaluations, one for each seed."""

    def all_of(name: str) -> str:
        values = (getattr(each, name) for _, each in sorted(evaluations.items()))
        return ", ".join(dict.fromkeys(str(value) for value in values if value))

    return {
        "experiment": EXPERIMENT,
        "policy": all_of("model_name"),
        "pack": "libero",
        "assay": __version__,
        "imported": f"LIBERO-Para's logs, {folder.name}",
        "started": all_of("timestamp"),
        "expected": expected,
        "settings": {
            "seeds": ", ".join(map(str, sorted(evaluations))),
            "max_steps": all_of("max_steps"),
            "replan_steps": all_of("replan_steps"),
        },
    }


def _write(out: Path, found: list[tuple[EpisodeSpec, Logged]], about: dict[str, object]) -> None:
    with Store.writing(out) as store:
        store.describe(**about)
        store.plan(spec for spec, _ in found)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for spec, episode in found:
            outcome = Outcome.SUCCESS if episode.success else Outcome.FAILURE
            decisions = -(-episode.num_steps // spec.replan) if spec.replan else 0
            said = episode.paraphrased_instruction
            happened = Episode(outcome, episode.num_steps, no_trajectory(), said, decisions=decisions)
            store.append(numbers[spec.key], happened)
