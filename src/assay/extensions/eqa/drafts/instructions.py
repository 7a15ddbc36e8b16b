"""Drafts of questions about instructions: which instruction was carried out, or what its outcome was.

If several instructions were carried out from the same initial state, the options are four of them, or their four
outcomes. If a data set does not record which episodes share an initial state, their first images are compared. For
the remaining episodes the options are the most similar instructions in the data set, or wrong instructions written by
a model; for outcomes, the last moment of an episode and three earlier ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType

import numpy as np

from assay.extensions.eqa.actions import difference
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot
from assay.extensions.eqa.drafts.motions import MIN_GAP
from assay.extensions.eqa.episode import QualityRules
from assay.extensions.eqa.pairs import PreparedEpisode, changed_fraction
from assay.extensions.eqa.question import QuestionKind

WrongInstructions = Mapping[str, tuple[str, ...]]
"""Three wrong instructions for each episode id."""
SAME_START = 0.02
"""Maximum fraction of blocks that differ between the first images of two episodes with the same initial state."""
_STOP_WORDS = "a an the to of and it its into onto in on from with up down put place pick move take set"
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that do not distinguish one task from another."""
MAX_TRIES = 50
"""Number of consecutive draws of already used options after which a scene is skipped."""


def draft_instructions(
    kind: QuestionKind,
    prepared: Sequence[PreparedEpisode],
    rules: QualityRules,
    rng: np.random.Generator,
    wrong: WrongInstructions = MappingProxyType({}),
) -> Iterator[Draft]:
    """Draft high-level questions, cycling through the scenes, without repetition.

    ``wrong`` contains wrong instructions for episodes whose scene has fewer than four instructions; other episodes get
    instructions from the data set as options.
    """
    whole: dict[int, PreparedEpisode] = {}
    scenes: defaultdict[str, list[int]] = defaultdict(list)
    for owner, prepared_episode in enumerate(prepared):
        if prepared_episode.whole and prepared_episode.episode.instruction:
            whole[owner] = prepared_episode
            scenes[prepared_episode.episode.scene].append(owner)
    groups: list[list[int]] = []  # episodes with similar first images
    for owner in scenes.pop("", []):
        first = whole[owner].first
        for group in groups:
            leader = whole[group[0]].first
            if leader.size and leader.shape == first.shape and changed_fraction(leader, first) < SAME_START:
                group.append(owner)
                break
        else:
            groups.append([owner])
    sources: list[Iterator[Draft]] = []
    rest: list[int] = []
    for owners in (*groups, *scenes.values()):
        if len(_choose_exclusive(whole, owners, rules)) >= OPTIONS:
            sources.append(_draft_scene(kind, whole, owners, rules, rng))
        else:
            rest += owners
    rest.sort()
    if rest and kind.predicts:
        sources.append(_draft_moments(whole, rest, rules, rng))
    elif rest:
        written = [owner for owner in rest if whole[owner].episode.id in wrong]
        sources.append(
            Draft(
                QuestionKind.H_AI,
                " | ".join(sorted(options)),
                (Shot(owner, int(whole[owner].frames[0])), Shot(owner, int(whole[owner].frames[-1]))),
                right=0,
                options=options,
            )
            for owner in rng.permutation(written).tolist()
            for episode in [whole[owner].episode]
            for options in [(episode.instruction, *wrong[episode.id])]
        )
        sources.append(_draft_similar(whole, [owner for owner in rest if owner not in written], rest, rng))
    for drafts in zip_longest(*sources):
        yield from filter(None, drafts)


def _choose_exclusive(whole: dict[int, PreparedEpisode], owners: list[int], rules: QualityRules) -> list[int]:
    """Return up to four episodes, in order, such that no outcome fulfils the instruction of another episode."""

    def is_exclusive(one: PreparedEpisode, other: PreparedEpisode) -> bool:
        first, second = one.episode, other.episode
        if one.last.shape == other.last.shape and changed_fraction(one.last, other.last) < rules.change:
            return False
        if first.achieved and second.achieved:
            return (
                first.instruction != second.instruction
                and first.instruction not in second.achieved
                and second.instruction not in first.achieved
            )
        return is_different(first.instruction, second.instruction)

    chosen: list[int] = []
    for owner in owners:
        if len(chosen) < OPTIONS and all(is_exclusive(whole[owner], whole[other]) for other in chosen):
            chosen.append(owner)
    return chosen


def _draft_scene(
    kind: QuestionKind,
    whole: dict[int, PreparedEpisode],
    owners: list[int],
    rules: QualityRules,
    rng: np.random.Generator,
) -> Iterator[Draft]:
    used, tries = set(), 0
    while tries < MAX_TRIES:
        tries += 1
        chosen = _choose_exclusive(whole, rng.permutation(owners).tolist(), rules)
        if len(chosen) < OPTIONS:
            return
        right = int(rng.integers(OPTIONS))
        key = (frozenset(chosen), chosen[right])
        if key not in used:
            used.add(key)
            tries = 0
            yield _draft(kind, whole[chosen[0]].group, whole, chosen, right)


def _draft(
    kind: QuestionKind, group: str, whole: dict[int, PreparedEpisode], chosen: list[int], right: int
) -> Draft:
    episodes = [whole[owner].episode for owner in chosen]
    texts = [episode.instruction for episode in episodes]
    ends = [Shot(owner, int(whole[owner].frames[-1])) for owner in chosen]
    start = Shot(chosen[right], int(whole[chosen[right]].frames[0]))
    if kind.predicts:
        has_goals = all(episode.achieved for episode in episodes)
        return Draft(
            kind,
            group,
            (start,),
            right,
            option_shots=tuple(ends),
            action=texts[right],
            achieved=tuple(texts[right] in episode.achieved for episode in episodes) if has_goals else (),
        )
    achieved = episodes[right].achieved
    return Draft(
        kind,
        group,
        (start, ends[right]),
        right,
        options=tuple(texts),
        achieved=tuple(text in achieved for text in texts) if achieved else (),
    )


def _draft_similar(
    whole: dict[int, PreparedEpisode], anchors: list[int], owners: list[int], rng: np.random.Generator
) -> Iterator[Draft]:
    """Draft questions whose options are an instruction and the three others that share the most words with it.

    Any of the four may be correct. Options are drawn independently of earlier questions: otherwise the answer to
    one question would be a hint for another.
    """
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for owner in owners:
        by_text[whole[owner].episode.instruction].append(owner)
    content = {text: _content_words(text) for text in by_text}
    achieved = {
        text: frozenset().union(*(whole[owner].episode.achieved for owner in members))
        for text, members in by_text.items()
    }

    def similarity(text: str, anchor: str) -> float:
        return len(content[text] & content[anchor]) / max(len(content[text] | content[anchor]), 1)

    for anchor in rng.permutation(sorted({whole[owner].episode.instruction for owner in anchors})).tolist():
        chosen = [anchor]
        for text in sorted(by_text, key=lambda text: (-similarity(text, anchor), rng.random())):
            if len(chosen) < OPTIONS and all(
                is_different(text, other) and text not in achieved[other] and other not in achieved[text]
                for other in chosen
            ):
                chosen.append(text)
        if len(chosen) == OPTIONS:
            right = int(rng.integers(OPTIONS))
            members = [int(rng.choice(by_text[text])) for text in chosen]
            yield _draft(QuestionKind.H_AI, anchor, whole, members, right)


def _draft_moments(
    whole: dict[int, PreparedEpisode], owners: list[int], rules: QualityRules, rng: np.random.Generator
) -> Iterator[Draft]:
    """Draft questions about the last moment of an episode (always correct) and three earlier moments."""
    for owner in rng.permutation(owners).tolist():
        episode = whole[owner]
        states = episode.episode.states
        chosen = [int(episode.frames[-1])]
        for frame in rng.permutation(episode.frames[1:-1]).tolist():
            units = difference(states[frame], states[chosen]) / np.asarray(rules.thresholds)
            apart = (np.abs(units).max(axis=1) >= MIN_GAP).all()
            distinct = not any((min(frame, other), max(frame, other)) in episode.alike for other in chosen)
            if len(chosen) < OPTIONS and apart and distinct:
                chosen.append(frame)
        if len(chosen) == OPTIONS:
            yield Draft(
                QuestionKind.H_SP,
                episode.episode.id,
                (Shot(owner, int(episode.frames[0])),),
                0,
                option_shots=tuple(Shot(owner, frame) for frame in chosen),
                action=episode.episode.instruction,
            )


def _content_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower())) - STOP_WORDS


def is_different(one: str, two: str) -> bool:
    """Return whether each instruction has a content word that the other lacks, so that neither is a paraphrase."""
    first, second = _content_words(one), _content_words(two)
    return bool(first - second) and bool(second - first)
