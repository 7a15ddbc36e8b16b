"""Key frames, and pairs of them between which something plain to see happened."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from assay.extensions.eqa.actions import ANGLES, UPRIGHT, Turning, difference, signs
from assay.extensions.eqa.episode import Episode, Rules, Source, Tally
from assay.extensions.eqa.errors import UnreadableError
from assay.extensions.eqa.quality import change, coarse, flaw
from assay.extensions.eqa.views import View

KEY_FRAMES = 20
"""The most key frames of an episode."""
SPACING = 0.6
"""How far apart key frames are along the path, in thresholds."""
LEAST_DIMENSIONS = 2
"""So many dimensions of a pair must exceed their thresholds."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An episode with the frames and pairs that are good enough."""

    episode: Episode
    frames: np.ndarray
    """Key frames, rising, (k,)."""
    whole: bool
    """Whether the first and the last frame are among them, for questions about the whole episode."""
    pairs: np.ndarray
    """First and second frame of each pair, (p, 2)."""
    actions: np.ndarray
    """What happened between them, (p, 7)."""
    first: np.ndarray
    """The first frame as the first camera outside, or else the hand's, sees it: coarse and grey."""
    last: np.ndarray
    """The last frame, likewise."""
    alike: frozenset[tuple[int, int]] = frozenset()
    """Two frames, the earlier first, that look the same, or nearly, to one of the cameras."""

    @property
    def group(self) -> str:
        """Its scene, or the episode itself where that is not known."""
        return self.episode.scene or self.episode.id


def key_frames(states: np.ndarray, rules: Rules, most: int = KEY_FRAMES) -> np.ndarray:
    """Frames spread evenly along the path of states (frames, 7), with the first and the last: (k,)."""
    steps = np.abs(difference(states[:-1], states[1:])) / np.asarray(rules.thresholds)
    path = np.concatenate([[0.0], np.cumsum(steps.sum(axis=1))])
    count = int(np.clip(np.ceil(path[-1] / SPACING) + 1, 2, most))
    frames = np.searchsorted(path, np.linspace(0.0, path[-1], count)).clip(0, len(states) - 1)
    before = np.unique(frames)[: -1 if path[-1] > 0 else None]
    return np.append(before, len(states) - 1)  # not where the hand comes to rest: things may still move


def prepare(
    episode: Episode, rules: Rules, view: View, turning: Turning = "exact", most: int = KEY_FRAMES
) -> tuple[Prepared | None, Tally]:
    """The good frames and pairs of an episode, looked at through all of a view's cameras."""
    tally = Tally()
    frames = key_frames(episode.states, rules, most)
    tally.add("frames read", count=len(frames))
    try:
        seen = [camera.read(frames.tolist(), grey=True) for camera in view.cameras(episode)]
    except UnreadableError as error:
        tally.add("episode: pictures cannot be read", f"{episode.id}: {error}")
        return None, tally
    good = []
    for place, frame in enumerate(frames):
        flaws = [found for camera in seen if (found := flaw(camera[place], rules))]
        if not all(there[frame] for there in episode.hand_seen[: view.outside]):
            flaws.append("fingertips outside the picture")
        if flaws:
            tally.add(f"frame: {flaws[0]}", f"{episode.id} frame {frame}")
        else:
            good.append(place)
    small = [np.stack([coarse(picture) for picture in camera]) for camera in seen]  # each (k, height, width)
    kept, actions, alike = [], [], []
    states = episode.states[frames]
    for first, second in combinations(good, 2):
        action = difference(states[first], states[second], turning)
        reason = _flaw(action, states[[first, second]], rules, turning)
        if any(change(camera[first], camera[second]) < rules.change for camera in small):
            alike.append((int(frames[first]), int(frames[second])))
            reason = reason or "pair: before and after look alike"
        tally.add(
            reason or "pair: kept", f"{episode.id} frames {frames[first]}, {frames[second]}" if reason else ""
        )
        if not reason:
            kept.append((frames[first], frames[second]))
            actions.append(action)
    ends = int(frames[0]), int(frames[-1])
    whole = {0, len(frames) - 1} <= set(good) and len(frames) > 1 and ends not in alike
    if ends in alike:
        tally.add("episode: beginning and end look alike", episode.id)
    result = Prepared(
        episode,
        frames[good],
        whole,
        np.array(kept, dtype=np.int64).reshape(-1, 2),
        np.array(actions, dtype=np.float64).reshape(-1, 7),
        small[0][0],
        small[0][-1],
        frozenset(alike),
    )
    return result, tally


def prepared(
    source: Source, view: View, tally: Tally, *, turning: Turning = "exact", most: int | None = None
) -> Iterator[Prepared]:
    """The first ``most`` episodes of a source that have good frames; what is left out is counted."""
    found = 0

    def one(episode: Episode) -> tuple[Prepared | None, Tally]:
        missing = view.missing(episode)
        if missing:
            counts = Tally()
            counts.add("episode: missing camera", f"{episode.id}: {missing}")
            return None, counts
        return prepare(episode, source.rules, view, turning)

    with ThreadPoolExecutor(source.threads) as pool:
        episodes = source.episodes(tally)
        at_once = 8 * source.threads
        # Not one more than is wanted: a source may have to play an episode to give it.
        while batch := list(islice(episodes, at_once if most is None else min(at_once, most - found))):
            for result, counts in pool.map(one, batch) if source.threads > 1 else map(one, batch):
                tally.add_all(counts)
                if result is not None:
                    yield result
                    found += 1
                    if found == most:
                        return


def _flaw(action: np.ndarray, states: np.ndarray, rules: Rules, turning: Turning) -> str:
    pattern = signs(action, rules.thresholds)
    if np.count_nonzero(pattern) < LEAST_DIMENSIONS:
        return "pair: trivial motion"
    if turning == "wrapped":
        if np.abs(states[:, 4]).max() > UPRIGHT:
            return "pair: roll and yaw cannot be told apart"
        true = signs(difference(states[0], states[1], "exact"), rules.thresholds)
        if (true[ANGLES] != pattern[ANGLES]).any():
            return "pair: differences of angles name other axes than the turn"
    return ""
