"""Behaviour cloning and its checkpoints. Requires torch.

Training is resumable bit for bit: every random number is derived from the seed and the step.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import nn

from assay.errors import PolicyError, one_line
from assay.extensions.learn.visuomotor import inputs
from assay.extensions.learn.visuomotor.inputs import FrameArrays, Input, NetworkSettings
from assay.extensions.learn.visuomotor.network import ACTION_SIZE, FLOW_DRAWS, Network, NetworkInput
from assay.support import training
from assay.support.files import replacing
from assay.support.streams import stream
from assay.support.training import Schedule, TrainingProgress

_HOLD_OUT_INTERVAL = 20
"""Interval between held-out episodes: every 20th episode is held out."""
_STATE_NOISE = 0.05
"""Noise added to states, in standard deviations, so that the network must also read positions from images."""
_AVERAGING = 0.998
"""Decay rate of the exponential moving average of the weights; the averaged network is the result."""
_SNAPSHOT_INTERVAL_S = 60.0
"""Interval, in seconds, between the snapshots from which an interrupted training run is resumed."""


class TrainingRecord(BaseModel):
    """Training data, options and results of a network, stored in its checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: NetworkSettings
    size: int
    """Height and width, in pixels, of rendered images before they are scaled to the network's input size."""
    data: str
    """Name of the folder of demonstrations."""
    episodes: dict[str, int]
    """Number of demonstrations for each instruction, including held-out ones."""
    frames: int
    paraphrases: int
    """Number of paraphrases per cell of the paraphrase grid; 0 for the task's original wording only."""
    seed: int
    steps: int
    batch: int
    processor_minutes: float
    parameters: int
    held_out: dict[str, float]
    """Metrics on held-out episodes: mean absolute error of translation and rotation, accuracy of the gripper.

    Empty if there are fewer than 20 episodes, because none is then held out.
    """
    torch: str


class TrainingExamples:
    """Training frames, each with the action chunk that follows it and the wordings of its instruction."""

    def __init__(self, frames: FrameArrays, wordings: list[list[str]], settings: NetworkSettings) -> None:
        self.frames, self.settings = frames, settings
        self.states = inputs.proprioception(frames.states)
        texts = list(dict.fromkeys(text for wording in wordings for text in wording))
        place = {text: index for index, text in enumerate(texts)}
        self.vectors = np.stack([inputs.embed(text) for text in texts])
        self.wordings = [np.array([place[text] for text in wording]) for wording in wordings]
        self.ends = np.searchsorted(frames.episodes, frames.episodes, side="right")
        held_out = frames.episodes % _HOLD_OUT_INTERVAL == _HOLD_OUT_INTERVAL - 1
        self.learnt, self.held_out = np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def inputs(self, chosen: np.ndarray, rng: np.random.Generator | None = None) -> NetworkInput:
        """Return a batch of frames; with ``rng``, use random wordings and add noise to the states."""
        states, episodes = self.states[chosen], self.frames.episodes[chosen]
        words = [self.wordings[episode][0] for episode in episodes]
        if rng is not None:
            spread = np.maximum(self.states.std(axis=0), 0.01)
            states = states + (_STATE_NOISE * spread * rng.normal(size=states.shape)).astype(np.float32)
            words = [rng.choice(self.wordings[episode]) for episode in episodes]
        blind = Input.IMAGES in self.settings.without
        images = [] if blind else [self.frames.images[camera][chosen] for camera in inputs.CAMERAS]
        return NetworkInput(
            tuple(torch.from_numpy(image) for image in images),
            torch.from_numpy(states),
            torch.from_numpy(self.vectors[words]),
        )

    def chunks(self, chosen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the actions that follow each frame, (n, chunk, 7), and a mask of actions inside the episode, (n,
        chunk).
        """
        steps = chosen[:, None] + np.arange(self.settings.chunk)
        inside = steps < self.ends[chosen][:, None]
        actions = self.frames.actions[np.minimum(steps, self.ends[chosen][:, None] - 1)]
        return torch.from_numpy(actions), torch.from_numpy(inside.astype(np.float32))


def _restore(
    path: Path, identity: str, parts: Mapping[str, nn.Module | torch.optim.Optimizer]
) -> tuple[TrainingProgress, float]:
    """Load the state of an interrupted training run; return its progress and its processor time in seconds."""
    try:
        content: dict[str, Any] = torch.load(path, weights_only=True)
        if content["identity"] != identity:
            raise PolicyError(
                f"{path} belongs to a training run with other data or options; choose another --out, or delete the file"
            )
        for name, part in parts.items():
            part.load_state_dict(content[name])
        return TrainingProgress(*content["progress"]), content["seconds"]
    except (pickle.UnpicklingError, RuntimeError, KeyError, ValueError, OSError, EOFError) as error:
        reason = one_line(str(error), 120)
        raise PolicyError(f"{path} is damaged; delete it to start over ({reason})") from None


def _loss(network: Network, examples: TrainingExamples, size: int, seed: int, step: int) -> torch.Tensor:
    """Return the loss on the batch of a training step; the frames are reshuffled for each epoch."""
    learnt = examples.learnt
    size = min(size, len(learnt))
    epoch, place = divmod(step, len(learnt) // size)
    order = stream("learn", "order", seed, epoch).permutation(len(learnt))
    chosen = np.sort(learnt[order[place * size : (place + 1) * size]])
    rng = stream("learn", "step", seed, step)
    batch, draws = examples.inputs(chosen, rng), FLOW_DRAWS * size
    noise = rng.normal(size=(draws, examples.settings.chunk, ACTION_SIZE)).astype(np.float32)
    times = rng.uniform(size=draws).astype(np.float32)
    return network.loss(batch, *examples.chunks(chosen), torch.from_numpy(noise), torch.from_numpy(times))


def _open_loop_errors(
    network: Network, examples: TrainingExamples, chosen: np.ndarray, first: int = 8
) -> dict[str, float]:
    """Return the errors of the ``first`` actions after each frame.

    These are the mean absolute errors of translation and rotation, and the proportion of steps at which the gripper
    agrees with the demonstration.
    """
    deviations: list[np.ndarray] = []
    inside: list[np.ndarray] = []
    for start in range(0, len(chosen), 256):
        batch = chosen[start : start + 256]
        wanted, counts = examples.chunks(batch)
        with torch.inference_mode():
            predicted = network(examples.inputs(batch), torch.zeros_like(wanted))
        deviations.append((predicted - wanted).abs().numpy()[:, :first])
        inside.append(counts.numpy()[:, :first] > 0)
    errors = np.concatenate(deviations)[np.concatenate(inside)]
    return {
        "translation": float(errors[:, :3].mean()),
        "rotation": float(errors[:, 3:6].mean()),
        "gripper": float((errors[:, 6] < 1).mean()),
    }


def load_network(path: Path) -> tuple[Network, TrainingRecord]:
    """Read a checkpoint written by `assay learn`. Raises PolicyError if it is damaged or of another kind."""
    return training.load_checkpoint(
        path, TrainingRecord, lambda record: Network(record.settings), "assay learn"
    )


def train_to_file(
    frames: FrameArrays,
    out: Path,
    settings: NetworkSettings,
    schedule: Schedule,
    *,
    data: str = "",
    paraphrases: int = 0,
    seed: int = 0,
    every: int = 0,
    watch: Callable[[TrainingProgress], None] = lambda progress: None,
) -> TrainingRecord:
    """Train on demonstrations and write the network; also write a checkpoint every ``every`` steps (0: never).

    The file ``OUT.training`` holds the state of the training run and a digest of its data and options. An interrupted
    run is resumed from it and ends with the same network.
    """
    texts = inputs.wordings(frames.instructions, frames.tasks, paraphrases)
    examples = TrainingExamples(frames, texts, settings)
    digest = hashlib.sha256()
    for part in (frames.actions, frames.states, frames.episodes, *frames.images.values()):
        digest.update(np.ascontiguousarray(part).data)
    digest.update(repr((frames.instructions, settings, schedule, paraphrases, seed)).encode())
    snapshot, identity = out.with_name(f"{out.name}.training"), digest.hexdigest()

    torch.manual_seed(seed)
    network, learnt = Network(settings), examples.learnt
    network.normalise(torch.from_numpy(examples.states[learnt]), torch.from_numpy(frames.actions[learnt]))
    averaged = Network(settings)
    averaged.load_state_dict(network.state_dict())
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=1e-3)
    parts = {"network": network, "averaged": averaged, "optimizer": optimizer}
    progress, seconds = TrainingProgress(), 0.0
    if snapshot.is_file():
        progress, seconds = _restore(snapshot, identity, parts)

    def save(place: Path, steps: int, seconds: float) -> TrainingRecord:
        held_out = examples.held_out
        errors = _open_loop_errors(averaged, examples, held_out) if len(held_out) else {}
        record = TrainingRecord(
            settings=settings,
            size=frames.size,
            data=data,
            episodes=dict(Counter(frames.instructions)),
            frames=len(frames),
            paraphrases=paraphrases,
            seed=seed,
            steps=steps,
            batch=schedule.batch,
            processor_minutes=round(seconds / 60, 1),
            parameters=training.count_parameters(averaged),
            held_out={name: round(value, 4) for name, value in errors.items()},
            torch=str(torch.__version__),
        )
        training.save_checkpoint(place, averaged, record)
        return record

    saved_at = time.monotonic()
    while (fraction := schedule.share(progress.step, 0.0)) < 1:
        started, step = time.process_time(), progress.step
        loss = _loss(network, examples, schedule.batch, seed, step)
        value = training.descend(network, optimizer, loss, schedule.rate_at(fraction))
        progress = progress.advance(fraction, value)
        decay = min(_AVERAGING, (1 + step) / (10 + step))
        with torch.no_grad():
            for mean, now in zip(averaged.parameters(), network.parameters(), strict=True):
                mean.lerp_(now, 1 - decay)
        seconds += time.process_time() - started
        watch(progress)
        step = progress.step
        if every and step % every == 0 and step < schedule.steps:
            save(out.with_name(f"{out.stem}-{step}{out.suffix}"), step, 0.0)
        if time.monotonic() - saved_at > _SNAPSHOT_INTERVAL_S:
            content = {name: part.state_dict() for name, part in parts.items()}
            content |= {"identity": identity, "progress": astuple(progress), "seconds": seconds}
            with replacing(snapshot) as unfinished:
                torch.save(content, unfinished)
            saved_at = time.monotonic()
    averaged.eval()
    record = save(out, schedule.steps, seconds)
    snapshot.unlink(missing_ok=True)  # only now, so that no training is lost if saving is interrupted
    return record
