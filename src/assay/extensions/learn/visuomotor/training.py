"""Behaviour cloning, resumable to the bit: every random number hangs on the seed and the step. Needs torch."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.errors import PolicyError, one_line
from assay.extensions.learn.visuomotor.choices import Input
from assay.extensions.learn.visuomotor.frames import CAMERAS, Frames
from assay.extensions.learn.visuomotor.heads import ACTION, DRAWS
from assay.extensions.learn.visuomotor.instructions import embedded
from assay.extensions.learn.visuomotor.network import Network, Seen
from assay.extensions.learn.visuomotor.proprioception import proprioception
from assay.extensions.learn.visuomotor.settings import Settings
from assay.policies.learned.loop import descend
from assay.policies.learned.schedule import BEGUN, Progress, Schedule
from assay.support.files import replacing
from assay.support.streams import stream

_HELD_OUT = 20
"""One episode in so many is not learnt from."""
_BLUR = 0.05
"""Noise that is added to states, standard deviations: places are to be looked for in images, too."""
_AVERAGED = 0.998
"""The share of the averaged weights that is left after one step; they are what is kept."""
_EVERY = 60.0
"""Seconds between two notes of how far it is, from which an interrupted training goes on."""


class Examples:
    """Frames with the chunk of actions that follows each, and the wordings of its instruction."""

    def __init__(self, frames: Frames, wordings: list[list[str]], settings: Settings) -> None:
        self.frames, self.settings = frames, settings
        self.states = proprioception(frames.states)
        texts = list(dict.fromkeys(text for wording in wordings for text in wording))
        place = {text: index for index, text in enumerate(texts)}
        self.vectors = np.stack([embedded(text) for text in texts])
        self.wordings = [np.array([place[text] for text in wording]) for wording in wordings]
        self.ends = np.searchsorted(frames.episodes, frames.episodes, side="right")
        held_out = frames.episodes % _HELD_OUT == _HELD_OUT - 1
        self.learnt, self.held_out = np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def seen(self, chosen: np.ndarray, rng: np.random.Generator | None = None) -> Seen:
        """Some frames as a network takes them in; with ``rng``, in any wording and with blurred states."""
        states, episodes = self.states[chosen], self.frames.episodes[chosen]
        words = [self.wordings[episode][0] for episode in episodes]
        if rng is not None:
            spread = np.maximum(self.states.std(axis=0), 0.01)
            states = states + (_BLUR * spread * rng.normal(size=states.shape)).astype(np.float32)
            words = [rng.choice(self.wordings[episode]) for episode in episodes]
        blind = Input.IMAGES in self.settings.without
        images = [] if blind else [self.frames.images[camera][chosen] for camera in CAMERAS]
        return Seen(
            tuple(torch.from_numpy(image) for image in images),
            torch.from_numpy(states),
            torch.from_numpy(self.vectors[words]),
        )

    def chunks(self, chosen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """The actions from some frames on, (n, chunk, 7), and which are there, (n, chunk)."""
        steps = chosen[:, None] + np.arange(self.settings.chunk)
        there = steps < self.ends[chosen][:, None]
        actions = self.frames.actions[np.minimum(steps, self.ends[chosen][:, None] - 1)]
        return torch.from_numpy(actions), torch.from_numpy(there.astype(np.float32))


@dataclass(slots=True)
class _State:
    """All that a training is in the middle of."""

    network: Network
    averaged: Network
    optimizer: torch.optim.Optimizer
    progress: Progress = BEGUN
    seconds: float = 0.0

    def note(self, path: Path, identity: str) -> None:
        content = {
            "identity": identity,
            "network": self.network.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": (self.progress.step, self.progress.share, self.progress.loss),
            "seconds": self.seconds,
        }
        with replacing(path) as unfinished:
            torch.save(content, unfinished)

    def recall(self, path: Path, identity: str) -> None:
        try:
            content: dict[str, Any] = torch.load(path, weights_only=True)
            if content["identity"] != identity:
                raise PolicyError(
                    f"{path} is of a training with other data or options: name another --out, or remove it"
                )
            self.network.load_state_dict(content["network"])
            self.averaged.load_state_dict(content["averaged"])
            self.optimizer.load_state_dict(content["optimizer"])
            self.progress, self.seconds = Progress(*content["progress"]), content["seconds"]
        except (pickle.UnpicklingError, RuntimeError, KeyError, ValueError, OSError, EOFError) as error:
            reason = one_line(str(error), 120)
            raise PolicyError(f"{path} is damaged: remove it to begin anew ({reason})") from None


def train(
    examples: Examples,
    schedule: Schedule,
    *,
    seed: int,
    notes: Path,
    identity: str,
    watch: Callable[[Progress], None] = lambda progress: None,
    checkpoint: Callable[[int, Network], None] = lambda step, network: None,
) -> tuple[Network, float]:
    """A trained network, and how many seconds of this process's processor time it took.

    How far it is is noted in the file ``notes``, with the ``identity`` of data and options; a training that was
    interrupted goes on from there and ends with the very same network. ``checkpoint`` is shown the averaged
    network after every step.
    """
    torch.manual_seed(seed)
    network = Network(examples.settings)
    learnt = examples.learnt
    network.normalise(
        torch.from_numpy(examples.states[learnt]), torch.from_numpy(examples.frames.actions[learnt])
    )
    averaged = Network(examples.settings)
    averaged.load_state_dict(network.state_dict())
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=1e-3)
    state = _State(network, averaged, optimizer)
    if notes.is_file():
        state.recall(notes, identity)
    noted = time.monotonic()
    while (share := schedule.share(state.progress.step, 0.0)) < 1:
        begun, step = time.process_time(), state.progress.step
        loss = _loss(network, examples, schedule.batch, seed, step)
        state.progress = state.progress.next(
            share, descend(network, optimizer, loss, schedule.rate_at(share))
        )
        _average(averaged, network, min(_AVERAGED, (1 + step) / (10 + step)))
        state.seconds += time.process_time() - begun
        watch(state.progress)
        checkpoint(state.progress.step, averaged)
        if time.monotonic() - noted > _EVERY:
            state.note(notes, identity)
            noted = time.monotonic()
    notes.unlink(missing_ok=True)
    return averaged.eval(), state.seconds


def _loss(network: Network, examples: Examples, size: int, seed: int, step: int) -> torch.Tensor:
    """The loss of a step's batch: frames in another order in each round through all of them."""
    learnt = examples.learnt
    size = min(size, len(learnt))
    rounds, place = divmod(step, len(learnt) // size)
    order = _order(len(learnt), seed, rounds)
    chosen = np.sort(learnt[order[place * size : (place + 1) * size]])
    rng = stream("learn", "step", seed, step)
    seen, draws = examples.seen(chosen, rng), DRAWS * size
    noise = rng.normal(size=(draws, examples.settings.chunk, ACTION)).astype(np.float32)
    times = rng.uniform(size=draws).astype(np.float32)
    return network.loss(seen, *examples.chunks(chosen), torch.from_numpy(noise), torch.from_numpy(times))


def _order(count: int, seed: int, rounds: int) -> np.ndarray:
    return stream("learn", "order", seed, rounds).permutation(count)


def _average(averaged: Network, network: Network, kept: float) -> None:
    with torch.no_grad():
        for mean, now in zip(averaged.parameters(), network.parameters(), strict=True):
            mean.lerp_(now, 1 - kept)


def open_loop(network: Network, examples: Examples, chosen: np.ndarray, first: int = 8) -> dict[str, float]:
    """How far the ``first`` actions from some frames on are from the demonstrator's: the mean absolute error of
    translation and rotation, and the share of steps in which the gripper does the same.
    """
    off: list[np.ndarray] = []
    there: list[np.ndarray] = []
    for start in range(0, len(chosen), 256):
        some = chosen[start : start + 256]
        wanted, counts = examples.chunks(some)
        with torch.inference_mode():
            given = network(examples.seen(some), torch.zeros_like(wanted))
        off.append((given - wanted).abs().numpy()[:, :first])
        there.append(counts.numpy()[:, :first] > 0)
    errors = np.concatenate(off)[np.concatenate(there)]
    return {
        "translation": float(errors[:, :3].mean()),
        "rotation": float(errors[:, 3:6].mean()),
        "gripper": float((errors[:, 6] < 1).mean()),
    }
