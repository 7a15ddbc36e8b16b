"""A table of episodes, CSV: one row each.

    task,seed,condition,success,steps,instruction
    libero_goal/3,0,control,true,142,open the top drawer and put the bowl inside
    libero_goal/3,0,position,false,300,open the top drawer and put the bowl inside

``task`` and ``success`` are needed. Columns that have no meaning of their own are kept as labels.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assay.episodes import CONTROL, Outcome
from assay.extensions.interop.formats.results import Evaluation, Kind, ReportedEpisode, known_task, outcome_of
from assay.tasks.formats import Label, ReleaseError, text_of

TOOL = "CSV"
NAMES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "task_name", "task_id"),
    "success": ("success", "successes", "is_success", "outcome"),
    "trial": ("seed", "trial", "episode", "episode_idx", "episode_id", "init_state_id"),
    "suite": ("suite", "task_suite", "task_suite_name", "task_group"),
    "condition": ("condition", "perturbation", "perturbation_type"),
    "change": ("change",),
    "variant": ("variant",),
    "plausible": ("plausible",),
    "steps": ("steps", "num_steps", "length"),
    "seconds": ("seconds", "duration_seconds", "elapsed_sec"),
    "instruction": ("instruction", "prompt", "language"),
    "error": ("error",),
    "policy": ("policy", "model"),
}
"""What columns may be called, the first found counts; the first of each is the documented one."""
NEEDED = ("task", "success")


def read(file: Path) -> tuple[Evaluation, ...]:
    """The evaluations in a table, one for each policy. Raises ReleaseError that says which row makes no sense."""
    try:
        return _read(file)
    except csv.Error as error:
        raise ReleaseError(f"{file}: not a table: {error}") from None


def _read(file: Path) -> tuple[Evaluation, ...]:
    reader = csv.DictReader(io.StringIO(text_of(file)), dialect=_dialect(file))
    columns = _columns(reader.fieldnames or (), file)
    used = set(columns.values())
    rows: dict[str, list[ReportedEpisode]] = {}
    trials: Counter[tuple[str, str, str]] = Counter()
    seen: dict[tuple[object, ...], int] = {}
    for row in reader:
        place = f"{file}: line {reader.line_num}"
        if None in row or None in row.values():
            raise ReleaseError(f"{place}: has not as many fields as the first line")
        said = {name: row[column].strip() for name, column in columns.items()}
        task = known_task(said["task"], said.get("suite", "")) or "/".join(
            part for part in (said.get("suite"), said["task"]) if part
        )
        if not task:
            raise ReleaseError(f"{place}: has no task")
        condition = said.get("condition") or CONTROL
        policy = said.get("policy", "")
        line = (policy, condition, task)
        trial = trials[line] if "trial" not in columns else _whole(said["trial"], "seed", place)
        trials[line] += 1
        labels: dict[str, Label] = {
            name: _label(value) for name, value in row.items() if name not in used and value.strip()
        }
        if "plausible" in said:
            labels["plausible"] = outcome_of(said["plausible"] or True, place) is Outcome.SUCCESS
        outcome = outcome_of(said["success"], place)
        which = (*line, trial, said.get("variant") or said.get("instruction", ""))
        if which in seen:
            raise ReleaseError(
                f"{place}: is the same episode as line {seen[which]}: task, seed, condition and instruction; "
                "valid: a column seed, trial or variant that tells them apart"
            )
        seen[which] = reader.line_num
        rows.setdefault(policy, []).append(
            ReportedEpisode(
                task=task,
                trial=trial,
                outcome=outcome,
                condition=condition,
                change=said.get("change", ""),
                variant=said.get("variant") or said.get("instruction", ""),
                steps=_whole(said.get("steps") or "0", "steps", place),
                seconds=_number(said.get("seconds") or "0", "seconds", place),
                instruction=said.get("instruction", ""),
                error=said.get("error", "") or ("error" if outcome is Outcome.ERROR else ""),
                labels=labels,
            )
        )
    if not rows:
        raise ReleaseError(f"{file}: has no row of an episode")
    remarks = () if "trial" in columns else (UNSEEDED,)
    return tuple(Evaluation(TOOL, policy, tuple(row), remarks=remarks) for policy, row in rows.items())


UNSEEDED = "no column says the seed: a task's episodes are taken to start alike in all conditions, in the table's order"


def _columns(given: object, file: Path) -> dict[str, str]:
    """What each of our names is called in a table."""
    names = [str(each) for each in given] if isinstance(given, list | tuple) else []
    lower = {name.strip().lower(): name for name in names}
    found = {
        name: lower[which]
        for name, candidates in NAMES.items()
        if (which := next((candidate for candidate in candidates if candidate in lower), None)) is not None
    }
    for needed in NEEDED:
        if needed not in found:
            valid = ", ".join(candidates[0] for candidates in NAMES.values())
            there = ", ".join(names) or "no column at all"
            raise ReleaseError(f"{file}: has no column '{needed}', but {there}; valid: {valid}")
    return found


def _dialect(file: Path) -> type[csv.Dialect]:
    """Commas, or tabs or semicolons where the first line has more of them."""
    first = text_of(file).partition("\n")[0]
    best = max(",\t;", key=first.count)

    class Found(csv.excel):
        delimiter = best

    return Found


def _whole(text: str, name: str, place: str) -> int:
    value = _number(text, name, place)
    if value != int(value):
        raise ReleaseError(f"{place}: {name} is '{text[:40]}'; valid: a whole number")
    return int(value)


def _number(text: str, name: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ReleaseError(f"{place}: {name} is '{text[:40]}'; valid: a number from 0 on")
    return value


def _label(text: str) -> Label:
    """A value as a number, where it is one."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    return text.strip()


def _recognises(path: Path, head: bytes) -> bool:
    if b"\0" in head:
        return False
    first = head.decode("utf-8-sig", "ignore").partition("\n")[0].lower()
    names = {each.strip().strip('"') for each in first.replace("\t", ",").replace(";", ",").split(",")}
    return not first.lstrip().startswith(("{", "[")) and bool(
        (names & set(NAMES["success"]) and names & set(NAMES["task"])) or path.suffix in (".csv", ".tsv")
    )


CSV = Kind("a table of episodes (CSV with the columns task and success)", _recognises, read)
