"""Imports results of other evaluations as runs; the format of each file is recognised from its content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import __version__, tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Label, Outcome
from assay.errors import RunError
from assay.extensions.interop.importing.csv_tables import CSV_FORMAT
from assay.extensions.interop.importing.harness_files import HARNESS_FORMATS
from assay.extensions.interop.importing.libero_logs import LOG_FORMAT
from assay.extensions.interop.importing.reported import (
    AXES,
    PLUS_CATEGORIES,
    Evaluation,
    ReportedEpisode,
    ResultFormat,
    normalise,
    plus_condition,
)
from assay.perturb.unavailable import Unavailable
from assay.runs.rows import COLUMNS
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.libero_plus import wordings

LARGEST = 2**63 - 1
"""Largest integer that SQLite stores."""
FORMATS: tuple[ResultFormat, ...] = (*HARNESS_FORMATS, LOG_FORMAT, CSV_FORMAT)
"""Supported formats, in the order in which they are tried."""
EXPERIMENT = "imported"
REWORDED = plus_condition(PLUS_CATEGORIES["language"][0])
"""Condition of LIBERO-plus's rewordings."""
NOT_REPEATABLE = "it was done elsewhere, and its report does not say how to repeat it"
_HEAD_BYTES = 65_536
"""Number of bytes of a file from which its format is recognised."""


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of results, with the condition that the user assigns to it, if any."""

    file: Path
    condition: str = ""
    """Condition assigned to the episodes that the file reports as controls; empty to keep them as controls."""

    @classmethod
    def parse(cls, text: str) -> ResultFile:
        """Parse ``FILE`` or ``CONDITION=FILE``; an existing file whose name contains "=" is taken as the file."""
        condition, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            return cls(Path(text))
        return cls(Path(file), condition.strip())


@dataclass(frozen=True, slots=True)
class ImportedResults:
    """Summary of the imported results of one policy."""

    out: Path
    policy: str
    tools: tuple[str, ...]
    episodes: int
    controls: int
    errors: int
    paths: int
    """Number of episodes with a trajectory."""
    tasks: int
    unpaired: int
    """Number of perturbed episodes without a control of the same task and trial."""
    remarks: tuple[str, ...]


def import_results(
    files: Sequence[ResultFile],
    out: Path,
    *,
    policy: str = "",
    control: str = CONTROL,
    plus: Path | None = None,
) -> Iterator[ImportedResults]:
    """Write the results in some files into new runs, one per policy, and yield a summary of each.

    ``out`` is a run file, NAME.assay, or a folder for several policies. ``policy`` is the name to use if a file has
    none; ``control`` is the files' name for the unperturbed condition; ``plus`` is LIBERO-plus's folder, which maps
    its rewordings to tasks. Raises ReleaseError for an unsupported or invalid file, RunError if a run exists.
    """
    by_policy: dict[str, list[Evaluation]] = {}
    reworded = {} if plus is None else {normalise(wording.text): wording.task for wording in wordings(plus)}

    def resolve(episode: ReportedEpisode, condition: str) -> ReportedEpisode:
        if episode.condition == control:
            episode = replace(episode, condition=CONTROL, change="")
        if episode.condition == CONTROL and condition not in ("", CONTROL):
            episode = replace(episode, condition=condition)
        if episode.condition == REWORDED:
            task = reworded.get(normalise(episode.instruction), episode.task)
            episode = replace(episode, task=task)
        return episode

    for file in files:
        for evaluation in _read(file.file):
            episodes = tuple(resolve(episode, file.condition) for episode in evaluation.episodes)
            by_policy.setdefault(policy or evaluation.policy, []).append(
                replace(evaluation, episodes=episodes)
            )
    if "" in by_policy and len(by_policy) == 2:  # only one of the files names the policy
        unnamed = by_policy.pop("")
        next(iter(by_policy.values())).extend(unnamed)
    outs = run_files([name or "unknown" for name in by_policy], out, "policies")
    for name, evaluations in by_policy.items():
        yield _write(evaluations, name or "unknown", outs[name or "unknown"])


def run_files(names: Iterable[str], out: Path, plural: str) -> dict[str, Path]:
    """Return the run file of each name: ``out``, or a file in the folder ``out``. Raises RunError if it exists."""
    names = list(names)
    if out.suffix == SUFFIX:
        if len(names) > 1:
            listed = ", ".join(names)
            raise RunError(f"{out}: one file cannot hold {len(names)} {plural} ({listed}); valid: a folder")
        outs = dict.fromkeys(names, out)
    else:
        outs = {name: out / f"{name.replace('/', '-')}{SUFFIX}" for name in names}
    for file in outs.values():
        if file.exists():
            raise RunError(f"{file} exists already")
    return outs


def _read(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluations in a file, or in the known result file of a folder. Raises ReleaseError."""
    if file.is_dir():
        candidates = [file / name for name in ("eval_info.json", "episodes.jsonl")]
        candidates += sorted(file.glob("recording-*.sqlite"))
        result_file = next((candidate for candidate in candidates if candidate.is_file()), None)
        if result_file is None:
            raise ReleaseError(
                f"{file}: is a folder without eval_info.json, episodes.jsonl or recording-*.sqlite; valid: a file"
            )
        file = result_file
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise ReleaseError(f"{file}: cannot be read: {error.strerror or error}") from None
    for format in FORMATS:
        if format.recognises(file, head):
            return format.read(file)
    valid = "; ".join(format.name for format in FORMATS)
    raise ReleaseError(f"{file}: is not a supported file of results; valid: {valid}")


def _write(evaluations: list[Evaluation], policy: str, out: Path) -> ImportedResults:
    planned: dict[str, tuple[EpisodeSpec, ReportedEpisode]] = {}
    text_labels = _mixed_labels(
        episode.labels for evaluation in evaluations for episode in evaluation.episodes
    )
    for evaluation in evaluations:
        for episode in evaluation.episodes:
            if not 0 <= episode.trial <= LARGEST:
                raise ReleaseError(f"{episode.task}: trial {episode.trial}; valid: 0 to {LARGEST}")
            spec = _spec(episode, evaluation.stored, text_labels)
            if spec.key in planned:
                raise ReleaseError(
                    f"{episode.condition}: {episode.task}, trial {episode.trial} occurs twice; valid: each episode "
                    "once, files of different conditions as CONDITION=FILE"
                )
            planned[spec.key] = spec, episode
    with replacing(out, suffix=SUFFIX, database=True) as unfinished, Store.writing(unfinished) as store:
        store.plan(spec for spec, _ in planned.values())
        for waiting in store.todo():
            episode = planned[waiting.key][1]
            store.append(
                waiting.number,
                Episode(
                    episode.outcome,
                    episode.steps,
                    episode.trajectory,
                    episode.instruction,
                    seconds=episode.seconds,
                    decisions=episode.decisions,
                    error=episode.error,
                ),
            )
        store.describe(**_metadata(evaluations, policy, len(planned)))
        store.frame()  # raises RunError if a value cannot be decoded
    episodes = [episode for _, episode in planned.values()]
    changed = [episode for episode in episodes if episode.condition != CONTROL]
    starts = {(episode.task, episode.trial) for episode in episodes if episode.condition == CONTROL}
    unpaired = sum((episode.task, episode.trial) not in starts for episode in changed)
    return ImportedResults(
        out=out,
        policy=policy,
        tools=tuple(dict.fromkeys(evaluation.tool for evaluation in evaluations)),
        episodes=len(episodes),
        controls=len(episodes) - len(changed),
        errors=sum(episode.outcome is Outcome.ERROR for episode in episodes),
        paths=sum(len(episode.trajectory.end_effector) > 0 for episode in episodes),
        tasks=len({episode.task for episode in episodes}),
        unpaired=unpaired,
        remarks=tuple(_remarks(evaluations, changed, unpaired, has_controls=bool(starts))),
    )


def _mixed_labels(labels: Iterable[Mapping[str, Label]]) -> set[str]:
    """Return the names of labels whose values are texts in some episodes and not in others."""
    kinds: dict[str, set[bool]] = {}
    for label in labels:
        for name, value in label.items():
            if value is not None:
                kinds.setdefault(name, set()).add(isinstance(value, str))
    return {name for name, is_text in kinds.items() if len(is_text) > 1}


def _spec(episode: ReportedEpisode, stored: bool, text_labels: Collection[str]) -> EpisodeSpec:
    """Return the spec of an episode, whose change is named but cannot be replayed.

    Labels in ``text_labels`` are stored as texts.
    """
    labels: dict[str, Label] = {
        name: str(value) if name in text_labels else value
        for name, value in episode.labels.items()
        if name not in COLUMNS and value is not None
    }
    changed = episode.condition != CONTROL
    if changed:
        change = episode.change or episode.condition
        labels = {"change": change, "plausible": True, **labels}
        if axis := AXES.get(change.partition("+")[0]):
            labels["axis"] = axis
    return EpisodeSpec(
        task=episode.task,
        seed=episode.trial,
        pack="libero" if stored else EXPERIMENT,
        experiment=EXPERIMENT,
        condition=episode.condition,
        perturbations=(Unavailable(NOT_REPEATABLE, episode.variant or episode.condition),) if changed else (),
        initial="stored" if stored else "sampled",
        labels=labels,
    )


def _metadata(evaluations: list[Evaluation], policy: str, count: int) -> dict[str, object]:
    settings: dict[str, object] = {}
    for evaluation in evaluations:
        settings |= {name: value for name, value in evaluation.settings.items() if value not in (None, "")}
    started = dict.fromkeys(evaluation.started for evaluation in evaluations if evaluation.started)
    return {
        "experiment": EXPERIMENT,
        "policy": policy,
        "pack": "libero" if all(evaluation.stored for evaluation in evaluations) else EXPERIMENT,
        "assay": __version__,
        "imported": ", ".join(dict.fromkeys(evaluation.tool for evaluation in evaluations)),
        "started": ", ".join(started),
        "expected": count,
        "settings": settings,
    }


def _remarks(
    evaluations: list[Evaluation], changed: list[ReportedEpisode], unpaired: int, *, has_controls: bool
) -> Iterable[str]:
    """Return the limitations of the imported results, one sentence each."""
    yield from dict.fromkeys(remark for evaluation in evaluations for remark in evaluation.remarks)
    known = tasks.built_in_ids()
    lost = sum(episode.condition == REWORDED and episode.task not in known for episode in changed)
    if lost:
        yield (
            f"the tasks of {lost} rewordings of LIBERO-plus are unknown; pass its checkout with --plus DIR to "
            "resolve them"
        )
    if not changed:
        yield (
            "no episode is perturbed: the report has success rates but no drops; add results of a perturbed "
            "condition as CONDITION=FILE"
        )
    elif not has_controls:
        yield (
            "no episode is a control: the report has success rates but no drops; add results of the unperturbed "
            "tasks as control=FILE"
        )
    elif unpaired:
        yield (
            f"{unpaired} of {len(changed)} perturbed episodes have no control of their task and trial: they count "
            "towards rates but not towards drops"
        )
