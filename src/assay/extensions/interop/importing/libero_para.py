"""Imports LIBERO-Para's official logs as runs, so that published results get the same report as other runs.

    MODEL/seed7/eval0.json          the episodes of one task, with trajectories unless these were removed
    MODEL/seed7/eval_unknown.json   the episodes of ``--mode original``: LIBERO-Goal's unperturbed tasks
    MODEL/seed7/meta.json           the model and its settings (optional)

The number after ``eval`` is the index of the LIBERO-Goal task in the alphabetical order of the task files. With a
single seed, the seed folder may be missing; ``meta.json`` then contains the seed.

Every published script logs one row of ``proprio_states`` before each action: the end effector's position (x, y, z in
metres), its orientation (axis times angle) and the positions of both fingers (in metres; the second is negative). The
paper describes a single number for the gripper instead, which is interpreted as the distance between the fingers.
``actions`` are the executed actions.

Episodes of ``--mode original`` become the controls of the paraphrases with the same task and seed. The logs contain no
object states.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay import tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Label, Outcome, Trajectory, no_trajectory
from assay.errors import RunError
from assay.extensions.interop.importing.results import ImportedRun, run_files, write_run
from assay.perturb import Say
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.cells import cell_of
from assay.tasks.checks import validation_reason
from assay.tasks.formats import ReleaseError, task_of_file, text_of
from assay.tasks.formats.libero_para import SUITE, PublishedParaphrase, Types, read_metadata, types_of

EXPERIMENT = "para"
MAX_BYTES = 1_000_000_000
"""Maximum size of a log in bytes; a log of 4,092 episodes with 300 steps each has about 70 million bytes."""
STATE_SIZES = (7, 8)
"""Valid lengths of a row of ``proprio_states``."""
ACTION_SIZE = 7
_LOGS = "eval*.json"
UNKNOWN = "unknown"
"""Paraphrase type of original instructions in the logs; also the name of a model if no file contains its name."""
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
        """Whether the episode was logged with ``--mode original``, without a paraphrase."""
        return self.paraphrase_type == UNKNOWN and not self.categories

    def record(self, replan: int | None) -> Episode:
        """Return the episode to record; missing parts of its trajectory are empty.

        Raises ReleaseError for invalid shapes.

        A state is logged before each action but not after the last, so there are as many states as actions.
        """
        empty = no_trajectory(ACTION_SIZE)
        path, gripper, actions = empty.end_effector, empty.gripper, empty.actions
        if self.proprio_states:
            states = self._array("proprio_states", self.proprio_states, STATE_SIZES)
            path = states[:, :3]
            gripper = states[:, 6] - states[:, 7] if states.shape[1] == STATE_SIZES[-1] else states[:, 6]
        if self.actions:
            actions = self._array("actions", self.actions, (ACTION_SIZE,))
        decisions = -(-self.num_steps // replan) if replan else 0
        if self.action_chunk_boundaries is not None:
            decisions = len(self.action_chunk_boundaries)
        return Episode(
            Outcome.SUCCESS if self.success else Outcome.FAILURE,
            self.num_steps,
            Trajectory(path, gripper, actions),
            self.paraphrased_instruction,
            decisions=decisions,
        )

    def _array(self, name: str, rows: Rows, widths: tuple[int, ...]) -> np.ndarray:
        with suppress(ValueError):  # rows of different lengths
            array = np.array(rows, np.float32)
            if len(array) == self.num_steps and array.shape[1] in widths:
                return array
        lengths = " or ".join(map(str, sorted({len(row) for row in rows})))
        raise ReleaseError(
            f"{name}: {len(rows)} rows of {lengths} numbers; expected num_steps = {self.num_steps} rows of "
            f"{' or '.join(map(str, widths))}"
        )


@dataclass(frozen=True, slots=True)
class ParaSettings:
    """Settings of one evaluation, from its ``meta.json``."""

    model_name: str = UNKNOWN
    seed: int | None = None
    max_steps: int | None = None
    replan_steps: int | None = None
    control_mode: str = ""
    """``absolute`` if actions are target poses (X-VLA's script); otherwise they are pose changes."""
    total_tasks: int = 0
    """Number of episodes in the evaluation, over all tasks."""
    timestamp: str = ""
    """Start time of the evaluation."""


@dataclass(frozen=True, slots=True)
class ParaLog:
    """The content of one log: episodes of one task and seed, or of all tasks if logged with ``--mode original``."""

    eval_id: int
    episodes: tuple[LoggedEpisode, ...]


def find_models(folder: Path) -> dict[str, Path]:
    """Return the log folders of models by name: this folder or its subfolders. Raises ReleaseError if none has logs."""
    candidates = (folder, *sorted(path for path in folder.glob("*") if path.is_dir()))
    models = [candidate for candidate in candidates if _seed_folders(candidate)]
    if not models:
        raise ReleaseError(
            f"{folder} contains no seed*/{_LOGS}, directly or in subfolders; expected a folder of LIBERO-Para's logs"
        )
    if models[0] == folder:
        models = models[:1]
    return {model.resolve().name: model for model in models}


def read_logs(folder: Path) -> Iterator[tuple[Path, int, ParaSettings, ParaLog]]:
    """Yield the file, seed, settings and episodes of each log of a model. Raises ReleaseError for an invalid log."""
    for seed_folder in _seed_folders(folder):
        metadata = seed_folder / "meta.json"
        settings = _read(metadata, ParaSettings) if metadata.is_file() else ParaSettings()
        seed = settings.seed
        if (name := re.fullmatch(r"seed(\d+)", seed_folder.name)) is not None:
            seed = int(name[1])
        if seed is None:
            raise ReleaseError(
                f"{seed_folder}: neither the folder's name nor its meta.json gives the seed; rename the folder to, "
                "for example, seed7"
            )
        for file in sorted(seed_folder.glob(_LOGS)):
            yield file, seed, settings, _read(file, ParaLog)


def _seed_folders(folder: Path) -> list[Path]:
    if any(folder.glob(_LOGS)):
        return [folder]
    return sorted({file.parent for file in folder.glob(f"seed*/{_LOGS}")})


def _read(file: Path, kind: type[T]) -> T:
    try:
        return TypeAdapter(kind).validate_json(text_of(file, most=MAX_BYTES))
    except ValidationError as error:
        raise ReleaseError(f"{file}: not a LIBERO-Para log: {validation_reason(error)}") from None


WordingKey = tuple[Types, int, int]
"""Key of a wording: its types, its task number (``eval``), and its number among wordings with the same two."""


def import_libero_para(
    folders: Iterable[Path], metadata: Path, out: Path, controls: Path | None = None
) -> Iterator[ImportedRun]:
    """Write the logs of models to new runs and yield a summary of each.

    Each entry of ``folders`` holds a model's logs or is a folder of such folders. ``out`` is a run file for one
    model, or a folder for runs named after the models' folders. ``controls`` holds the logs of ``--mode original``
    for one model, or a folder with the same name as each model's; these logs may also be among the others. Raises
    ReleaseError for invalid logs or metadata, and RunError if a run exists.
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
            raise ReleaseError(f"{folder}: no logs for model '{name}'; available models: {', '.join(models)}")
    outs = run_files(models, out, "models")
    rows = read_metadata(metadata)
    catalogue = {str(task.instruction): task.id for task in tasks.suite(SUITE)}
    for row in rows:
        if row.original_instruction not in catalogue:
            raise RunError(f"{metadata}: '{row.original_instruction}' is not an instruction of {SUITE}")
    task_ids = {row.eval: catalogue[row.original_instruction] for row in rows}
    wordings = {(row.types, row.eval, row.batch_idx): row for row in rows}
    for name, folder in models.items():
        model_import = _ModelImport(folder, control_folders.get(name), wordings, task_ids)
        yield write_run(outs[name], model_import.batches(), model_import.describe)


@dataclass(slots=True)
class _ModelImport:
    """Reads one model's logs file by file, so that memory is bounded by the largest log."""

    folder: Path
    control_folder: Path | None
    wordings: dict[WordingKey, PublishedParaphrase]
    task_ids: dict[int, str]
    """Task number in the logs -> task id."""
    counts: Counter[str] = field(default_factory=Counter)
    """Total number of episodes, and the number of each kind that is mentioned in remarks."""
    logged: set[tuple[int, WordingKey]] = field(default_factory=set)
    """Seeds and wordings of the episodes imported so far."""
    scored: set[WordingKey] = field(default_factory=set)
    """Wordings in the metadata that occur in the logs."""
    repetitions: Counter[tuple[str, int, Types, str]] = field(default_factory=Counter)
    """Number of episodes by task, seed, types and text."""
    controls: set[tuple[str, int]] = field(default_factory=set)
    """Tasks and seeds that have a control."""
    evaluations: dict[Path, tuple[int, ParaSettings]] = field(default_factory=dict)
    """Folder -> seed and settings."""

    def batches(self) -> Iterator[list[tuple[EpisodeSpec, Episode]]]:
        """Yield, for each log, a list of its episodes with their specs."""
        for source in filter(None, (self.folder, self.control_folder)):
            for file, seed, settings, log in read_logs(source):
                if source == self.control_folder and not all(episode.is_original for episode in log.episodes):
                    raise ReleaseError(f"{file} contains paraphrases; expected a log of --mode original")
                for _, other in self.evaluations.values():
                    if len({other.model_name, settings.model_name} - {UNKNOWN}) > 1:
                        raise ReleaseError(
                            f"{file}: the model is {settings.model_name}, but in other logs it is {other.model_name}"
                        )
                self.evaluations[file.parent] = seed, settings
                batch = []
                for episode in log.episodes:
                    try:
                        spec = self._spec(episode, seed, settings, log.eval_id)
                        record = episode.record(settings.replan_steps)
                    except ReleaseError as error:
                        raise ReleaseError(f"{file}: {episode.bddl_file}: {error}") from None
                    if spec is not None:
                        batch.append((spec, record))
                self.counts["episodes"] += len(batch)
                yield batch
        if not self.counts["episodes"]:
            unknown = self.counts["unknown"]
            raise RunError(
                f"{self.folder}: the metadata contains none of the tasks of the {unknown} episodes in the folder"
            )

    def _spec(
        self, episode: LoggedEpisode, seed: int, settings: ParaSettings, eval_id: int
    ) -> EpisodeSpec | None:
        """Return the spec of an episode, or None if the metadata does not contain its task.

        Raises ReleaseError for an unknown combination of types and for a repeated episode.
        """
        text, words, condition = episode.paraphrased_instruction, tuple[Say, ...](), CONTROL
        labels: dict[str, Label] = {}
        if episode.is_original:
            task = task_of_file(episode.bddl_file.removesuffix(".bddl"), "the log", suite=SUITE)
            if (task, seed) in self.controls:
                raise ReleaseError(f"the task occurs twice with seed {seed}")
            self.controls.add((task, seed))
            self.counts["reworded"] += " ".join(text.lower().split()) != tasks.load(task).instruction.text
        else:
            parts = "+".join(episode.categories), "+".join(episode.subcategories)
            types = types_of((episode.paraphrase_type, *parts), episode.bddl_file)
            if eval_id not in self.task_ids:
                self.counts["unknown"] += 1
                return None
            task, key = self.task_ids[eval_id], (types, eval_id, episode.variant_id)
            if (seed, key) in self.logged:
                raise ReleaseError(f"variant {episode.variant_id} occurs twice with seed {seed}")
            self.logged.add((seed, key))
            wording = self.wordings.get(key)
            if wording is not None and wording.new_instruction != text:
                wording = None
            if wording is None:
                self.counts["unscored"] += 1
            else:
                self.scored.add(key)
            self.repetitions[task, seed, types, text] += 1
            # A text that occurs twice in a cell is repeated in the spec: another key, but the same task.
            words = (Say(text),) * self.repetitions[task, seed, types, text]
            cell = cell_of(*types)
            condition = f"{EXPERIMENT}/{cell}"
            axes = {"object": str(cell.object_type), "action": str(cell.action_type)}
            labels = {"axis": "words", "plausible": True, **axes}
            if wording is not None:
                s_k, s_t = wording.keyword_similarity, wording.structural_similarity
                pd = 1 - (ALPHA * s_k + (1 - ALPHA) * s_t)
                labels |= {"s_k": s_k, "s_t": s_t, "pd": pd, "scores": "published"}
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

    def describe(self) -> tuple[dict[str, Any], list[str]]:
        """Return the run's metadata, and remarks about missing or unexpected data."""
        evaluations = sorted(self.evaluations.values(), key=lambda evaluation: evaluation[0])
        counts = self.counts
        total = sum(settings.total_tasks for _, settings in evaluations)
        expected = max(total, counts["episodes"] + counts["unknown"])

        def join(name: str) -> str:
            values = (getattr(settings, name) for _, settings in evaluations)
            return ", ".join(dict.fromkeys(str(value) for value in values if value))

        seeds = sorted({seed for seed, _ in self.logged} | {seed for _, seed in self.controls})
        settings = {"seeds": ", ".join(map(str, seeds))}
        settings |= {name: join(name) for name in ("max_steps", "replan_steps", "control_mode")}
        metadata = {
            "experiment": EXPERIMENT,
            "policy": join("model_name"),
            "pack": "libero",
            "imported": f"LIBERO-Para's logs, {self.folder.resolve().name}",
            "started": join("timestamp"),
            "expected": expected,
            "settings": {name: value for name, value in settings.items() if value or name != "control_mode"},
        }
        remarks = {
            "controls have an instruction other than LIBERO's for their task": counts["reworded"],
            "episodes have wordings that are not in the metadata; PRIDE excludes them": counts["unscored"],
            "episodes were skipped because the metadata does not contain their task": counts["unknown"],
            "wordings in the metadata do not occur in any log": len(self.wordings.keys() - self.scored),
            f"of the {expected:,} episodes in the evaluation are missing": expected - counts["episodes"],
        }
        return metadata, [f"{count:,} {text}" for text, count in remarks.items() if count]
