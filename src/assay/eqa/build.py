"""Builds a folder of questions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from assay.eqa.actions import Level, Turning
from assay.eqa.drafts import Draft, Plan, Shot, planned
from assay.eqa.episode import Rules, Source, Tally
from assay.eqa.errors import QuestionError
from assay.eqa.pairs import Prepared, prepared
from assay.eqa.question import LETTERS, PICTURES, QUESTIONS, Kind, Question, save
from assay.eqa.views import View, all_of
from assay.eqa.wording import worded


@dataclass(frozen=True, slots=True)
class Built:
    """What was built, and what was not."""

    questions: int
    counts: dict[str, dict[str, int]]
    """Questions of each kind, by data set."""
    short: dict[str, dict[str, int]]
    """Kinds of which there are fewer than asked for, by data set."""
    tallies: dict[str, Tally]
    """What was left out, by data set."""


def build(
    out: Path,
    sources: Sequence[Source],
    plan: Plan,
    views: Sequence[View],
    *,
    seed: int = 0,
    turning: Turning = "wrapped",
    most_episodes: int | None = None,
    on_episode: Callable[[], None] = lambda: None,
) -> Built:
    """Make questions from sources in a new folder; each question once for every view.

    ``most_episodes`` bounds what is taken from each source. ``on_episode`` is called after each.
    """
    if (out / QUESTIONS).exists() or (out.is_dir() and any(out.iterdir())):
        raise QuestionError(f"{out} is not empty; name another folder")
    if len({source.name for source in sources}) < len(sources):
        raise QuestionError(f"two sources are called alike: {', '.join(source.name for source in sources)}")
    questions: list[Question] = []
    built = Built(0, {}, {}, {})
    for source in sources:
        tally = built.tallies[source.name] = Tally()
        ready = []
        for each in prepared(source, all_of(views), tally, turning=turning, most=most_episodes):
            ready.append(each)
            on_episode()
        made = written(out, source, ready, plan, views, seed=seed, turning=turning)
        questions += _in_turn(made)
        built.counts[source.name] = {str(kind): len(each) // len(views) for kind, each in made.items()}
        built.short[source.name] = {
            str(kind): len(made[kind]) // len(views)
            for kind, count in plan.items()
            if kind in made and len(made[kind]) < count * len(views)
        }
    if not questions:
        reasons = "; ".join(f"{name}: {dict(tally.counts)}" for name, tally in built.tallies.items())
        raise QuestionError(f"no question could be made: {reasons}")
    told = {
        "seed": seed,
        "views": [str(view) for view in views],
        "turning": turning,
        "counts": built.counts,
        "short": built.short,
        "tally": {name: tally.as_json() for name, tally in built.tallies.items()},
    }
    save(out, questions, told)
    return Built(len(questions), built.counts, built.short, built.tallies)


def written(
    out: Path,
    source: Source,
    ready: Sequence[Prepared],
    plan: Plan,
    views: Sequence[View],
    *,
    seed: int = 0,
    turning: Turning = "wrapped",
) -> dict[Kind, list[Question]]:
    """Questions of one data set from prepared pairs; their pictures are written."""
    drafts = planned(ready, source.rules, plan, seed, source.name)
    shots = {shot for each in chain(*drafts.values()) for shot in (*each.shots, *each.option_shots)}
    files = _pictures(out, ready, sorted(shots), views, source.threads)
    return {
        kind: [
            _question(draft, view, source.name, source.rules, ready, files[view], turning)
            for draft in each
            for view in views
        ]
        for kind, each in drafts.items()
    }


def _question(
    draft: Draft,
    view: View,
    dataset: str,
    rules: Rules,
    ready: Sequence[Prepared],
    files: dict[Shot, str],
    turning: Turning,
) -> Question:
    return Question.of(
        kind=str(draft.kind),
        dataset=dataset,
        episode=ready[draft.shots[0].episode].episode.id,
        group=draft.group,
        view=str(view),
        text=worded(draft.kind, view, draft.action),
        pictures=[files[shot] for shot in draft.shots],
        options=draft.options,
        option_pictures=[files[shot] for shot in draft.option_shots],
        answer=LETTERS[draft.right],
        moments=[
            f"{ready[shot.episode].episode.id} frame {shot.frame}"
            for shot in (*draft.shots, *draft.option_shots)
        ],
        states=draft.states,
        actions=draft.actions,
        achieved=draft.achieved,
        thresholds=rules.thresholds if draft.kind.level is not Level.HIGH else (),
        turning=turning,
    )


def _pictures(
    out: Path, ready: Sequence[Prepared], shots: Sequence[Shot], views: Sequence[View], threads: int
) -> dict[View, dict[Shot, str]]:
    """Write every moment that is shown, once for each view; returns the files, relative to the folder."""
    (out / PICTURES).mkdir(parents=True, exist_ok=True)
    frames: defaultdict[int, list[int]] = defaultdict(list)
    for shot in shots:
        frames[shot.episode].append(shot.frame)

    def of_episode(owner: int) -> list[tuple[View, Shot, str]]:
        return [
            (view, Shot(owner, frame), _saved(out, picture))
            for view in views
            for frame, picture in zip(
                frames[owner], view.pictures(ready[owner].episode, frames[owner]), strict=True
            )
        ]

    files: dict[View, dict[Shot, str]] = {view: {} for view in views}
    with ThreadPoolExecutor(threads) as pool:
        for each in pool.map(of_episode, frames) if threads > 1 else map(of_episode, frames):
            for view, shot, name in each:
                files[view][shot] = name
    return files


def _saved(out: Path, picture: np.ndarray) -> str:
    """Write a picture under a name that says what is on it and nothing else."""
    digest = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()[:24]
    name = f"{PICTURES}/{digest}.png"
    if not (out / name).exists():
        Image.fromarray(picture).save(out / name, compress_level=1)
    return name


def _in_turn(made: dict[Kind, list[Question]]) -> Iterator[Question]:
    """One question of each kind after the other."""
    return (each for turn in zip_longest(*made.values()) for each in turn if each is not None)
