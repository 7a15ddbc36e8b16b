"""Builds a folder of questions from episode sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from assay import __version__
from assay.extensions.eqa.actions import ActionLevel, Turning
from assay.extensions.eqa.drafts import Draft, OptionMethod, Plan, Shot, WrongInstructions, plan_drafts
from assay.extensions.eqa.episode import EpisodeSource, Tally
from assay.extensions.eqa.pairs import PreparedEpisode, prepare_episodes
from assay.extensions.eqa.progress import Progress
from assay.extensions.eqa.question import FOLDER_FILES, LETTERS, Question, QuestionError, QuestionKind, save
from assay.extensions.eqa.views import CameraView, save_image, write_text
from assay.support.files import making


@dataclass(frozen=True, slots=True, eq=False)
class InstructionCase:
    """An episode for which a model has to write wrong instructions."""

    episode: str
    """Id of the episode."""
    instruction: str
    images: Callable[[], Sequence[np.ndarray]]
    """Function that reads or renders the first and last frame: uint8, (height, width, 3) each."""


Distractors = Callable[[Sequence[InstructionCase]], WrongInstructions]
"""Function that returns three wrong instructions by episode id; for ids that it omits, the data set's are used."""
PROGRESS = "progress.sqlite"
"""Name of the file with the prepared episodes of an unfinished build."""
IDENTICAL_OPTIONS = "question: two options look the same"


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Number of questions, and reasons for skipping frames, pairs and episodes."""

    questions: int
    counts: dict[str, dict[str, int]]
    """Number of questions by data set and kind."""
    short: dict[str, dict[str, int]]
    """Number of questions by data set and kind, only for kinds with fewer questions than requested."""
    tallies: dict[str, Tally]
    """Tally of skipped frames, pairs and episodes for each data set."""


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

    ``most_episodes`` limits the number of episodes per source, and ``on_episode`` is called after each episode.
    ``settings`` are stored with the questions. ``distractors`` is a function that writes wrong instructions for
    data sets that do not record which episodes share an initial state. All files are written to ``OUT.part``,
    which is renamed to ``out`` at the end. An interrupted build leaves its prepared episodes there for the next one.
    """
    if len({source.name for source in sources}) < len(sources):
        raise QuestionError(
            f"sources must have different names, got {', '.join(source.name for source in sources)}"
        )
    all_cameras = CameraView(max(view.outside for view in views), any(view.hand for view in views))
    questions: list[Question] = []
    counts: dict[str, dict[str, int]] = {}
    short: dict[str, dict[str, int]] = {}
    tallies: dict[str, Tally] = {}
    identity = (__version__, settings, turning, str(all_cameras))
    with (
        making(out, ours=set(FOLDER_FILES), progress=PROGRESS) as folder,
        closing(Progress(folder / PROGRESS, identity)) as progress,
    ):
        for source in sources:
            tally = tallies[source.name] = Tally()
            ready = []
            for episode in prepare_episodes(
                source, all_cameras, tally, turning=turning, most=most_episodes, progress=progress
            ):
                ready.append(episode)
                on_episode()
            wrong: WrongInstructions = {}
            if distractors is not None and QuestionKind.H_AI in plan:
                wrong = distractors(
                    [
                        InstructionCase(
                            prepared.episode.id,
                            prepared.episode.instruction,
                            partial(views[0].images, prepared.episode, prepared.frames[[0, -1]].tolist()),
                        )
                        for prepared in ready
                        if prepared.whole and prepared.episode.instruction and not prepared.episode.scene
                    ]
                )
            drafts = plan_drafts(ready, source.rules, plan, seed, source.name, wrong=wrong, options=options)
            by_kind = write_questions(folder, source, ready, drafts, views, turning=turning, tally=tally)
            for rotation in zip_longest(*by_kind.values()):
                questions += [question for question in rotation if question is not None]
            counts[source.name] = {str(kind): len(group) // len(views) for kind, group in by_kind.items()}
            short[source.name] = {
                kind: count for kind, count in counts[source.name].items() if count < plan[QuestionKind(kind)]
            }
        if not questions:
            (folder / PROGRESS).unlink()  # other options are needed
            reasons = "; ".join(f"{name}: {tally.summary()}" for name, tally in tallies.items())
            raise QuestionError(f"no questions could be built: {reasons}")
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
    frames: defaultdict[int, set[int]] = defaultdict(set)
    for draft in chain(*drafts.values()):
        for shot in (*draft.shots, *draft.option_shots):
            frames[shot.episode].add(shot.frame)

    files: dict[CameraView, dict[Shot, str]] = {view: {} for view in views}
    for owner, shown in sorted(frames.items()):
        wanted = sorted(shown)
        for view in views:
            for frame, image in zip(wanted, view.images(ready[owner].episode, wanted), strict=True):
                files[view][Shot(owner, frame)] = save_image(out, image)

    def question(draft: Draft, view: CameraView) -> Question:
        episode, thresholds = ready[draft.shots[0].episode].episode, source.rules.thresholds
        shots, option_shots = draft.shots, draft.option_shots
        places = (episode.places, episode.hand_place)
        return Question.of(
            kind=str(draft.kind),
            dataset=source.name,
            episode=episode.id,
            group=draft.group,
            view=str(view),
            text=write_text(draft.kind, view, draft.action, thresholds, turning, *places),
            pictures=[files[view][shot] for shot in shots],
            options=draft.options,
            option_pictures=[files[view][shot] for shot in option_shots],
            answer=LETTERS[draft.right],
            moments=[
                f"{ready[shot.episode].episode.id} frame {shot.frame}" for shot in (*shots, *option_shots)
            ],
            states=draft.states,
            actions=draft.actions,
            achieved=draft.achieved,
            thresholds=thresholds if draft.kind.level is not ActionLevel.HIGH else (),
            turning=turning,
        )

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
        questions[kind] = [question(draft, view) for draft in distinct for view in views]
    return questions
