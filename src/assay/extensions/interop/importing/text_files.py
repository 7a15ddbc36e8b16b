"""Imports text files: logs printed by LIBERO's evaluation scripts, and CSV tables.

Logs of OpenVLA's script and its descendants (OFT, openpi, starVLA, ...)::

    Task suite: libero_goal
    Task: open the top drawer and put the bowl inside
    Starting episode 1...
    Success: True
    # episodes completed so far: 1

LIBERO-plus and LIBERO-PRO are evaluated with the same scripts; the name of the suite or the prompt identifies the
perturbation. Lines may begin with a time and a log level, and progress bars may appear between them. Episode n
starts from stored state n - 1. The scripts count an exception as a failure; the import counts it as an error.

CSV tables have one row per episode::

    task,seed,condition,success,steps,instruction
    libero_goal/3,0,control,true,142,open the top drawer and put the bowl inside
    libero_goal/3,0,position,false,300,open the top drawer and put the bowl inside

``task`` and ``success`` are required. Unknown columns are stored as labels.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.episodes import CONTROL, Episode, Outcome, no_trajectory
from assay.extensions.interop.importing import reported
from assay.extensions.interop.importing.reported import Evaluation, ReportedEpisode, TaskCondition
from assay.tasks.formats import Label, ReleaseError, text_of

MAX_BYTES = 1_000_000_000
_SUITE = re.compile(r"\bTask suite: (\S+)")
_TASK = re.compile(r"(?:^|[\s\]:])Task: (.+)")
_NUMBER = re.compile(r"\bStarting episode (\d+)\.\.\.")
_EXCEPTION = re.compile(r"(?:Caught exception|Episode error):? (.+)")
_SUCCESS = re.compile(r"(?:^|[\s\]:])Success: (True|False)\b")
_CHECKPOINT = re.compile(r"(?:pretrained_checkpoint|[Mm]odel(?: name)?)[:=] ?'?([^\s',]+)")


def read_log(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluation in a log. Raises ReleaseError if the log contains no episodes."""
    text = text_of(file, most=MAX_BYTES)
    if match := _SUITE.search(text):
        suite = match[1]
    else:  # in a file name such as EVAL-libero_goal_swap-openvla-2026_01_01
        parts = re.split(r"[-. ]", file.stem)
        suite = next((part for part in parts if re.match(rf"({'|'.join(tasks.suites())})(_|$)", part)), "")
    episodes = list(_episodes(text, suite))
    if any(result.name.condition.startswith("libero-plus/") for result in episodes):
        category, change = reported.PLUS_CATEGORIES["language"]  # its rewordings have no suffix
        for place, result in enumerate(episodes):
            if _is_unknown_control(result):
                task, prompt = result.name.task, result.episode.instruction
                name = TaskCondition(task, reported.plus_condition(category), change, prompt)
                episodes[place] = replace(result, name=name)
    if not episodes:
        raise ReleaseError(f"{file}: no line 'Success: True' or 'Success: False' after a line 'Task: ...'")
    remarks = ["the log has no steps or trajectories, so only success rates are reported"]
    if unknown := sorted({result.episode.instruction for result in filter(_is_unknown_control, episodes)}):
        examples = ", ".join(f"'{prompt}'" for prompt in unknown[:3])
        remarks.append(
            f"{len(unknown)} prompts match no built-in task ({examples}), so each is treated as a separate task"
        )
    checkpoint = _CHECKPOINT.search(text)
    return (
        Evaluation(
            "LIBERO's evaluation log",
            checkpoint[1] if checkpoint else "",
            tuple(episodes),
            settings={"suite": suite},
            stored=True,
            remarks=tuple(remarks),
        ),
    )


def _episodes(text: str, suite: str) -> Iterator[ReportedEpisode]:
    prompt, number, error, counts = "", None, "", Counter[tuple[str, str, str]]()
    for line in re.split(r"[\r\n]+", text):
        if match := _TASK.search(line):
            prompt, number, error = match[1].strip(), None, ""
        elif match := _NUMBER.search(line):
            number, error = int(match[1]) - 1, ""
        elif match := _EXCEPTION.search(line):
            error = match[1].strip()
        elif (match := _SUCCESS.search(line)) and prompt:
            name = reported.parse_names(suite, prompt)
            group = (name.task, name.condition, name.variant)
            trial = counts[group] if number is None or number < counts[group] else number
            counts[group] = trial + 1
            success = match[1] == "True"
            outcome = Outcome.SUCCESS if success else Outcome.ERROR if error else Outcome.FAILURE
            record = Episode(outcome, 0, no_trajectory(), prompt, error="" if success else error)
            yield ReportedEpisode(name, trial, record)
            error = ""


def _is_unknown_control(result: ReportedEpisode) -> bool:
    """Return whether a prompt has no perturbation suffix and is not the instruction of a built-in task."""
    return result.is_control and result.name.task not in tasks.built_in_ids()


def _is_log(path: Path, head: bytes) -> bool:
    text = head.decode("utf-8", "ignore")
    return bool(_TASK.search(text) and (_SUCCESS.search(text) or _NUMBER.search(text)))


LOG_FORMAT = reported.ResultFormat(
    "log of LIBERO's evaluation scripts (Task: ... Success: True)", _is_log, read_log
)


COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
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
"""Meaning of a column -> accepted column names, in order of preference; error messages show the first name."""
REQUIRED = ("task", "success")
NO_SEED_REMARK = (
    "no seed column: the n-th episode of a task is assumed to have the same initial state in all conditions"
)


def read_table(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluations in a table, one per policy. Raises ReleaseError, with the line, for an invalid row."""
    text = text_of(file)
    delimiter = max(",\t;", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    by_policy: dict[str, list[ReportedEpisode]] = {}
    trials: Counter[tuple[str, str, str]] = Counter()
    lines: dict[tuple[object, ...], int] = {}
    try:
        lower = {name.strip().lower(): name for name in reader.fieldnames or ()}
        columns = {
            meaning: next(lower[candidate] for candidate in candidates if candidate in lower)
            for meaning, candidates in COLUMN_NAMES.items()
            if not lower.keys().isdisjoint(candidates)
        }
        for required in REQUIRED:
            if required not in columns:
                documented = ", ".join(candidates[0] for candidates in COLUMN_NAMES.values())
                raise ReleaseError(f"{file}: no column '{required}'; supported columns: {documented}")
        for row in reader:
            place = f"{file}: line {reader.line_num}"
            if None in row or None in row.values():
                raise ReleaseError(
                    f"{place}: the number of fields differs from the number of columns in the header"
                )
            cells = {name: row[column].strip() for name, column in columns.items()}
            policy = cells.get("policy", "")
            labels: dict[str, Label] = {
                name: _parse_label(value)
                for name, value in row.items()
                if name not in columns.values() and value.strip()
            }
            episode = _episode(cells, labels, trials, place)
            name = episode.name
            key = (policy, name.condition, name.task, episode.trial, name.variant)
            if key in lines:
                raise ReleaseError(
                    f"{place}: the same episode as on line {lines[key]} (task, seed, condition and instruction); add a "
                    "column 'seed', 'trial' or 'variant' to distinguish them"
                )
            lines[key] = reader.line_num
            by_policy.setdefault(policy, []).append(episode)
    except csv.Error as error:
        raise ReleaseError(f"{file}: not a CSV table: {error}") from None
    if not by_policy:
        raise ReleaseError(f"{file} contains no episodes")
    remarks = () if "trial" in columns else (NO_SEED_REMARK,)
    return tuple(
        Evaluation("CSV", policy, tuple(episodes), remarks=remarks) for policy, episodes in by_policy.items()
    )


def _episode(
    cells: Mapping[str, str],
    labels: dict[str, Label],
    trials: Counter[tuple[str, str, str]],
    place: str,
) -> ReportedEpisode:
    """Return the episode described by a row. ``trials`` counts the episodes of each policy, condition and task."""
    suite, name = cells.get("suite", ""), cells["task"]
    task = reported.find_task(name, suite) or "/".join(part for part in (suite, name) if part)
    if not task:
        raise ReleaseError(f"{place}: the task is missing")
    condition = cells.get("condition") or CONTROL
    group = (cells.get("policy", ""), condition, task)
    trial = _parse_int(cells["trial"], "seed", place) if "trial" in cells else trials[group]
    trials[group] += 1
    if "plausible" in cells:
        labels["plausible"] = reported.parse_outcome(cells["plausible"] or True, place) is Outcome.SUCCESS
    outcome = reported.parse_outcome(cells["success"], place)
    instruction = cells.get("instruction", "")
    variant = cells.get("variant") or instruction
    return ReportedEpisode(
        TaskCondition(task, condition, cells.get("change", ""), variant, labels),
        trial,
        Episode(
            outcome,
            _parse_int(cells.get("steps") or "0", "steps", place),
            no_trajectory(),
            instruction,
            seconds=_parse_number(cells.get("seconds") or "0", "seconds", place),
            error=cells.get("error", "") or ("error" if outcome is Outcome.ERROR else ""),
        ),
    )


def _parse_int(text: str, name: str, place: str) -> int:
    value = _parse_number(text, name, place)
    if value != int(value):
        raise ReleaseError(f"{place}: {name} is '{text[:40]}'; expected an integer")
    return int(value)


def _parse_number(text: str, name: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ReleaseError(f"{place}: {name} is '{text[:40]}'; expected a number >= 0")
    return value


def _parse_label(text: str) -> Label:
    """Return the text as a number if possible, otherwise unchanged."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    return text.strip()


def _is_table(path: Path, head: bytes) -> bool:
    first = head.decode("utf-8-sig", "ignore").partition("\n")[0].lower()
    if b"\0" in head or first.lstrip().startswith(("{", "[")):
        return False
    names = {name.strip().strip('"') for name in first.replace("\t", ",").replace(";", ",").split(",")}
    has_required = all(names & set(COLUMN_NAMES[required]) for required in REQUIRED)
    return has_required or path.suffix in (".csv", ".tsv")


CSV_FORMAT = reported.ResultFormat(
    "table of episodes (CSV with the columns task and success)", _is_table, read_table
)
