"""Imports results of other evaluations as runs; the format of each file is recognised from its content."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay import __version__, tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Label, Outcome
from assay.errors import RunError
from assay.extensions.interop.importing import reported
from assay.extensions.interop.importing.harness_files import HARNESS_FORMATS
from assay.extensions.interop.importing.reported import Evaluation, ReportedEpisode, ResultFormat
from assay.extensions.interop.importing.text_files import CSV_FORMAT, LOG_FORMAT
from assay.perturb.unavailable import Unavailable
from assay.runs.rows import COLUMNS
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.libero_plus import wordings

LARGEST = 2**63 - 1
"""Largest integer that SQLite can store."""
FORMATS: tuple[ResultFormat, ...] = (*HARNESS_FORMATS, LOG_FORMAT, CSV_FORMAT)
"""Supported formats, in the order in which they are tried."""
EXPERIMENT = "imported"
REWORDED = reported.plus_condition(reported.PLUS_CATEGORIES["language"][0])
"""Name of the condition for LIBERO-plus's rewordings."""
NOT_REPEATABLE = "it was run with another tool, whose results do not describe the perturbation"
_HEAD_BYTES = 65_536
"""Number of leading bytes from which a file's format is recognised."""


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A result file and the condition that the user assigns to it, if any."""

    file: Path
    condition: str = ""
    """Condition assigned to the episodes that the file reports as controls; empty to keep them as controls."""

    @classmethod
    def parse(cls, text: str) -> ResultFile:
        """Parse ``FILE`` or ``CONDITION=FILE``; an existing file whose name contains "=" is treated as ``FILE``."""
        condition, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            return cls(Path(text))
        return cls(Path(file), condition.strip())


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """Summary of an imported run."""

    out: Path
    policy: str
    tool: str
    """Names of the programs that wrote the result files."""
    episodes: int
    controls: int
    errors: int
    paths: int
    """Number of episodes with a trajectory."""
    tasks: int
    remarks: tuple[str, ...]
    """Limitations of the results, one sentence each."""


def write_run(
    out: Path,
    batches: Iterable[Sequence[tuple[EpisodeSpec, Episode]]],
    describe: Callable[[], tuple[dict[str, Any], Iterable[str]]],
) -> ImportedRun:
    """Write batches of episodes to a new run.

    ``describe`` is called after the last batch and returns the run's metadata and remarks about missing data.
    """
    counts, tasks_run = dict.fromkeys(("episodes", "controls", "errors", "paths"), 0), set[str]()
    with replacing(out, suffix=SUFFIX, database=True) as unfinished, Store.writing(unfinished) as store:
        for batch in batches:
            store.plan(spec for spec, _ in batch)
            numbers = {waiting.key: waiting.number for waiting in store.todo()}
            for spec, episode in batch:
                store.append(numbers[spec.key], episode)
                tasks_run.add(spec.task)
                counts["episodes"] += 1
                counts["controls"] += spec.condition == CONTROL
                counts["errors"] += episode.outcome is Outcome.ERROR
                counts["paths"] += len(episode.trajectory.end_effector) > 0
        metadata, remarks = describe()
        store.describe(assay=__version__, **metadata)
    return ImportedRun(
        out, metadata["policy"], metadata["imported"], **counts, tasks=len(tasks_run), remarks=tuple(remarks)
    )


def import_results(
    files: Sequence[ResultFile],
    out: Path,
    *,
    policy: str = "",
    control: str = CONTROL,
    plus: Path | None = None,
) -> Iterator[ImportedRun]:
    """Import result files as new runs, one per policy, and yield a summary of each run.

    ``out`` is a run file, NAME.assay, or a folder for several policies. ``policy`` is the policy name to use if a
    file contains none; ``control`` is the name of the unperturbed condition in the files; ``plus`` is
    LIBERO-plus's folder, which maps its rewordings to tasks. Raises ReleaseError for an unsupported or invalid
    file, and RunError if a run exists.
    """
    by_policy: dict[str, list[Evaluation]] = {}
    reworded = (
        {} if plus is None else {reported.normalise(wording.text): wording.task for wording in wordings(plus)}
    )

    def resolve(result: ReportedEpisode, condition: str) -> ReportedEpisode:
        name = result.name
        if name.condition == control:
            name = replace(name, condition=CONTROL, change="")
        if name.condition == CONTROL and condition:
            name = replace(name, condition=condition)
        if name.condition == REWORDED:
            name = replace(name, task=reworded.get(reported.normalise(result.episode.instruction), name.task))
        return replace(result, name=name)

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
    """Return each name's run file: ``out``, or a file in the folder ``out``. Raises RunError if one exists."""
    names = list(names)
    if out.suffix == SUFFIX:
        if len(names) > 1:
            listed = ", ".join(names)
            raise RunError(f"{out}: one file cannot contain {len(names)} {plural} ({listed}); pass a folder")
        outs = dict.fromkeys(names, out)
    else:
        outs = {name: out / f"{name.replace('/', '-')}{SUFFIX}" for name in names}
    for file in outs.values():
        if file.exists():
            raise RunError(f"{file} already exists")
    return outs


def _read(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluations in a file, or in the result file that a folder contains. Raises ReleaseError."""
    if file.is_dir():
        candidates = [file / name for name in ("eval_info.json", "episodes.jsonl")]
        candidates += sorted(file.glob("recording-*.sqlite"))
        result_file = next((candidate for candidate in candidates if candidate.is_file()), None)
        if result_file is None:
            raise ReleaseError(
                f"{file}: the folder contains no eval_info.json, episodes.jsonl or recording-*.sqlite; pass a file"
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
    formats = "; ".join(format.name for format in FORMATS)
    raise ReleaseError(f"{file}: not a supported result file; expected one of: {formats}")


def _write(evaluations: list[Evaluation], policy: str, out: Path) -> ImportedRun:
    pairs = [(evaluation, episode) for evaluation in evaluations for episode in evaluation.episodes]
    label_types: dict[str, set[bool]] = {}
    for _, episode in pairs:
        for label, value in episode.name.labels.items():
            if value is not None:
                label_types.setdefault(label, set()).add(isinstance(value, str))
    mixed = {label for label, types in label_types.items() if len(types) > 1}  # stored as texts
    planned: dict[str, tuple[EpisodeSpec, Episode]] = {}
    for evaluation, episode in pairs:
        task, condition = episode.name.task, episode.name.condition
        if not 0 <= episode.trial <= LARGEST:
            raise ReleaseError(f"{task}: trial {episode.trial}; expected 0 to {LARGEST}")
        spec = _spec(episode, evaluation.stored, mixed)
        try:
            key = spec.key
        except UnicodeEncodeError:
            raise ReleaseError(f"{condition!a}: {task!a}: the names are not valid Unicode") from None
        if key in planned:
            raise ReleaseError(
                f"{condition}: {task}, trial {episode.trial} occurs twice; pass files of different conditions as "
                "CONDITION=FILE"
            )
        planned[key] = spec, episode.episode
    settings: dict[str, object] = {}
    for evaluation in evaluations:
        settings |= {name: value for name, value in evaluation.settings.items() if value not in (None, "")}
    metadata = {
        "experiment": EXPERIMENT,
        "policy": policy,
        "pack": "libero" if all(evaluation.stored for evaluation in evaluations) else EXPERIMENT,
        "imported": ", ".join(dict.fromkeys(evaluation.tool for evaluation in evaluations)),
        "started": "",
        "expected": len(planned),
        "settings": settings,
    }
    remarks = dict.fromkeys(remark for evaluation in evaluations for remark in evaluation.remarks)
    missing = _missing_parts([episode for _, episode in pairs])
    return write_run(out, [list(planned.values())], lambda: (metadata, (*remarks, *missing)))


def _spec(result: ReportedEpisode, stored: bool, text_labels: Collection[str]) -> EpisodeSpec:
    """Return the spec of an episode, with a placeholder for its perturbation, which cannot be replayed.

    Labels in ``text_labels`` are stored as text.
    """
    name = result.name
    labels: dict[str, Label] = {
        label: str(value) if label in text_labels else value
        for label, value in name.labels.items()
        if label not in COLUMNS and value is not None
    }
    perturbations: tuple[Unavailable, ...] = ()
    if not result.is_control:
        change = name.change or name.condition
        labels = {"change": change, "plausible": True, **labels}
        if axis := reported.AXES.get(change.partition("+")[0]):
            labels["axis"] = axis
        perturbations = (Unavailable(NOT_REPEATABLE, name.variant or name.condition),)
    return EpisodeSpec(
        task=name.task,
        seed=result.trial,
        pack="libero" if stored else EXPERIMENT,
        experiment=EXPERIMENT,
        condition=name.condition,
        perturbations=perturbations,
        initial="stored" if stored else "sampled",
        labels=labels,
    )


def _missing_parts(episodes: Sequence[ReportedEpisode]) -> Iterator[str]:
    """Yield one sentence for each comparison that is impossible with the imported episodes."""
    changed = [episode for episode in episodes if not episode.is_control]
    starts = {(episode.name.task, episode.trial) for episode in episodes if episode.is_control}
    unpaired = sum((episode.name.task, episode.trial) not in starts for episode in changed)
    known = tasks.built_in_ids()
    lost = sum(episode.name.condition == REWORDED and episode.name.task not in known for episode in changed)
    if lost:
        yield f"the tasks of {lost} LIBERO-plus rewordings are unknown; pass a checkout with --plus DIR"
    only_rates = "the report has success rates but no drops"
    if not changed:
        yield f"no episode is perturbed: {only_rates}; add perturbed results as CONDITION=FILE"
    elif not starts:
        yield f"no episode is a control: {only_rates}; add unperturbed results as control=FILE"
    elif unpaired:
        yield (
            f"{unpaired} of {len(changed)} perturbed episodes have no control with the same task and trial, so they "
            "count towards rates but not towards drops"
        )
