"""Other people's results as runs: whatever file they are in, known by its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import __version__, tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Label, Outcome
from assay.errors import RunError
from assay.extensions.interop.formats.lerobot_eval import LEROBOT
from assay.extensions.interop.formats.libero_logs import LIBERO_LOG
from assay.extensions.interop.formats.libero_pro_episodes import LIBERO_PRO
from assay.extensions.interop.formats.reported_names import PLUS_CATEGORIES, plus_condition
from assay.extensions.interop.formats.results import AXES, Evaluation, Kind, ReportedEpisode, said
from assay.extensions.interop.formats.results_csv import CSV
from assay.extensions.interop.formats.vla_eval import VLA_EVAL
from assay.perturb.releases.values import Unavailable
from assay.runs.rows import COLUMNS, mixed_labels
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing
from assay.tasks.formats.libero_plus import wordings
from assay.tasks.formats.release import ReleaseError

LARGEST = 2**63 - 1
"""The largest integer that SQLite stores."""
KINDS: tuple[Kind, ...] = (VLA_EVAL, LEROBOT, LIBERO_PRO, LIBERO_LOG, CSV)
"""Every kind of file that is read, in the order in which they are tried."""
EXPERIMENT = "imported"
REWORDED = plus_condition(PLUS_CATEGORIES["language"][0])
"""The condition of LIBERO-plus's rewordings."""
ELSEWHERE = "it was done elsewhere, and its report does not say how to repeat it"
_HEAD = 65_536
"""Bytes of a file by which its kind is known."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of results, and what its episodes are, where somebody says so."""

    file: Path
    condition: str = ""
    """The condition of those episodes that the file itself has as controls; empty where it says it all."""

    @classmethod
    def parse(cls, text: str) -> Source:
        """``FILE`` or ``CONDITION=FILE``; a file whose own name has an = is that file."""
        condition, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            return cls(Path(text))
        return cls(Path(file), condition.strip())


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the results of one policy."""

    out: Path
    policy: str
    tools: tuple[str, ...]
    episodes: int
    controls: int
    errors: int
    paths: int
    """Episodes with a trajectory."""
    tasks: int
    unpaired: int
    """Changed episodes without a control of the same task and trial."""
    remarks: tuple[str, ...]


def import_results(
    sources: Sequence[Source],
    out: Path,
    *,
    policy: str = "",
    control: str = CONTROL,
    plus: Path | None = None,
) -> Iterator[Imported]:
    """Write the results in some files into new runs, one for each policy; yields what became of each.

    ``out`` is a run's file, NAME.assay, or a folder for several policies. ``policy`` names who acted where no file
    does; ``control`` is what the files call the condition in which nothing is changed; ``plus`` is LIBERO-plus's
    folder, which says of which task each of its rewordings is. Raises ReleaseError where a file is none that is read,
    RunError where a run is there already.
    """
    found: dict[str, list[Evaluation]] = {}
    reworded = {} if plus is None else {said(wording.text): wording.task for wording in wordings(plus)}
    for source in sources:
        for evaluation in _read(source.file):
            told = _placed(_conditioned(evaluation, source.condition, control), reworded)
            found.setdefault(policy or evaluation.policy, []).append(told)
    if "" in found and len(found) == 2:  # who acted is said in one file, and the others are beside it
        unnamed = found.pop("")
        next(iter(found.values())).extend(unnamed)
    for name, file in _outs(found, out).items():
        yield _write(found[name], name or "unknown", file)


def _read(file: Path) -> tuple[Evaluation, ...]:
    """The evaluations of a file. Raises ReleaseError where it is of no kind that is read."""
    if file.is_dir():
        candidates = [file / name for name in ("eval_info.json", "episodes.jsonl")]
        candidates += sorted(file.glob("recording-*.sqlite"))
        inside = next((candidate for candidate in candidates if candidate.is_file()), None)
        if inside is None:
            raise ReleaseError(
                f"{file}: is a folder without eval_info.json, episodes.jsonl or recording-*.sqlite; valid: a file"
            )
        file = inside
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise ReleaseError(f"{file}: cannot be read: {error.strerror or error}") from None
    for kind in KINDS:
        if kind.recognises(file, head):
            return kind.read(file)
    valid = "; ".join(kind.name for kind in KINDS)
    raise ReleaseError(f"{file}: is no file of results that is known; valid: {valid}")


def _conditioned(evaluation: Evaluation, condition: str, control: str) -> Evaluation:
    """An evaluation whose controls are called so, or are put under the condition that somebody says they are."""

    def told(episode: ReportedEpisode) -> ReportedEpisode:
        if episode.condition == control:
            episode = replace(episode, condition=CONTROL, change="")
        if episode.condition == CONTROL and condition not in ("", CONTROL):
            return replace(episode, condition=condition)
        return episode

    return replace(evaluation, episodes=tuple(told(episode) for episode in evaluation.episodes))


def _placed(evaluation: Evaluation, reworded: Mapping[str, str]) -> Evaluation:
    """An evaluation in which LIBERO-plus's rewordings, prompt -> task, are known by their task."""
    if not reworded:
        return evaluation
    placed = (
        replace(episode, task=reworded.get(said(episode.instruction), episode.task))
        if episode.condition == REWORDED
        else episode
        for episode in evaluation.episodes
    )
    return replace(evaluation, episodes=tuple(placed))


def _outs(found: Mapping[str, object], out: Path) -> dict[str, Path]:
    """The run's file of each policy."""
    if out.suffix == SUFFIX:
        if len(found) > 1:
            names = ", ".join(sorted(each or "(unnamed)" for each in found))
            raise RunError(
                f"{out}: one file cannot hold {len(found)} policies ({names}); valid: a folder, or --policy NAME"
            )
        outs = dict.fromkeys(found, out)
    else:
        outs = {name: out / f"{(name or 'unknown').replace('/', '-')}{SUFFIX}" for name in found}
    for each in outs.values():
        if each.exists():
            raise RunError(f"{each} exists already")
    return outs


def _write(evaluations: list[Evaluation], policy: str, out: Path) -> Imported:
    planned: dict[str, tuple[EpisodeSpec, ReportedEpisode]] = {}
    told = mixed_labels(episode.labels for evaluation in evaluations for episode in evaluation.episodes)
    for evaluation in evaluations:
        for episode in evaluation.episodes:
            if not 0 <= episode.trial <= LARGEST:
                raise ReleaseError(f"{episode.task}: trial {episode.trial}; valid: 0 to {LARGEST}")
            spec = _spec(episode, evaluation.stored, told)
            if spec.key in planned:
                raise ReleaseError(
                    f"{episode.condition}: {episode.task}, trial {episode.trial} is there twice; valid: each "
                    "episode once, files of different conditions as CONDITION=FILE"
                )
            planned[spec.key] = spec, episode
    with replacing(out, suffix=SUFFIX, database=True) as unfinished, Store.writing(unfinished) as store:
        store.plan(spec for spec, _ in planned.values())
        for waiting in store.todo():
            store.append(waiting.number, _episode(planned[waiting.key][1]))
        store.describe(**_about(evaluations, policy, len(planned)))
        store.frame()  # raises RunError if a value cannot be decoded
    episodes = [episode for _, episode in planned.values()]
    starts = {(episode.task, episode.trial) for episode in episodes if episode.condition == CONTROL}
    counts = Counter(episode.condition == CONTROL for episode in episodes)
    return Imported(
        out=out,
        policy=policy,
        tools=tuple(dict.fromkeys(evaluation.tool for evaluation in evaluations)),
        episodes=len(episodes),
        controls=counts[True],
        errors=sum(episode.outcome is Outcome.ERROR for episode in episodes),
        paths=sum(len(episode.trajectory.end_effector) > 0 for episode in episodes),
        tasks=len({episode.task for episode in episodes}),
        unpaired=sum(
            episode.condition != CONTROL and (episode.task, episode.trial) not in starts
            for episode in episodes
        ),
        remarks=tuple(_remarks(evaluations, episodes, counts[True], starts)),
    )


def _spec(episode: ReportedEpisode, stored: bool, texts: Collection[str]) -> EpisodeSpec:
    """What an episode is known by. What was changed is named, and cannot be repeated; labels in ``texts`` are texts."""
    labels: dict[str, Label] = {
        name: str(value) if name in texts else value
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
        perturbations=(Unavailable(ELSEWHERE, episode.variant or episode.condition),) if changed else (),
        initial="stored" if stored else "sampled",
        labels=labels,
    )


def _episode(told: ReportedEpisode) -> Episode:
    return Episode(
        told.outcome,
        told.steps,
        told.trajectory,
        told.instruction,
        seconds=told.seconds,
        decisions=told.decisions,
        error=told.error,
    )


def _about(evaluations: list[Evaluation], policy: str, count: int) -> dict[str, object]:
    settings: dict[str, object] = {}
    for evaluation in evaluations:
        settings |= {name: value for name, value in evaluation.settings.items() if value not in (None, "")}
    tools = ", ".join(dict.fromkeys(evaluation.tool for evaluation in evaluations))
    started = ", ".join(dict.fromkeys(evaluation.started for evaluation in evaluations if evaluation.started))
    return {
        "experiment": EXPERIMENT,
        "policy": policy,
        "pack": "libero" if all(evaluation.stored for evaluation in evaluations) else EXPERIMENT,
        "assay": __version__,
        "imported": tools,
        "started": started,
        "expected": count,
        "settings": settings,
    }


def _remarks(
    evaluations: list[Evaluation],
    episodes: list[ReportedEpisode],
    controls: int,
    starts: set[tuple[str, int]],
) -> Iterable[str]:
    """What the results do not allow to say, a sentence each."""
    yield from dict.fromkeys(remark for evaluation in evaluations for remark in evaluation.remarks)
    changed = [episode for episode in episodes if episode.condition != CONTROL]
    lost = sum(each.condition == REWORDED and each.task not in tasks.built_in_ids() for each in changed)
    if lost:
        yield f"{lost} rewordings of LIBERO-plus are of tasks that no file names; --plus DIR, its checkout, says which"
    if not changed:
        yield (
            "nothing is changed in any episode: there are success rates, and no cost of a change; "
            "CONDITION=FILE adds results of a changed condition"
        )
    elif not controls:
        yield (
            "no episode is a control: there are success rates, and no cost of a change; "
            "control=FILE adds results of the unchanged tasks"
        )
    else:
        alone = sum((each.task, each.trial) not in starts for each in changed)
        if alone:
            yield (
                f"{alone} of {len(changed)} changed episodes have no control of their task and trial: "
                "they count for rates, not for the cost of a change"
            )
