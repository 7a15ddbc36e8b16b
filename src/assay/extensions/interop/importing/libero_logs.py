"""Imports logs printed by LIBERO's evaluation scripts: OpenVLA's and its descendants (OFT, openpi, starVLA, ...).

    Task suite: libero_goal
    Task: open the top drawer and put the bowl inside
    Starting episode 1...
    Success: True
    # episodes completed so far: 1

LIBERO-plus and LIBERO-PRO are evaluated with the same scripts; the name of the suite or the prompt identifies the
perturbation. Lines may begin with a time and a log level, and progress bars may come in between. Episode n starts from
stored state n - 1. The scripts count an exception as a failure; the import counts it as an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.episodes import Episode, Outcome, no_trajectory
from assay.extensions.interop.importing.reported import (
    PLUS_CATEGORIES,
    Evaluation,
    ReportedEpisode,
    ResultFormat,
    TaskCondition,
    parse_names,
    plus_condition,
)
from assay.tasks.formats import ReleaseError, text_of

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
    if any(reported.name.condition.startswith("libero-plus/") for reported in episodes):
        category, change = PLUS_CATEGORIES["language"]  # its rewordings have no suffix
        for place, reported in enumerate(episodes):
            if _is_unknown_control(reported):
                task, prompt = reported.name.task, reported.episode.instruction
                name = TaskCondition(task, plus_condition(category), change, prompt)
                episodes[place] = replace(reported, name=name)
    if not episodes:
        raise ReleaseError(f"{file}: no line 'Success: True' or 'Success: False' after a line 'Task: ...'")
    remarks = ["the log has no steps or trajectories, so only success rates are reported"]
    if unknown := sorted(
        {reported.episode.instruction for reported in filter(_is_unknown_control, episodes)}
    ):
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
            name = parse_names(suite, prompt)
            group = (name.task, name.condition, name.variant)
            trial = counts[group] if number is None or number < counts[group] else number
            counts[group] = trial + 1
            success = match[1] == "True"
            outcome = Outcome.SUCCESS if success else Outcome.ERROR if error else Outcome.FAILURE
            record = Episode(outcome, 0, no_trajectory(), prompt, error="" if success else error)
            yield ReportedEpisode(name, trial, record)
            error = ""


def _is_unknown_control(reported: ReportedEpisode) -> bool:
    """Return whether a prompt has no perturbation suffix and is not the instruction of a built-in task."""
    return reported.is_control and reported.name.task not in tasks.built_in_ids()


def _is_log(path: Path, head: bytes) -> bool:
    text = head.decode("utf-8", "ignore")
    return bool(_TASK.search(text) and (_SUCCESS.search(text) or _NUMBER.search(text)))


LOG_FORMAT = ResultFormat("log of LIBERO's evaluation scripts (Task: ... Success: True)", _is_log, read_log)
