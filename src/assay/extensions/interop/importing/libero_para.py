"""LIBERO-Para's official logs as runs, so that published results get the same report as our own.

Trajectories are kept where a log has them. Episodes of ``--mode original`` become the controls, each that of the
paraphrases of its task and seed. What objects did is in no log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay import __version__, tasks
from assay.episodes.episode import Episode, Outcome
from assay.episodes.spec import CONTROL, EpisodeSpec, Label
from assay.errors import RunError
from assay.extensions.interop.formats.libero_para_logs import (
    UNKNOWN,
    Log,
    Logged,
    Settings,
    models,
    read_logs,
)
from assay.perturb import Say
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.cells import Cell, cell_of
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing
from assay.tasks.formats.libero_para import SUITE, Paraphrase, Types, read_metadata
from assay.tasks.formats.release import ReleaseError, task_of_file

EXPERIMENT = "para"

Key = tuple[Types, int, int]
"""A wording: its types, its task's number (eval) and its number within both."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the logs of one model."""

    out: Path
    episodes: int
    controls: int
    """Of them, those of ``--mode original``."""
    reworded: int
    """Controls that were told other words than LIBERO's own instruction of the task."""
    paths: int
    """Episodes with a trajectory."""
    seeds: tuple[int, ...]
    unscored: int
    """Episodes whose wording the metadata lacks; they have no similarities, so PRIDE leaves them out."""
    unknown: int
    """Episodes left out, because the metadata does not say what their task is."""
    unrun: int
    """Wordings of the metadata that no log has."""
    expected: int
    """Episodes that the logs are of, by their own account."""


def import_libero_para(folder: Path, metadata: Path, out: Path, controls: Path | None = None) -> Imported:
    """Write the logs of one model (``seed*/eval*.json``) into a new run, NAME.assay.

    ``controls`` holds logs of ``--mode original``, which may as well lie among the others. Raises ReleaseError
    where a log or the metadata are not such, RunError where the run is there already.
    """
    (done,) = import_models([folder], metadata, out, controls)
    return done


def import_models(
    folders: Iterable[Path], metadata: Path, out: Path, controls: Path | None = None
) -> Iterator[Imported]:
    """Write the logs of models into new runs, one after the other; yields what became of each.

    Each of ``folders`` holds a model's logs or is a folder of such. ``out`` is a run's file, if there is one model,
    or a folder for runs called as the models' folders. ``controls`` is of the one model, or a folder of folders
    called as the models'. Raises as `import_libero_para` does.
    """
    found = _models(folders)
    beside = _controls(found, controls)
    outs = _outs(found, out)
    wordings = _Wordings.read(metadata)
    for name, folder in found.items():
        yield _import(folder, beside.get(name), wordings, outs[name])


@dataclass(frozen=True, slots=True)
class _Wordings:
    """The metadata."""

    known: dict[Key, Paraphrase]
    homes: dict[int, str]
    """The number of each task -> its id."""

    @classmethod
    def read(cls, file: Path) -> _Wordings:
        rows = read_metadata(file)
        return cls({(row.types, row.eval, row.batch_idx): row for row in rows}, _homes(rows, file))


@dataclass(slots=True)
class _Progress:
    """What has been met in the logs of a model so far."""

    episodes: int = 0
    controls: int = 0
    reworded: int = 0
    paths: int = 0
    unscored: int = 0
    unknown: int = 0
    seeds: set[int] = field(default_factory=set)
    met: set[Key] = field(default_factory=set)
    """Wordings of the metadata."""
    logged: set[tuple[int, Key]] = field(default_factory=set)
    """Seeds and wordings of episodes."""
    said: Counter[tuple[str, int, Types, str]] = field(default_factory=Counter)
    """Task, seed, types and wording -> how often."""
    original: set[tuple[str, int]] = field(default_factory=set)
    """Tasks and seeds that have a control."""
    evaluations: dict[Path, tuple[int, Settings]] = field(default_factory=dict)
    """Folder -> seed and settings."""


def _import(folder: Path, controls: Path | None, wordings: _Wordings, out: Path) -> Imported:
    """One model's logs, one after the other: memory is that of the largest."""
    done = _Progress()
    with replacing(out, suffix=SUFFIX, database=True) as unfinished, Store.writing(unfinished) as store:
        for source in (folder, *((controls,) if controls is not None else ())):
            for file, seed, settings, log in read_logs(source):
                if source == controls and not all(episode.is_original for episode in log.episodes):
                    raise ReleaseError(f"{file}: has paraphrases; valid: a log of --mode original")
                _refuse_another_model(done, settings, file)
                done.evaluations[file.parent] = seed, settings
                _append(store, list(_specs(file, seed, settings, log, wordings, done)), file, done)
        if not done.episodes:
            raise RunError(
                f"{folder}: the metadata does not say what the task of any of its {done.unknown} episodes is"
            )
        told = sum(each.total_tasks for _, each in done.evaluations.values())
        expected = max(told, done.episodes + done.unknown)
        store.describe(**_about(done, folder, expected))
    return Imported(
        out=out,
        episodes=done.episodes,
        controls=done.controls,
        reworded=done.reworded,
        paths=done.paths,
        seeds=tuple(sorted(done.seeds)),
        unscored=done.unscored,
        unknown=done.unknown,
        unrun=len(wordings.known.keys() - done.met),
        expected=expected,
    )


def _specs(
    file: Path, seed: int, settings: Settings, log: Log, wordings: _Wordings, done: _Progress
) -> Iterator[tuple[EpisodeSpec, Logged]]:
    """The specs of a log's episodes; those of unknown tasks are counted and left out."""
    for episode in log.episodes:
        if episode.is_original:
            task = task_of_file(episode.bddl_file.removesuffix(".bddl"), str(file), suite=SUITE)
            if (task, seed) in done.original:
                raise ReleaseError(f"{file}: has {episode.bddl_file} with seed {seed} a second time")
            done.original.add((task, seed))
            done.controls += 1
            own = tasks.load(task).instruction.text
            done.reworded += " ".join(episode.paraphrased_instruction.lower().split()) != own
            yield _spec(task, seed, settings), episode
            continue
        try:
            types = episode.types
        except ReleaseError as error:
            raise ReleaseError(f"{file}: {error}") from None
        if log.eval_id not in wordings.homes:
            done.unknown += 1
            continue
        task, text = wordings.homes[log.eval_id], episode.paraphrased_instruction
        key = (types, log.eval_id, episode.variant_id)
        if (seed, key) in done.logged:
            raise ReleaseError(
                f"{file}: has variant {episode.variant_id} of its type with seed {seed} a second time"
            )
        done.logged.add((seed, key))
        wording = wordings.known.get(key)
        if wording is not None and wording.new_instruction != text:
            wording = None
        if wording is None:
            done.unscored += 1
        else:
            done.met.add(key)
        done.said[task, seed, types, text] += 1
        cell = cell_of(*types)
        # A wording that a cell has twice is said twice, which is another spec and the same task.
        words = (Say(text),) * done.said[task, seed, types, text]
        yield _spec(task, seed, settings, f"{EXPERIMENT}/{cell}", words, _labels(cell, wording)), episode


def _spec(
    task: str,
    seed: int,
    settings: Settings,
    condition: str = CONTROL,
    words: tuple[Say, ...] = (),
    labels: dict[str, Label] | None = None,
) -> EpisodeSpec:
    return EpisodeSpec(
        task=task,
        # The official scripts start every episode from stored state 0; the seed is the policy's.
        seed=seed,
        initial="stored",
        start=0,
        pack="libero",
        experiment=EXPERIMENT,
        condition=condition,
        perturbations=words,
        steps=settings.max_steps,
        replan=settings.replan_steps,
        labels=labels or {},
    )


def _append(store: Store, found: list[tuple[EpisodeSpec, Logged]], file: Path, done: _Progress) -> None:
    store.plan(spec for spec, _ in found)
    numbers = {waiting.key: waiting.number for waiting in store.todo()}
    for spec, episode in found:
        try:
            path = episode.trajectory()
        except ReleaseError as error:
            raise ReleaseError(f"{file}: {episode.bddl_file}: {error}") from None
        if episode.action_chunk_boundaries is not None:
            decisions = len(episode.action_chunk_boundaries)
        else:
            decisions = -(-episode.num_steps // spec.replan) if spec.replan else 0
        store.append(
            numbers[spec.key],
            Episode(
                Outcome.SUCCESS if episode.success else Outcome.FAILURE,
                episode.num_steps,
                path,
                episode.paraphrased_instruction,
                decisions=decisions,
            ),
        )
        done.episodes += 1
        done.paths += len(path.end_effector) > 0
        done.seeds.add(spec.seed)


def _models(folders: Iterable[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        for name, model in models(folder).items():
            if name in found:
                raise ReleaseError(f"{found[name]} and {model} have the same name: import them apart")
            found[name] = model
    return found


def _controls(found: dict[str, Path], folder: Path | None) -> dict[str, Path]:
    """The folder of each model's controls."""
    if folder is None:
        return {}
    beside = models(folder)
    if len(found) == len(beside) == 1:
        return dict(zip(found, beside.values(), strict=True))
    for name, each in beside.items():
        if name not in found:
            raise ReleaseError(f"{each}: there are no logs of a model {name}; valid: {', '.join(found)}")
    return beside


def _outs(found: dict[str, Path], out: Path) -> dict[str, Path]:
    """The run's file of each model."""
    if out.suffix == SUFFIX:
        if len(found) > 1:
            names = ", ".join(found)
            raise RunError(f"{out}: one file cannot hold {len(found)} models ({names}); valid: a folder")
        outs = dict.fromkeys(found, out)
    else:
        outs = {name: out / f"{name}{SUFFIX}" for name in found}
    for each in outs.values():
        if each.exists():
            raise RunError(f"{each} exists already")
    return outs


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
        labels |= {"s_k": s_k, "s_t": s_t, "pd": 1 - (ALPHA * s_k + (1 - ALPHA) * s_t), "scores": "published"}
    return labels


def _refuse_another_model(done: _Progress, settings: Settings, file: Path) -> None:
    for _, known in done.evaluations.values():
        if len({known.model_name, settings.model_name} - {UNKNOWN}) > 1:
            raise ReleaseError(f"{file}: is of {settings.model_name}, other logs are of {known.model_name}")


def _about(done: _Progress, folder: Path, expected: int) -> dict[str, object]:
    """What is known about the evaluations, one for each seed."""
    evaluations = sorted(done.evaluations.values(), key=lambda each: each[0])

    def all_of(name: str) -> str:
        values = (getattr(each, name) for _, each in evaluations)
        return ", ".join(dict.fromkeys(str(value) for value in values if value))

    settings = {
        "seeds": ", ".join(map(str, sorted(done.seeds))),
        "max_steps": all_of("max_steps"),
        "replan_steps": all_of("replan_steps"),
        "control_mode": all_of("control_mode"),
    }
    return {
        "experiment": EXPERIMENT,
        "policy": all_of("model_name"),
        "pack": "libero",
        "assay": __version__,
        "imported": f"LIBERO-Para's logs, {folder.resolve().name}",
        "started": all_of("timestamp"),
        "expected": expected,
        "settings": {name: value for name, value in settings.items() if value or name != "control_mode"},
    }
