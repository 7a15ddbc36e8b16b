"""The log that LIBERO's evaluation scripts print: OpenVLA's, and those made after it (OFT, openpi, starVLA, ...).

    Task suite: libero_goal
    Task: open the top drawer and put the bowl inside
    Starting episode 1...
    Success: True
    # episodes completed so far: 1

LIBERO-plus and LIBERO-PRO are evaluated with the same scripts: the suite's name, or the prompt, says what was changed.
A line may begin with a time and a level, and progress bars may stand between. Episode n starts from stored state n - 1.
An exception in an episode is counted as a failure by the scripts; here it is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.episodes import CONTROL, Outcome
from assay.extensions.interop.formats.reported_names import PLUS_CATEGORIES, Named, named, plus_condition
from assay.extensions.interop.formats.results import Evaluation, Kind, ReportedEpisode
from assay.tasks.formats import ReleaseError, text_of

TOOL = "LIBERO's evaluation log"
PLUS = "libero-plus/"
_SUITE = re.compile(r"\bTask suite: (\S+)")
_TASK = re.compile(r"(?:^|[\s\]:])Task: (.+)")
_NUMBER = re.compile(r"\bStarting episode (\d+)\.\.\.")
_BROKE = re.compile(r"(?:Caught exception|Episode error):? (.+)")
_SUCCESS = re.compile(r"(?:^|[\s\]:])Success: (True|False)\b")
_CHECKPOINT = re.compile(r"(?:pretrained_checkpoint|[Mm]odel(?: name)?)[:=] ?'?([^\s',]+)")


def read(file: Path) -> tuple[Evaluation, ...]:
    """The one evaluation of a log. Raises ReleaseError where it is none."""
    text = text_of(file, most=1_000_000_000)
    suite = (_SUITE.search(text) or _in_name(file.stem) or [None, ""])[1]
    episodes = _with_rewordings(tuple(_episodes(text, str(suite))))
    if not episodes:
        raise ReleaseError(
            f"{file}: no line says 'Success: True' or 'Success: False' after one with 'Task: ...'"
        )
    checkpoint = _CHECKPOINT.search(text)
    return (
        Evaluation(
            TOOL,
            checkpoint[1] if checkpoint else "",
            episodes,
            settings={"suite": suite},
            stored=True,
            remarks=tuple(_remarks(episodes)),
        ),
    )


def _episodes(text: str, suite: str) -> Iterator[ReportedEpisode]:
    prompt, number, broke, total = "", None, "", Counter[tuple[str, str, str]]()
    for line in re.split(r"[\r\n]+", text):
        if found := _TASK.search(line):
            prompt, number, broke = found[1].strip(), None, ""
        elif found := _NUMBER.search(line):
            number, broke = int(found[1]) - 1, ""
        elif found := _BROKE.search(line):
            broke = found[1].strip()
        elif (found := _SUCCESS.search(line)) and prompt:
            which = named(suite, prompt)
            place = (which.task, which.condition, which.variant)
            trial = total[place] if number is None or number < total[place] else number
            total[place] = trial + 1
            yield _episode(which, prompt, trial, found[1] == "True", broke)
            broke = ""


def _episode(which: Named, prompt: str, trial: int, success: bool, broke: str) -> ReportedEpisode:
    outcome = Outcome.SUCCESS if success else Outcome.ERROR if broke else Outcome.FAILURE
    return ReportedEpisode(
        which.task,
        trial,
        outcome,
        condition=which.condition,
        change=which.change,
        variant=which.variant,
        instruction=prompt,
        error="" if success else broke,
        labels=which.labels,
    )


def _with_rewordings(episodes: tuple[ReportedEpisode, ...]) -> tuple[ReportedEpisode, ...]:
    """In a log of LIBERO-plus a prompt that is no task's own is one of its rewordings, which no name tells."""
    if not any(episode.condition.startswith(PLUS) for episode in episodes):
        return episodes
    category, change = PLUS_CATEGORIES["language"]
    return tuple(
        replace(episode, condition=plus_condition(category), change=change, variant=episode.instruction)
        if episode.condition == CONTROL and not _built_in(episode.task)
        else episode
        for episode in episodes
    )


def _remarks(episodes: tuple[ReportedEpisode, ...]) -> Iterator[str]:
    yield "the log has neither steps nor trajectories: it says how often, not how"
    strange = {
        episode.instruction
        for episode in episodes
        if episode.condition == CONTROL and not _built_in(episode.task)
    }
    if strange:
        some = ", ".join(f"'{each}'" for each in sorted(strange)[:3])
        yield (
            f"{len(strange)} prompts are the instruction of no task that is known ({some}): the log does not say which "
            "tasks they are, so each is one of its own"
        )


def _built_in(task: str) -> bool:
    return task in tasks.built_in_ids()


def _in_name(stem: str) -> tuple[str, str] | None:
    """A suite in a file's name: ``EVAL-libero_goal_swap-openvla-2026_01_01``."""
    for part in re.split(r"[-. ]", stem):
        if any(part == suite or part.startswith(f"{suite}_") for suite in tasks.suites()):
            return part, part
    return None


def _recognises(path: Path, head: bytes) -> bool:
    text = head.decode("utf-8", "ignore")
    return bool(_TASK.search(text) and (_SUCCESS.search(text) or _NUMBER.search(text)))


LIBERO_LOG = Kind("a log of LIBERO's evaluation scripts (Task: ... Success: True)", _recognises, read)
