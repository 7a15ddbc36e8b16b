"""Instructions: which was carried out, and what it led to.

Where several instructions were carried out from the same beginning, the options are four of them, or the four
ends they led to. Where a data set does not say which episodes began alike, their first pictures do. For what
is left over, the instruction stands among the likest ones of the data set, or is edited if that is asked for;
and the end of an episode stands among other moments of it, of which it is the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from assay.extensions.eqa.actions import difference
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot
from assay.extensions.eqa.drafts.edited import edits
from assay.extensions.eqa.drafts.inference import APART
from assay.extensions.eqa.drafts.likeness import is_other, likeness, words
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.pairs import Prepared
from assay.extensions.eqa.quality import change
from assay.extensions.eqa.question import Kind

Wrong = Mapping[str, tuple[str, ...]]
"""Three wrong instructions each, by the id of the episode."""
BEGAN_ALIKE = 0.02
"""Episodes whose first pictures differ in a smaller share of blocks began alike, where no scene is told."""


def high(
    kind: Kind,
    prepared: Sequence[Prepared],
    rules: Rules,
    rng: np.random.Generator,
    wrong: Wrong | None = None,
) -> Iterator[Draft]:
    """Questions about instructions, the scenes in turn; none twice.

    ``wrong`` are wrong instructions that somebody wrote, for episodes whose scene no four instructions share;
    what it lacks is edited. Without it, only instructions that were heard are options.
    """
    whole = {owner: each for owner, each in enumerate(prepared) if each.whole and each.episode.instruction}
    scenes: defaultdict[str, list[int]] = defaultdict(list)
    for owner, each in whole.items():
        scenes[each.episode.scene].append(owner)
    sources: list[Iterator[Draft]] = []
    alone: list[list[int]] = []
    for owners in (*_alike(whole, scenes.pop("", [])), *scenes.values()):
        if len(_different(whole, owners, rules)) >= OPTIONS:
            sources.append(_of_scene(kind, whole, owners, rules, rng))
        else:
            alone.append(owners)
    rest = sorted(chain(*alone))
    if rest and kind.predicts:
        sources.append(_moments(whole, alone, rules, rng))
    elif rest:
        sources.append(_like(whole, rest, rest, rng) if wrong is None else _edited(whole, alone, wrong, rng))
    while sources:
        for source in list(sources):
            draft = next(source, None)
            if draft is None:
                sources.remove(source)
            else:
                yield draft


def _alike(whole: dict[int, Prepared], owners: list[int]) -> list[list[int]]:
    """Episodes in groups that began alike, by their first pictures."""
    groups: list[list[int]] = []
    for owner in owners:
        first = whole[owner].first
        for group in groups:
            leader = whole[group[0]].first
            if leader.size and leader.shape == first.shape and change(leader, first) < BEGAN_ALIKE:
                group.append(owner)
                break
        else:
            groups.append([owner])
    return groups


def _different(whole: dict[int, Prepared], owners: list[int], rules: Rules) -> list[int]:
    """Up to four episodes, taken in order, of which doing any one is not doing another, and looks otherwise."""
    chosen: list[int] = []
    for owner in owners:
        if len(chosen) < OPTIONS and all(_exclusive(whole[owner], whole[other], rules) for other in chosen):
            chosen.append(owner)
    return chosen


def _of_scene(
    kind: Kind, whole: dict[int, Prepared], owners: list[int], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    asked = set()
    tries = 0
    while tries < 50:
        tries += 1
        chosen = _different(whole, rng.permutation(owners).tolist(), rules)
        if len(chosen) < OPTIONS:
            return
        right = int(rng.integers(OPTIONS))
        key = (frozenset(chosen), chosen[right])
        if key not in asked:
            asked.add(key)
            tries = 0
            yield _draft(kind, whole[chosen[0]].group, whole, chosen, right)


def _draft(kind: Kind, group: str, whole: dict[int, Prepared], chosen: list[int], right: int) -> Draft:
    texts = [whole[owner].episode.instruction for owner in chosen]
    ends = [Shot(owner, int(whole[owner].frames[-1])) for owner in chosen]
    truth = chosen[right]
    start = Shot(truth, int(whole[truth].frames[0]))
    episode = whole[truth].episode
    if kind.predicts:
        known = all(whole[owner].episode.achieved for owner in chosen)
        return Draft(
            kind,
            group,
            (start,),
            right,
            option_shots=tuple(ends),
            action=texts[right],
            achieved=tuple(episode.instruction in whole[owner].episode.achieved for owner in chosen)
            if known
            else (),
        )
    return Draft(
        kind,
        group,
        (start, ends[right]),
        right,
        options=tuple(texts),
        achieved=tuple(text in episode.achieved for text in texts) if episode.achieved else (),
    )


def _exclusive(one: Prepared, other: Prepared, rules: Rules) -> bool:
    """Whether doing the one is not doing the other: by what holds and is seen at the end, or else by the words."""
    first, second = one.episode, other.episode
    if one.last.shape == other.last.shape and change(one.last, other.last) < rules.change:
        return False
    if first.achieved and second.achieved:
        told = first.instruction != second.instruction
        return told and first.instruction not in second.achieved and second.instruction not in first.achieved
    return is_other(first.instruction, second.instruction)


def _edited(
    whole: dict[int, Prepared], groups: list[list[int]], wrong: Wrong, rng: np.random.Generator
) -> Iterator[Draft]:
    """Each episode once, with wrong instructions or edits of its own; what has neither goes to `_like`.

    Things and places are those of episodes that began alike, if they are enough, or else of the data set.
    """
    owners, rest = sorted(chain(*groups)), []
    near = {owner: group for group in groups for owner in group}
    for owner in rng.permutation(owners).tolist():
        each = whole[owner]
        heard = ([whole[other].episode.instruction for other in found] for found in (near[owner], owners))
        text = each.episode.instruction
        if each.episode.id in wrong:
            options = (text, *wrong[each.episode.id])
        else:
            options = next(filter(None, (edits(text, some, rng) for some in heard)), ())
        if options:
            shots = Shot(owner, int(each.frames[0])), Shot(owner, int(each.frames[-1]))
            yield Draft(Kind.H_AI, " | ".join(sorted(options)), shots, 0, options=options)
        else:
            rest.append(owner)
    yield from _like(whole, rest, owners, rng)


def _like(
    whole: dict[int, Prepared], anchors: list[int], owners: list[int], rng: np.random.Generator
) -> Iterator[Draft]:
    """Every instruction with three that share the most words with it; any of the four may be asked for.

    What was asked for before does not matter: else an answer known would be a hint for another question.
    """
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for owner in owners:
        by_text[whole[owner].episode.instruction].append(owner)
    telling = {text: words(text) for text in by_text}
    done = {
        text: frozenset().union(*(whole[owner].episode.achieved for owner in mine))
        for text, mine in by_text.items()
    }
    for anchor in rng.permutation(sorted({whole[owner].episode.instruction for owner in anchors})).tolist():
        chosen = [anchor]
        for text in sorted(
            by_text, key=lambda each: (-likeness(telling[each], telling[anchor]), rng.random())
        ):
            if len(chosen) < OPTIONS and all(
                is_other(text, each) and text not in done[each] and each not in done[text] for each in chosen
            ):
                chosen.append(text)
        if len(chosen) == OPTIONS:
            right = int(rng.integers(OPTIONS))
            yield _draft(Kind.H_AI, anchor, whole, [int(rng.choice(by_text[text])) for text in chosen], right)


def _moments(
    whole: dict[int, Prepared], groups: list[list[int]], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    """The end of an episode among three other moments of it. Who takes the last moment is right."""
    for owner in rng.permutation(sorted(chain(*groups))).tolist():
        each = whole[owner]
        end = int(each.frames[-1])
        chosen = [end]
        for frame in rng.permutation(each.frames[1:-1]).tolist():
            units = difference(each.episode.states[frame], each.episode.states[chosen]) / np.asarray(
                rules.thresholds
            )
            apart = (np.abs(units).max(axis=1) >= APART).all()
            seen = not any((min(frame, each), max(frame, each)) in whole[owner].alike for each in chosen)
            if len(chosen) < OPTIONS and apart and seen:
                chosen.append(frame)
        if len(chosen) == OPTIONS:
            yield Draft(
                Kind.H_SP,
                each.episode.id,
                (Shot(owner, int(each.frames[0])),),
                0,
                option_shots=tuple(Shot(owner, frame) for frame in chosen),
                action=each.episode.instruction,
            )
