"""Key frames, their image quality, and pairs of frames with a visible change between them.

Quality is measured on greyscale images, uint8 (height, width).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np

from assay.extensions.eqa.actions import ANGLES, MAX_PITCH_DEG, Turning, difference, signs
from assay.extensions.eqa.episode import EpisodeSource, QualityRules, SourceEpisode, Tally
from assay.extensions.eqa.progress import Arrays, Progress
from assay.extensions.eqa.question import UnreadableError
from assay.extensions.eqa.views import CameraView

MAX_KEY_FRAMES = 20
"""Maximum number of key frames per episode."""
KEY_FRAME_SPACING = 0.6
"""Distance between key frames along the path, as a multiple of the thresholds."""
MIN_DIMENSIONS = 2
"""Minimum number of motion dimensions in which the two frames of a pair differ by more than the threshold."""
GREY_STEP = 24
"""Maximum difference between grey values that are considered equal."""
BLOCK_SIZE = 4
"""Side, in pixels, of the blocks whose means are compared; averaging suppresses noise and compression artefacts."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedEpisode:
    """An episode with its usable frames and pairs of frames."""

    episode: SourceEpisode
    frames: np.ndarray
    """Usable key frames, ascending, (k,)."""
    whole: bool
    """Whether the first and the last frame are usable, for questions about the whole episode."""
    pairs: np.ndarray
    """First and second frame of each pair, (p, 2)."""
    actions: np.ndarray
    """Action between the frames of each pair, (p, 7)."""
    first: np.ndarray
    """First frame: block means of the image from the view's first camera."""
    last: np.ndarray
    """Last frame: block means of the image from the view's first camera."""
    alike: frozenset[tuple[int, int]] = frozenset()
    """Pairs of frames, the earlier first, whose images are nearly identical in at least one camera."""

    @classmethod
    def restore(cls, episode: SourceEpisode, arrays: Arrays) -> PreparedEpisode:
        """Create the object from the values of `as_arrays`."""
        values: dict[str, Any] = {**arrays, "whole": bool(arrays["whole"])}
        values["alike"] = frozenset((first, second) for first, second in arrays["alike"].tolist())
        return cls(episode, **values)

    def as_arrays(self) -> Arrays:
        """Return everything but the episode as arrays."""
        names = [field.name for field in fields(self) if field.name not in ("episode", "alike")]
        pairs = np.array(sorted(self.alike), dtype=np.int64).reshape(-1, 2)
        return {name: np.asarray(getattr(self, name)) for name in names} | {"alike": pairs}

    @property
    def group(self) -> str:
        """Name of the scene, or id of the episode if the scene is unknown."""
        return self.episode.scene or self.episode.id


def sharpness(grey: np.ndarray) -> float:
    """Return the variance of the Laplacian, which is low for blurred images; 0 without interior pixels."""
    pixels = grey.astype(np.int32)
    edges = (
        4 * pixels[1:-1, 1:-1] - pixels[:-2, 1:-1] - pixels[2:, 1:-1] - pixels[1:-1, :-2] - pixels[1:-1, 2:]
    )
    return float(edges.var()) if edges.size else 0.0


def image_flaw(grey: np.ndarray, rules: QualityRules) -> str:
    """Return the quality problem of an image: badly lit or blurred; empty if it is usable."""
    dark, bright = rules.light
    if not dark <= grey.mean() <= bright:
        return "badly lit"
    return "blurred" if sharpness(grey) < rules.sharpness else ""


def changed_fraction(first: np.ndarray, second: np.ndarray) -> float:
    """Return the fraction of blocks in which two images, given as block means, differ."""
    return float((np.abs(first - second) > GREY_STEP).mean())


def key_frames(states: np.ndarray, rules: QualityRules) -> np.ndarray:
    """Return the indices (k,) of frames evenly spaced along a path of states (frames, 7), including both ends."""
    steps = np.abs(difference(states[:-1], states[1:])) / np.asarray(rules.thresholds)
    path = np.concatenate([[0.0], np.cumsum(steps.sum(axis=1))])
    count = int(np.clip(np.ceil(path[-1] / KEY_FRAME_SPACING) + 1, 2, MAX_KEY_FRAMES))
    frames = np.searchsorted(path, np.linspace(0.0, path[-1], count)).clip(0, len(states) - 1)
    before = np.unique(frames)[: -1 if path[-1] > 0 else None]
    return np.append(before, len(states) - 1)  # the very last: objects may move after the gripper has stopped


def prepare_episode(
    episode: SourceEpisode, rules: QualityRules, view: CameraView, tally: Tally, turning: Turning = "exact"
) -> PreparedEpisode | None:
    """Select the frames and pairs of an episode that are usable in all cameras of a view; None if the
    episode is unreadable or lacks a camera."""
    if view.hand and episode.egocentric is None:
        tally.add("episode: missing camera", f"{episode.id}: no wrist camera")
        return None
    if len(episode.exocentric) < view.outside:
        count = f"{len(episode.exocentric)} of {view.outside} static cameras"
        tally.add("episode: missing camera", f"{episode.id}: {count}")
        return None
    frames = key_frames(episode.states, rules)
    tally.add("frames read", count=len(frames))
    try:
        images = [camera.read(frames.tolist(), grey=True) for camera in view.cameras(episode)]
    except UnreadableError as error:
        tally.add("episode: images cannot be read", f"{episode.id}: {error}")
        return None
    usable = []
    for place, frame in enumerate(frames):
        flaws = [flaw for camera in images if (flaw := image_flaw(camera[place], rules))]
        if not all(seen[frame] for seen in episode.hand_seen[: view.outside]):
            flaws.append("fingertips outside the image")
        if flaws:
            tally.add(f"frame: {flaws[0]}", f"{episode.id} frame {frame}")
        else:
            usable.append(place)
    small = []  # means of blocks, (k, rows, columns) for each camera
    for camera in images:
        rows, columns = (size // BLOCK_SIZE for size in camera[0].shape)
        pixels = np.stack(camera)[:, : rows * BLOCK_SIZE, : columns * BLOCK_SIZE]
        blocks = pixels.reshape(len(frames), rows, BLOCK_SIZE, columns, BLOCK_SIZE)
        small.append(blocks.mean(axis=(2, 4)).astype(np.int16))
    pairs, actions, alike = [], [], []
    states = episode.states[frames]
    for first, second in combinations(usable, 2):
        action = difference(states[first], states[second], turning)
        pattern, reason = signs(action, rules.thresholds), ""
        if np.count_nonzero(pattern) < MIN_DIMENSIONS:
            reason = "pair: trivial motion"
        elif turning == "wrapped":
            exact = signs(difference(states[first], states[second], "exact"), rules.thresholds)
            if np.abs(states[[first, second], 4]).max() > MAX_PITCH_DEG:
                reason = "pair: roll and yaw are indistinguishable"
            elif (exact[ANGLES] != pattern[ANGLES]).any():
                reason = "pair: angle differences and rotation vector name different axes"
        if any(changed_fraction(camera[first], camera[second]) < rules.change for camera in small):
            alike.append((int(frames[first]), int(frames[second])))
            reason = reason or "pair: images are nearly identical"
        where = f"{episode.id} frames {frames[first]}, {frames[second]}"
        tally.add(reason or "pair: kept", where if reason else "")
        if not reason:
            pairs.append((frames[first], frames[second]))
            actions.append(action)
    ends = int(frames[0]), int(frames[-1])
    if ends in alike:
        tally.add("episode: first and last image are nearly identical", episode.id)
    return PreparedEpisode(
        episode,
        frames[usable],
        whole={0, len(frames) - 1} <= set(usable) and len(frames) > 1 and ends not in alike,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        actions=np.array(actions, dtype=np.float64).reshape(-1, 7),
        first=small[0][0],
        last=small[0][-1],
        alike=frozenset(alike),
    )


def prepare_episodes(
    source: EpisodeSource,
    view: CameraView,
    tally: Tally,
    *,
    turning: Turning = "exact",
    most: int | None = None,
    progress: Progress | None = None,
) -> Iterator[PreparedEpisode]:
    """Prepare the first ``most`` readable episodes of a source; skipped episodes are tallied.

    Prepared episodes are stored in ``progress``, and read from it without reading images.
    """
    count = 0
    for episode in source.episodes(tally):
        own = Tally()

        def prepare(episode: SourceEpisode = episode, own: Tally = own) -> Arrays | None:
            prepared = prepare_episode(episode, source.rules, view, own, turning)
            if prepared is None:
                return None
            return prepared.as_arrays() | {"tally": np.array(json.dumps([own.counts, own.places]))}

        key = (source.name, episode.id, hashlib.sha256(episode.states.tobytes()).hexdigest())
        arrays = prepare() if progress is None else progress.recall(key, prepare)
        if arrays is None:
            tally.merge(own.counts, own.places)
        else:
            tally.merge(*json.loads(str(arrays.pop("tally"))))
            yield PreparedEpisode.restore(episode, arrays)
            count += 1
            if count == most:  # further episodes would first have to be simulated
                return
