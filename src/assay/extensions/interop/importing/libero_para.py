"""LIBERO-Para's official logs as runs, so that published results get the same report as other runs.

    MODEL/seed7/eval0.json          the episodes of one task, with trajectories unless these were removed
    MODEL/seed7/eval_unknown.json   those of ``--mode original``: LIBERO-Goal's unperturbed tasks
    MODEL/seed7/meta.json           the model and its settings (optional)

``eval`` counts the tasks of LIBERO-Goal in alphabetical order of their files. With a single seed the seed's folder may
be missing; ``meta.json`` then has the seed.

Every published script logs one row of ``proprio_states`` before each action: the end effector's position (metres, x,
y, z), its orientation (axis times angle) and the positions of both fingers (metres; the second one is negative). The
paper has one number for the gripper instead, which is taken as the distance between the fingers. ``actions`` are the
executed actions.

Episodes of ``--mode original`` become the controls of the paraphrases with the same task and seed. The logs have no
object states.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay import __version__, tasks
from assay.episodes.episode import Episode, Outcome, Trajectory, no_trajectory
from assay.episodes.spec import CONTROL, EpisodeSpec, Label
from assay.errors import RunError
from assay.extensions.interop.importing.results import run_files
from assay.perturb import Say
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.cells import Cell, cell_of
from assay.runs.store import SUFFIX, Store
from assay.support.files import replacing
from assay.tasks.checks import validation_reason
from assay.tasks.formats import ReleaseError, task_of_file, text_of
from assay.tasks.formats.libero_para import SUITE, PublishedParaphrase, Types, read_metadata, types_of

EXPERIMENT = "para"
MAX_BYTES = 1_000_000_000
"""Maximum size of one log; a log of 4,092 episodes of 300 steps has 70 million bytes."""
STATE_SIZES = (7, 8)
"""Valid lengths of a row of ``proprio_states``."""
ACTION_SIZE = 7
_LOGS = "eval*.json"
UNKNOWN = "unknown"
"""Type of an original instruction in the logs; also the name of a model if no file names it."""
T = TypeVar("T")
Rows = list[list[float]]


@dataclass(frozen=True, slots=True)
class LoggedEpisode:
    """An episode in a log."""

    paraphrase_type: str
    categories: tuple[str, ...]
    subcategories: tuple[str, ...]
    variant_id: int
    paraphrased_instruction: str
    success: bool
    num_steps: Annotated[int, Field(ge=0)]
    bddl_file: str = ""
    actions: Rows = field(default_factory=list, repr=False)
    """Executed actions, (num_steps, 7); empty if they were removed from the log."""
    proprio_states: Rows = field(default_factory=list, repr=False)
    """States before each action, (num_steps, 7 or 8); empty if they were removed from the log."""
    action_chunk_boundaries: list[int] | None = field(default=None, repr=False)
    """Steps at which the policy was called."""

    @property
    def is_original(self) -> bool:
        """Whether the episode is of ``--mode original``, without a paraphrase."""
        return self.paraphrase_type == UNKNOWN and not self.categories

    @property
    def types(self) -> Types:
        """Object and action type of the paraphrase. Raises ReleaseError for an unknown combination."""
        official = self.paraphrase_type, "+".join(self.categories), "+".join(self.subcategories)
        return types_of(official, self.bddl_file)

    def trajectory(self) -> Trajectory:
        """Return the logged trajectory; missing parts are empty. Raises ReleaseError for invalid shapes.

        A state is logged before each action and none after the last, so there are as many states as actions.
        """
        empty = no_trajectory(ACTION_SIZE)
        path, gripper, actions = empty.end_effector, empty.gripper, empty.actions
        if self.proprio_states:
            states = self._array("proprio_states", self.proprio_states, STATE_SIZES)
            path = states[:, :3]
            gripper = states[:, 6] - states[:, 7] if states.shape[1] == STATE_SIZES[-1] else states[:, 6]
        if self.actions:
            actions = self._array("actions", self.actions, (ACTION_SIZE,))
        return Trajectory(path, gripper, actions)

    def _array(self, name: str, rows: Rows, widths: tuple[int, ...]) -> np.ndarray:
        with suppress(ValueError):  # rows of different lengths
            array = np.array(rows, np.float32)
            if len(array) == self.num_steps and array.shape[1] in widths:
                return array
        lengths = " or ".join(map(str, sorted({len(row) for row in rows})))
        raise ReleaseError(
            f"{name}: has {len(rows)} rows of {lengths} numbers; valid: num_steps = {self.num_steps} rows of "
            f"{' or '.join(map(str, widths))}"
        )


@dataclass(frozen=True, slots=True)
class ParaSettings:
    """Settings of one evaluation."""

    model_name: str = UNKNOWN
    seed: int | None = None
    max_steps: int | None = None
    replan_steps: int | None = None
    control_mode: str = ""
    """``absolute`` if actions are target poses (X-VLA's script); otherwise they are pose changes."""
    total_tasks: int = 0
    """Number of episodes in the evaluation, over all tasks."""
    timestamp: str = ""
    """Start time."""


@dataclass(frozen=True, slots=True)
class ParaLog:
    """Episodes of one task and seed, or of all tasks in a log of ``--mode original``."""

    eval_id: int
    episodes: tuple[LoggedEpisode, ...]


def find_models(folder: Path) -> dict[str, Path]:
    """Return the folders of models' logs by name: this folder or its subfolders. Raises ReleaseError without logs."""
    candidates = (folder, *sorted(path for path in folder.glob("*") if path.is_dir()))
    models = [candidate for candidate in candidates if _seed_folders(candidate)]
    if not models:
        raise ReleaseError(
            f"{folder}: there is no seed*/{_LOGS} in it or in its subfolders; valid: a folder of LIBERO-Para's logs"
        )
    if models[0] == folder:
        models = models[:1]
    return {model.resolve().name: model for model in models}


def read_logs(folder: Path) -> Iterator[tuple[Path, int, ParaSettings, ParaLog]]:
    """Yield file, seed, settings and episodes of each log of a model. Raises ReleaseError for an invalid log."""
    for seed_folder in _seed_folders(folder):
        metadata = seed_folder / "meta.json"
        settings = _read(metadata, ParaSettings) if metadata.is_file() else ParaSettings()
        seed = settings.seed
        if (name := re.fullmatch(r"seed(\d+)", seed_folder.name)) is not None:
            seed = int(name[1])
        if seed is None:
            raise ReleaseError(
                f"{seed_folder}: neither its name nor its meta.json gives the seed; valid: a folder named seed7, ..."
            )
        for file in sorted(seed_folder.glob(_LOGS)):
            yield file, seed, settings, _read(file, ParaLog)


def _seed_folders(folder: Path) -> list[Path]:
    if any(folder.glob(_LOGS)):
        return [folder]
    return sorted({file.parent for file in folder.glob(f"seed*/{_LOGS}")})


def _read(file: Path, kind: type[T]) -> T:
    text = text_of(file, most=MAX_BYTES)
    # Collecting garbage among the hundreds of thousands of lists of a log takes as long as reading them.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise ReleaseError(f"{file}: not a log of LIBERO-Para: {validation_reason(error)}") from None
    finally:
        if was_enabled:
            gc.enable()


WordingKey = tuple[Types, int, int]
"""Key of a wording: its types, its task's number (``eval``), and its number among those of this type and task."""


@dataclass(slots=True)
class ImportedLogs:
    """Summary of the imported logs of one model."""

    out: Path
    episodes: int = 0
    controls: int = 0
    """Number of episodes of ``--mode original``."""
    reworded: int = 0
    """Number of controls whose instruction differs from LIBERO's instruction of the task."""
    paths: int = 0
    """Number of episodes with a trajectory."""
    unscored: int = 0
    """Number of episodes whose wording is not in the metadata; without similarities, PRIDE excludes them."""
    unknown: int = 0
    """Number of episodes omitted because the metadata does not name their task."""
    unrun: int = 0
    """Number of wordings in the metadata that no log contains."""
    expected: int = 0
    """Number of episodes of the evaluation according to its settings."""
    seeds: tuple[int, ...] = ()


def import_libero_para(folder: Path, metadata: Path, out: Path, controls: Path | None = None) -> ImportedLogs:
    """Write the logs of one model (``seed*/eval*.json``) into a new run, NAME.assay.

    ``controls`` holds logs of ``--mode original``, which may also lie among the others. Raises ReleaseError for
    invalid logs or metadata, RunError if the run exists.
    """
    (done,) = import_models([folder], metadata, out, controls)
    return done


def import_models(
    folders: Iterable[Path], metadata: Path, out: Path, controls: Path | None = None
) -> Iterator[ImportedLogs]:
    """Write the logs of several models into new runs and yield a summary of each.

    Each of ``folders`` holds a model's logs or is a folder of such folders. ``out`` is a run file for one model, or a
    folder for runs named after the models' folders. ``controls`` belongs to the only model, or is a folder of folders
    named after the models'. Raises as `import_libero_para` does.
    """
    models: dict[str, Path] = {}
    for folder in folders:
        for name, model in find_models(folder).items():
            if name in models:
                raise ReleaseError(f"{models[name]} and {model} have the same name; import them separately")
            models[name] = model
    control_folders = {} if controls is None else find_models(controls)
    if len(models) == len(control_folders) == 1:
        control_folders = dict(zip(models, control_folders.values(), strict=True))
    for name, folder in control_folders.items():
        if name not in models:
            raise ReleaseError(f"{folder}: there are no logs of a model {name}; valid: {', '.join(models)}")
    outs = run_files(models, out, "models")
    rows = read_metadata(metadata)
    catalogue = {str(task.instruction): task.id for task in tasks.suite(SUITE)}
    for row in rows:
        if row.original_instruction not in catalogue:
            raise RunError(f"{metadata}: '{row.original_instruction}' is not an instruction of {SUITE}")
    task_ids = {row.eval: catalogue[row.original_instruction] for row in rows}
    wordings = {(row.types, row.eval, row.batch_idx): row for row in rows}
    for name, folder in models.items():
        yield _ModelImport(wordings, task_ids, ImportedLogs(outs[name])).run(
            folder, control_folders.get(name)
        )


@dataclass(slots=True)
class _ModelImport:
    """Imports one model's logs file by file, so that memory is bounded by the largest log."""

    wordings: dict[WordingKey, PublishedParaphrase]
    task_ids: dict[int, str]
    """Task ids by the tasks' numbers in the logs."""
    summary: ImportedLogs
    logged: set[tuple[int, WordingKey]] = field(default_factory=set)
    """Seeds and wordings of the episodes imported so far."""
    scored: set[WordingKey] = field(default_factory=set)
    """Wordings of the metadata found in the logs."""
    repetitions: Counter[tuple[str, int, Types, str]] = field(default_factory=Counter)
    """Number of episodes by task, seed, types and text."""
    controls: set[tuple[str, int]] = field(default_factory=set)
    """Tasks and seeds that have a control."""
    evaluations: dict[Path, tuple[int, ParaSettings]] = field(default_factory=dict)
    """Seed and settings by folder."""

    def run(self, folder: Path, controls: Path | None) -> ImportedLogs:
        """Import the logs in ``folder`` and the optional ``controls``."""
        summary = self.summary
        with (
            replacing(summary.out, suffix=SUFFIX, database=True) as unfinished,
            Store.writing(unfinished) as store,
        ):
            for source in (folder, *((controls,) if controls is not None else ())):
                for file, seed, settings, log in read_logs(source):
                    if source == controls and not all(episode.is_original for episode in log.episodes):
                        raise ReleaseError(f"{file}: has paraphrases; valid: a log of --mode original")
                    for _, other in self.evaluations.values():
                        if len({other.model_name, settings.model_name} - {UNKNOWN}) > 1:
                            raise ReleaseError(
                                f"{file}: is of {settings.model_name}, other logs are of {other.model_name}"
                            )
                    self.evaluations[file.parent] = seed, settings
                    self._append(store, file, list(self._specs(file, seed, settings, log)))
            if not summary.episodes:
                raise RunError(
                    f"{folder}: the metadata does not name the task of any of its {summary.unknown} episodes"
                )
            total = sum(settings.total_tasks for _, settings in self.evaluations.values())
            summary.expected = max(total, summary.episodes + summary.unknown)
            summary.seeds = tuple(
                sorted({seed for seed, _ in self.logged} | {seed for _, seed in self.controls})
            )
            summary.unrun = len(self.wordings.keys() - self.scored)
            store.describe(**self._metadata(folder))
        return summary

    def _specs(
        self, file: Path, seed: int, settings: ParaSettings, log: ParaLog
    ) -> Iterator[tuple[EpisodeSpec, LoggedEpisode]]:
        """Yield the specs of a log's episodes; episodes of unknown tasks are counted and omitted."""

        def spec(task: str, condition: str, words: tuple[Say, ...], labels: dict[str, Label]) -> EpisodeSpec:
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
                labels=labels,
            )

        for episode in log.episodes:
            text = episode.paraphrased_instruction
            if episode.is_original:
                task = task_of_file(episode.bddl_file.removesuffix(".bddl"), str(file), suite=SUITE)
                if (task, seed) in self.controls:
                    raise ReleaseError(f"{file}: has {episode.bddl_file} with seed {seed} a second time")
                self.controls.add((task, seed))
                self.summary.controls += 1
                instruction = tasks.load(task).instruction.text
                self.summary.reworded += " ".join(text.lower().split()) != instruction
                yield spec(task, CONTROL, (), {}), episode
                continue
            try:
                types = episode.types
            except ReleaseError as error:
                raise ReleaseError(f"{file}: {error}") from None
            if log.eval_id not in self.task_ids:
                self.summary.unknown += 1
                continue
            task = self.task_ids[log.eval_id]
            key = (types, log.eval_id, episode.variant_id)
            if (seed, key) in self.logged:
                raise ReleaseError(
                    f"{file}: has variant {episode.variant_id} of its type with seed {seed} a second time"
                )
            wording = self.wordings.get(key)
            if wording is not None and wording.new_instruction != text:
                wording = None
            if wording is None:
                self.summary.unscored += 1
            else:
                self.scored.add(key)
            self.logged.add((seed, key))
            self.repetitions[task, seed, types, text] += 1
            cell = cell_of(*types)
            # A text that occurs twice in a cell is repeated in the spec: another key, but the same task.
            words = (Say(text),) * self.repetitions[task, seed, types, text]
            yield spec(task, f"{EXPERIMENT}/{cell}", words, _labels(cell, wording)), episode

    def _append(self, store: Store, file: Path, episodes: list[tuple[EpisodeSpec, LoggedEpisode]]) -> None:
        store.plan(spec for spec, _ in episodes)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for spec, episode in episodes:
            try:
                path = episode.trajectory()
            except ReleaseError as error:
                raise ReleaseError(f"{file}: {episode.bddl_file}: {error}") from None
            decisions = -(-episode.num_steps // spec.replan) if spec.replan else 0
            if episode.action_chunk_boundaries is not None:
                decisions = len(episode.action_chunk_boundaries)
            outcome = Outcome.SUCCESS if episode.success else Outcome.FAILURE
            text = episode.paraphrased_instruction
            store.append(
                numbers[spec.key], Episode(outcome, episode.num_steps, path, text, decisions=decisions)
            )
            self.summary.episodes += 1
            self.summary.paths += len(path.end_effector) > 0

    def _metadata(self, folder: Path) -> dict[str, object]:
        evaluations = sorted(self.evaluations.values(), key=lambda evaluation: evaluation[0])

        def join(name: str) -> str:
            values = (getattr(settings, name) for _, settings in evaluations)
            return ", ".join(dict.fromkeys(str(value) for value in values if value))

        settings = {
            "seeds": ", ".join(map(str, self.summary.seeds)),
            "max_steps": join("max_steps"),
            "replan_steps": join("replan_steps"),
            "control_mode": join("control_mode"),
        }
        return {
            "experiment": EXPERIMENT,
            "policy": join("model_name"),
            "pack": "libero",
            "assay": __version__,
            "imported": f"LIBERO-Para's logs, {folder.resolve().name}",
            "started": join("timestamp"),
            "expected": self.summary.expected,
            "settings": {name: value for name, value in settings.items() if value or name != "control_mode"},
        }


def _labels(cell: Cell, wording: PublishedParaphrase | None) -> dict[str, Label]:
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
