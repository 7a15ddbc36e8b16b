"""LIBERO-Para's official logs as a run, so that published results get the same report as our own.

DIR/seed7/eval0.json    the episodes of one task: its wordings, success, steps
DIR/seed7/meta.json     the model and its settings (optional)
metadata.csv            every wording: its cell, the original, both similarities

``eval`` counts the tasks of libero_goal in alphabetical order; the metadata's original instruction tells
which it is. The logs hold no controls and no paths.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from assay import __version__, tasks
from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import EpisodeSpec, Label
from assay.errors import PerturbationError, RunError
from assay.perturb import Say
from assay.perturb.words.grid.cells import Cell, cell_of_official
from assay.runs.store import Store

SUITE = "para"
TASKS = "libero_goal"
ALPHA = 0.5
"""The weight of keywords in the published distance."""
ONE = 1 + 1e-6
"""The largest similarity: published ones are off by rounding."""

T = TypeVar("T")
Key = tuple[Cell, int, int]
"""A wording: its cell, its task's number (eval) and its number within both."""


class Wording(BaseModel):
    """A row of the metadata."""

    high: str
    mid: str
    low: str
    eval: int
    batch_idx: int
    new_instruction: str
    original_instruction: str
    structural_similarity: float = Field(ge=0, le=ONE, allow_inf_nan=False)
    keyword_similarity: float = Field(ge=0, le=ONE, allow_inf_nan=False)


class Logged(BaseModel):
    """An episode in a log."""

    paraphrase_type: str
    categories: list[str]
    subcategories: list[str]
    variant_id: int
    paraphrased_instruction: str
    success: bool
    num_steps: int = Field(ge=0)


class _Log(BaseModel):
    eval_id: int
    episodes: list[Logged]


class _Settings(BaseModel):
    model_name: str = "unknown"
    max_steps: int | None = None
    replan_steps: int | None = None
    total_tasks: int = 0
    """Episodes of the whole evaluation."""
    timestamp: str = ""
    """When it began."""


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
    """Write LIBERO-Para's logs into a new run. Raises RunError where they, or the metadata, are not such."""
    if out.exists():
        raise RunError(f"{out} exists already")
    wordings = read_metadata(metadata)
    files = sorted(folder.glob("seed*/eval*.json"))
    if not files:
        raise RunError(f"{folder}: there is no seed*/eval*.json in it; valid: a folder of LIBERO-Para's logs")
    named = {each.eval: each.original_instruction for each in wordings.values()}
    catalogue = {str(task.instruction): task.id for task in tasks.resolve(TASKS)}
    homes: dict[int, str] = {}
    for number, instruction in named.items():
        if instruction not in catalogue:
            raise RunError(f"{metadata}: '{instruction}' is no instruction of {TASKS}")
        homes[number] = catalogue[instruction]

    found: list[tuple[EpisodeSpec, Logged, int | None]] = []
    unscored = unknown = 0
    evaluations: dict[int, _Settings] = {}
    met: set[Key] = set()
    said: Counter[tuple[str, int, Cell, str]] = Counter()
    for file in files:
        log, settings, seed = _read(file, _Log), _settings(file.parent), _seed(file.parent)
        evaluations[seed] = settings
        if log.eval_id not in homes:
            unknown += len(log.episodes)
            continue
        task = homes[log.eval_id]
        for episode in log.episodes:
            cell = _cell(file, episode)
            wording = wordings.get((cell, log.eval_id, episode.variant_id))
            if wording is not None and wording.new_instruction != episode.paraphrased_instruction:
                wording = None
            if wording is None:
                unscored += 1
            else:
                met.add((cell, log.eval_id, episode.variant_id))
            text = episode.paraphrased_instruction
            said[task, seed, cell, text] += 1
            spec = EpisodeSpec(
                task=task,
                seed=seed,
                pack="libero",
                experiment=SUITE,
                condition=f"{SUITE}/{cell}",
                # A wording that a cell has twice is said twice, which is another spec and the same task.
                perturbations=(Say(text),) * said[task, seed, cell, text],
                steps=settings.max_steps,
                replan=settings.replan_steps,
                labels=_labels(cell, wording),
            )
            found.append((spec, episode, settings.replan_steps))
    if not found:
        raise RunError(
            f"{folder}: the metadata does not say what the task of any of its {unknown} episodes is"
        )
    expected = max(sum(each.total_tasks for each in evaluations.values()), len(found) + unknown)
    _write(out, found, _about(evaluations, folder, expected))
    seeds = tuple(sorted({spec.seed for spec, _, _ in found}))
    return Imported(len(found), seeds, unscored, unknown, len(wordings.keys() - met), expected)


def read_metadata(path: Path) -> dict[Key, Wording]:
    """The wordings of a metadata file. Raises RunError that names file, line and column."""
    wanted = set(Wording.model_fields)
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        try:
            lacking = sorted(wanted - set(reader.fieldnames or ()))
            if lacking:
                raise RunError(
                    f"{path}: has no column {', '.join(lacking)}; valid: LIBERO-Para's metadata.csv"
                )
            return dict(_wording(path, reader.line_num, row) for row in reader)
        except (csv.Error, UnicodeDecodeError) as error:
            raise RunError(f"{path}: not a CSV file: {error}") from None


def _wording(path: Path, line: int, row: dict[str, Any]) -> tuple[Key, Wording]:
    try:
        wording = Wording.model_validate(row)
        cell = cell_of_official(wording.high, wording.mid, wording.low)
    except ValidationError as error:
        raise RunError(f"{path}:{line}: {_reason(error)}") from None
    except PerturbationError as error:
        raise RunError(f"{path}:{line}: {error}") from None
    return (cell, wording.eval, wording.batch_idx), wording


def _read(path: Path, kind: type[T]) -> T:
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except ValidationError as error:
        raise RunError(f"{path}: not a log of LIBERO-Para: {_reason(error)}") from None


def _settings(folder: Path) -> _Settings:
    file = folder / "meta.json"
    return _read(file, _Settings) if file.is_file() else _Settings()


def _seed(folder: Path) -> int:
    found = re.fullmatch(r"seed(\d+)", folder.name)
    if found is None:
        raise RunError(f"{folder}: a folder of logs is called seed and a number, e.g. seed7")
    return int(found[1])


def _cell(file: Path, episode: Logged) -> Cell:
    try:
        return cell_of_official(
            episode.paraphrase_type, "+".join(episode.categories), "+".join(episode.subcategories)
        )
    except PerturbationError as error:
        raise RunError(f"{file}: {error}") from None


def _labels(cell: Cell, wording: Wording | None) -> dict[str, Label]:
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


def _about(evaluations: dict[int, _Settings], folder: Path, expected: int) -> dict[str, object]:
    """What is known about the evaluations, one for each seed."""

    def all_of(name: str) -> str:
        values = (getattr(each, name) for _, each in sorted(evaluations.items()))
        return ", ".join(dict.fromkeys(str(value) for value in values if value))

    return {
        "experiment": SUITE,
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


def _write(out: Path, found: list[tuple[EpisodeSpec, Logged, int | None]], about: dict[str, object]) -> None:
    with Store.writing(out) as store:
        store.describe(**about)
        store.plan(spec for spec, _, _ in found)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for spec, episode, replan in found:
            outcome = Outcome.SUCCESS if episode.success else Outcome.FAILURE
            decisions = -(-episode.num_steps // replan) if replan else 0
            said = episode.paraphrased_instruction
            happened = Episode(outcome, episode.num_steps, no_trajectory(), said, decisions=decisions)
            store.append(numbers[spec.key], happened)


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return " ".join(f"{place}: {first['msg']}".split())[:200].removeprefix(": ")
