"""Builds a folder of questions from episode sources."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from assay import __version__
from assay.extensions.eqa.actions import ActionLevel, Turning
from assay.extensions.eqa.drafts import Draft, OptionMethod, Plan, Shot, WrongInstructions, plan_drafts
from assay.extensions.eqa.episode import EPISODES_FOUND, EpisodeSource, QualityRules, Tally
from assay.extensions.eqa.pairs import PreparedEpisode, prepare_episodes
from assay.extensions.eqa.question import (
    FOLDER_FILES,
    LETTERS,
    PICTURES,
    Question,
    QuestionError,
    QuestionKind,
    save,
)
from assay.extensions.eqa.views import CameraView
from assay.extensions.eqa.wording import write_text
from assay.support.files import making


@dataclass(frozen=True, slots=True, eq=False)
class InstructionCase:
    """An episode that needs wrong instructions."""

    episode: str
    """Id of the episode."""
    instruction: str
    images: Callable[[], Sequence[np.ndarray]]
    """Function that reads or renders the first and last frame: uint8, (height, width, 3) each."""


Distractors = Callable[[Sequence[InstructionCase]], WrongInstructions]
"""Function that returns three wrong instructions per episode; episodes that it omits get those of the data set."""
IDENTICAL_OPTIONS = "question: two options look the same"
ADVICE = {
    "missing camera": "--views names the cameras",
    "gripper on another scale": "--gripper gives its values",
    "cannot be read": "--schema names the layout of a data set",
    "trivial motion": "thresholds are defined in assay.extensions.eqa.sources.schema",
}
"""Advice about a source without questions, by a part of the reason."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Number of questions, and reasons for skipped frames, pairs and episodes."""

    questions: int
    counts: dict[str, dict[str, int]]
    """Number of questions of each kind by data set."""
    short: dict[str, dict[str, int]]
    """Kinds with fewer questions than requested, by data set."""
    tallies: dict[str, Tally]
    """Skipped frames, pairs and episodes by data set."""


def build(
    out: Path,
    sources: Sequence[EpisodeSource],
    plan: Plan,
    views: Sequence[CameraView],
    *,
    seed: int = 0,
    turning: Turning = "exact",
    most_episodes: int | None = None,
    on_episode: Callable[[], None] = lambda: None,
    settings: Mapping[str, object] | None = None,
    distractors: Distractors | None = None,
    options: OptionMethod = "matched",
) -> BuildResult:
    """Build questions from sources in a new folder; each question appears once for every view.

    ``most_episodes`` limits the episodes of each source, ``on_episode`` is called after each. ``settings`` are stored
    with the questions. ``distractors`` writes wrong instructions for data sets that do not record which episodes
    share an initial state. All files are written to ``OUT.part``, which is renamed to ``out`` at the end.
    """
    if len({source.name for source in sources}) < len(sources):
        raise QuestionError(f"two sources have the same name: {', '.join(source.name for source in sources)}")
    all_cameras = CameraView(max(view.outside for view in views), any(view.hand for view in views))
    questions: list[Question] = []
    counts: dict[str, dict[str, int]] = {}
    short: dict[str, dict[str, int]] = {}
    tallies: dict[str, Tally] = {}
    with making(out, ours=set(FOLDER_FILES)) as folder:
        for source in sources:
            tally = tallies[source.name] = Tally()
            ready = []
            for episode in prepare_episodes(source, all_cameras, tally, turning=turning, most=most_episodes):
                ready.append(episode)
                on_episode()
            wrong: WrongInstructions = {}
            if distractors is not None and QuestionKind.H_AI in plan:
                wrong = distractors(_instruction_cases(ready, views[0]))
            drafts = plan_drafts(ready, source.rules, plan, seed, source.name, wrong=wrong, options=options)
            by_kind = write_questions(folder, source, ready, drafts, views, turning=turning, tally=tally)
            for rotation in zip_longest(*by_kind.values()):
                questions += [question for question in rotation if question is not None]
            counts[source.name] = {str(kind): len(group) // len(views) for kind, group in by_kind.items()}
            short[source.name] = {
                kind: count for kind, count in counts[source.name].items() if count < plan[QuestionKind(kind)]
            }
        if not questions:
            reasons = "; ".join(f"{name}: {_summarise_tally(tally)}" for name, tally in tallies.items())
            raise QuestionError(f"no question could be made; {reasons}")
        info = {
            "version": __version__,
            **(settings or {}),
            "seed": seed,
            "views": [str(view) for view in views],
            "turning": turning,
            "options": options,
            "plan": {str(kind): count for kind, count in plan.items()},
            "most_episodes": most_episodes,
            "counts": counts,
            "short": short,
            "tally": {name: tally.as_json() for name, tally in tallies.items()},
        }
        save(folder, questions, info)
    return BuildResult(len(questions), counts, short, tallies)


def write_questions(
    out: Path,
    source: EpisodeSource,
    ready: Sequence[PreparedEpisode],
    drafts: Mapping[QuestionKind, Sequence[Draft]],
    views: Sequence[CameraView],
    *,
    turning: Turning = "exact",
    tally: Tally,
) -> dict[QuestionKind, list[Question]]:
    """Write the images of drafts and create the questions, each once for every view.

    Questions with two identical options in some view are skipped.
    """
    shots = {shot for draft in chain(*drafts.values()) for shot in (*draft.shots, *draft.option_shots)}
    files = _write_images(out, ready, sorted(shots), views, source.threads)
    questions = {}
    for kind, group in drafts.items():
        distinct = [
            draft
            for draft in group
            if all(
                len({names[shot] for shot in draft.option_shots}) == len(draft.option_shots)
                for names in files.values()
            )
        ]
        tally.add(IDENTICAL_OPTIONS, count=len(group) - len(distinct))
        questions[kind] = [
            _question(draft, view, source.name, source.rules, ready, files[view], turning)
            for draft in distinct
            for view in views
        ]
    return questions


def _instruction_cases(ready: Sequence[PreparedEpisode], view: CameraView) -> list[InstructionCase]:
    """Return the complete episodes whose scene is unknown."""
    return [
        InstructionCase(
            prepared.episode.id,
            prepared.episode.instruction,
            partial(view.images, prepared.episode, [int(prepared.frames[0]), int(prepared.frames[-1])]),
        )
        for prepared in ready
        if prepared.whole and prepared.episode.instruction and not prepared.episode.scene
    ]


def _summarise_tally(tally: Tally, most: int = 4) -> str:
    """Describe the most frequent reasons for skipping, each with an example, and give advice."""
    skipped = [(reason, count) for reason, count in tally.counts.most_common() if ": " in reason][:most]
    reasons = [
        f"{count} x {reason}" + "".join(f" ({place})" for place in tally.places[reason][:1])
        for reason, count in skipped
    ]
    advice = [text for part, text in ADVICE.items() if any(part in reason for reason, _ in skipped)]
    found = f"{tally.counts[EPISODES_FOUND]} episodes found"
    return ", ".join([found, *reasons]) + "".join(f"; {text}" for text in advice)


def _question(
    draft: Draft,
    view: CameraView,
    dataset: str,
    rules: QualityRules,
    ready: Sequence[PreparedEpisode],
    files: Mapping[Shot, str],
    turning: Turning,
) -> Question:
    episode = ready[draft.shots[0].episode].episode
    return Question.of(
        kind=str(draft.kind),
        dataset=dataset,
        episode=episode.id,
        group=draft.group,
        view=str(view),
        text=write_text(
            draft.kind, view, draft.action, rules.thresholds, turning, episode.places, episode.hand_place
        ),
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
        thresholds=rules.thresholds if draft.kind.level is not ActionLevel.HIGH else (),
        turning=turning,
    )


def _write_images(
    out: Path,
    ready: Sequence[PreparedEpisode],
    shots: Sequence[Shot],
    views: Sequence[CameraView],
    threads: int,
) -> dict[CameraView, dict[Shot, str]]:
    """Write every frame once for each view; returns file names relative to the folder."""
    (out / PICTURES).mkdir(parents=True, exist_ok=True)
    frames: defaultdict[int, list[int]] = defaultdict(list)
    for shot in shots:
        frames[shot.episode].append(shot.frame)

    def write_episode(owner: int) -> list[tuple[CameraView, Shot, str]]:
        return [
            (view, Shot(owner, frame), save_image(out, image))
            for view in views
            for frame, image in zip(
                frames[owner], view.images(ready[owner].episode, frames[owner]), strict=True
            )
        ]

    files: dict[CameraView, dict[Shot, str]] = {view: {} for view in views}
    with ThreadPoolExecutor(threads) as pool:
        for written in pool.map(write_episode, frames) if threads > 1 else map(write_episode, frames):
            for view, shot, name in written:
                files[view][shot] = name
    return files


def save_image(out: Path, image: np.ndarray) -> str:
    """Write an image and return its name relative to ``out``: a hash of its pixels, which reveals nothing."""
    digest = hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()[:24]
    name = f"{PICTURES}/{digest}.png"
    if not (out / name).exists():
        Image.fromarray(image).save(out / name, compress_level=1)
    return name
