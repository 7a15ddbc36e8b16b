"""Builds a folder of questions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from assay import __version__
from assay.extensions.eqa.actions import Level, Turning
from assay.extensions.eqa.drafts import Draft, Options, Plan, Shot, Wrong, planned
from assay.extensions.eqa.episode import FOUND, Rules, Source, Tally
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.pairs import Prepared, prepared
from assay.extensions.eqa.question import BUILD, LETTERS, METADATA, PICTURES, QUESTIONS, Kind, Question, save
from assay.extensions.eqa.views import View, all_of
from assay.extensions.eqa.wording import worded
from assay.support.files import making


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """An episode for which wrong instructions are wanted."""

    episode: str
    """Its id."""
    instruction: str
    pictures: Callable[[], Sequence[np.ndarray]]
    """Draws, or reads, how it begins and ends: uint8, (height, width, 3) each."""


Distractors = Callable[[Sequence[Case]], Wrong]
"""Gives three wrong instructions for each of some episodes; those it leaves out are edited."""
ALIKE = "question: two options look the same"
ADVICE = {
    "missing camera": "--views names the cameras",
    "gripper on another scale": "--gripper gives its values",
    "cannot be read": "--schema names how a data set is written",
    "trivial motion": "thresholds are those of assay.extensions.eqa.sources.schema",
}
"""What may help if nothing comes of a source, by a part of the reason."""


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
    turning: Turning = "exact",
    most_episodes: int | None = None,
    on_episode: Callable[[], None] = lambda: None,
    settings: Mapping[str, object] | None = None,
    distractors: Distractors | None = None,
    options: Options = "matched",
) -> Built:
    """Make questions from sources in a new folder; each question once for every view.

    ``most_episodes`` bounds what is taken from each source. ``on_episode`` is called after each. ``settings``
    are written down beside the questions. ``distractors`` gives wrong instructions, where it can, for data
    sets that do not say which episodes began alike. All is made in ``OUT.part``, which becomes ``out`` in the
    end.
    """
    if len({source.name for source in sources}) < len(sources):
        raise QuestionError(f"two sources are called alike: {', '.join(source.name for source in sources)}")
    with making(out, ours={QUESTIONS, METADATA, BUILD, PICTURES}) as unfinished:
        return _built(
            unfinished,
            sources,
            plan,
            views,
            seed,
            turning,
            most_episodes,
            on_episode,
            settings or {},
            distractors,
            options,
        )


def _built(
    out: Path,
    sources: Sequence[Source],
    plan: Plan,
    views: Sequence[View],
    seed: int,
    turning: Turning,
    most_episodes: int | None,
    on_episode: Callable[[], None],
    settings: Mapping[str, object],
    distractors: Distractors | None,
    options: Options,
) -> Built:
    questions: list[Question] = []
    built = Built(0, {}, {}, {})
    for source in sources:
        tally = built.tallies[source.name] = Tally()
        ready = []
        for each in prepared(source, all_of(views), tally, turning=turning, most=most_episodes):
            ready.append(each)
            on_episode()
        wrong = None if distractors is None or Kind.H_AI not in plan else distractors(_cases(ready, views[0]))
        made = written(
            out,
            source,
            ready,
            plan,
            views,
            seed=seed,
            turning=turning,
            tally=tally,
            wrong=wrong,
            options=options,
        )
        questions += _in_turn(made)
        built.counts[source.name] = {str(kind): len(each) // len(views) for kind, each in made.items()}
        built.short[source.name] = {
            str(kind): len(made[kind]) // len(views)
            for kind, count in plan.items()
            if kind in made and len(made[kind]) < count * len(views)
        }
    if not questions:
        reasons = "; ".join(f"{name}: {_reasons(tally)}" for name, tally in built.tallies.items())
        raise QuestionError(f"no question could be made; {reasons}")
    told = {
        "version": __version__,
        **settings,
        "seed": seed,
        "views": [str(view) for view in views],
        "turning": turning,
        "options": options,
        "plan": {str(kind): count for kind, count in plan.items()},
        "most_episodes": most_episodes,
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
    turning: Turning = "exact",
    tally: Tally | None = None,
    wrong: Wrong | None = None,
    options: Options = "matched",
) -> dict[Kind, list[Question]]:
    """Questions of one data set from prepared pairs; their pictures are written.

    A question of which two options look the same in some view is left out.
    """
    drafts = planned(ready, source.rules, plan, seed, source.name, wrong=wrong, options=options)
    shots = {shot for each in chain(*drafts.values()) for shot in (*each.shots, *each.option_shots)}
    files = _pictures(out, ready, sorted(shots), views, source.threads)
    for kind, each in drafts.items():
        drafts[kind] = [draft for draft in each if not _alike(draft, files)]
        if tally is not None:
            tally.add(ALIKE, count=len(each) - len(drafts[kind]))
    return {
        kind: [
            _question(draft, view, source.name, source.rules, ready, files[view], turning)
            for draft in each
            for view in views
        ]
        for kind, each in drafts.items()
    }


def _cases(ready: Sequence[Prepared], view: View) -> list[Case]:
    """Whole episodes of which it is not known what else could have been done from the same beginning."""
    return [
        Case(
            each.episode.id,
            each.episode.instruction,
            partial(view.pictures, each.episode, [int(each.frames[0]), int(each.frames[-1])]),
        )
        for each in ready
        if each.whole and each.episode.instruction and not each.episode.scene
    ]


def _alike(draft: Draft, files: Mapping[View, Mapping[Shot, str]]) -> bool:
    return any(
        len({file[shot] for shot in draft.option_shots}) < len(draft.option_shots) for file in files.values()
    )


def _reasons(tally: Tally, most: int = 4) -> str:
    """What was left out most often, with an example, and what may help."""
    left = [(reason, count) for reason, count in tally.counts.most_common() if ": " in reason][:most]
    told = [
        f"{count} x {reason}" + "".join(f" ({place})" for place in tally.places[reason][:1])
        for reason, count in left
    ]
    found = f"{tally.counts[FOUND]} episodes found"
    advice = [text for part, text in ADVICE.items() if any(part in reason for reason, _ in left)]
    return ", ".join([found, *told]) + "".join(f"; {text}" for text in advice)


def _question(
    draft: Draft,
    view: View,
    dataset: str,
    rules: Rules,
    ready: Sequence[Prepared],
    files: dict[Shot, str],
    turning: Turning,
) -> Question:
    episode = ready[draft.shots[0].episode].episode
    return Question.of(
        kind=str(draft.kind),
        dataset=dataset,
        episode=episode.id,
        group=draft.group,
        view=str(view),
        text=worded(
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
            (view, Shot(owner, frame), saved(out, picture))
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


def saved(out: Path, picture: np.ndarray) -> str:
    """Write a picture under a name that says what is on it and nothing else."""
    digest = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()[:24]
    name = f"{PICTURES}/{digest}.png"
    if not (out / name).exists():
        Image.fromarray(picture).save(out / name, compress_level=1)
    return name


def _in_turn(made: dict[Kind, list[Question]]) -> Iterator[Question]:
    """One question of each kind after the other."""
    return (each for turn in zip_longest(*made.values()) for each in turn if each is not None)
