"""Drafts of questions about motions, at the mid (labels) and the low (numbers) level.

Inference   which action happened between two images: four that occurred, or, derived as in the ActionEQA paper:
            mid  other sign combinations of the same components
            low  three of: dominant dimension inverted, dominant dimension removed, two permutations of the seven values
            Derived options resemble the correct action, which gives it away; `assay eqa leak` measures the leak.
Prediction  which image an action leads to: four later moments of the same episode.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from assay.extensions.eqa.actions import SIZE, ActionLevel, describe, format_action, gaps, is_clear, signs
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot, round_values, stratified_order
from assay.extensions.eqa.episode import QualityRules
from assay.extensions.eqa.pairs import PreparedEpisode
from assay.extensions.eqa.question import QuestionKind

MIN_GAP = 1.5
"""Minimum distance between two low-level actions in at least one dimension, as a multiple of its threshold."""
MAX_PAIRS = 12_000
"""Maximum number of frame pairs; the pairs of larger data sets are subsampled."""
ORDERS = 12
"""Number of random orders in which to search for four distinct moments."""
MAX_ANCHORS = 3
"""Maximum number of anchors tried for each first frame."""
CLEAR_CHANGE = 2.0
"""Minimum change, as a multiple of its threshold, in a dimension that only one of two texts names."""

Pattern = tuple[int, ...]


def draft_motions(
    kind: QuestionKind,
    prepared: Sequence[PreparedEpisode],
    rules: QualityRules,
    rng: np.random.Generator,
    *,
    derived: bool,
) -> Iterator[Draft]:
    """Draft mid- or low-level questions; ``derived`` selects the paper's options for inference."""
    if kind.predicts:
        return _predictions(kind, prepared, rules, rng)
    pool = PairPool(prepared, rng)
    if kind.level is ActionLevel.MID:
        return _mid_inference(pool, rules, rng, derived=derived)
    return (_low_derived if derived else _low_inference)(pool, rules, rng)


class PairPool:
    """The frame pairs of a data set in random order, at most `MAX_PAIRS`."""

    def __init__(self, prepared: Sequence[PreparedEpisode], rng: np.random.Generator) -> None:
        self._prepared = prepared
        owners = np.repeat(np.arange(len(prepared)), [len(episode.pairs) for episode in prepared])
        keep = rng.permutation(len(owners))[:MAX_PAIRS]
        self.owners = owners[keep]
        self.pairs = np.concatenate([np.zeros((0, 2), int), *(episode.pairs for episode in prepared)])[keep]
        self.actions = np.concatenate([np.zeros((0, SIZE)), *(episode.actions for episode in prepared)])[keep]

    def draft(
        self,
        kind: QuestionKind,
        anchor: int,
        pair: int,
        right: int,
        options: Sequence[str],
        actions: Sequence[Sequence[float]],
    ) -> Draft:
        """Draft a question about a frame pair, with options chosen around the pair ``anchor``."""
        owner, (first, second) = int(self.owners[pair]), self.pairs[pair].tolist()
        states = self._prepared[owner].episode.states
        return Draft(
            kind,
            group=self._prepared[self.owners[anchor]].group,
            shots=(Shot(owner, first), Shot(owner, second)),
            right=right,
            options=tuple(options),
            states=tuple(round_values(states[frame]) for frame in (first, second)),
            actions=tuple(round_values(action) for action in actions),
        )


def _mid_inference(
    pool: PairPool, rules: QualityRules, rng: np.random.Generator, *, derived: bool
) -> Iterator[Draft]:
    """Draft questions whose options are sign combinations of one pair's components; each pair is used once.

    The combinations occur in the data set. If ``derived``, they need not, and the pair's own combination
    is correct.
    """
    moved = signs(pool.actions, rules.thresholds)
    patterns = [tuple(pattern) for pattern in moved.tolist()]
    clear = np.flatnonzero(is_clear(pool.actions, rules.thresholds))
    unused: defaultdict[Pattern, dict[Pattern, list[int]]] = defaultdict(lambda: defaultdict(list))
    for pair in clear.tolist():
        unused[tuple(map(abs, patterns[pair]))][patterns[pair]].append(pair)
    for anchor in clear[stratified_order(moved[clear], pool.owners[clear].tolist(), rng)].tolist():
        own = patterns[anchor]
        by_pattern = unused[tuple(map(abs, own))]
        candidates: list[Pattern] = sorted(pattern for pattern, pairs in by_pattern.items() if pairs)
        if derived:
            candidates = list(product(*((-sign, sign) if sign else (0,) for sign in own)))
        others = [pattern for pattern in candidates if pattern != own]
        if own not in candidates or len(others) < OPTIONS - 1:
            continue
        places = rng.choice(len(others), OPTIONS - 1, replace=False)
        chosen = [own, *(others[place] for place in places)]
        right = 0 if derived else int(rng.integers(OPTIONS))
        pair = anchor if derived else by_pattern[chosen[right]].pop()
        texts = [describe(pattern) for pattern in chosen]
        yield pool.draft(QuestionKind.M_AI, anchor, pair, right, texts, chosen)


def _low_inference(pool: PairPool, rules: QualityRules, rng: np.random.Generator) -> Iterator[Draft]:
    """Draft questions with an action and those nearest to its variants as options; no pair is used twice."""
    units = pool.actions / np.asarray(rules.thresholds)
    free = np.ones(len(units), dtype=bool)
    for anchor in stratified_order(signs(pool.actions, rules.thresholds), pool.owners.tolist(), rng):
        if not free[anchor]:
            continue
        chosen = [anchor]
        allowed = free.copy()
        for variant in _variants(units[anchor], rng):
            apart = gaps(pool.actions, pool.actions[chosen[-1]], rules.thresholds)
            allowed &= apart.max(axis=1) >= MIN_GAP
            if not allowed.any():
                break
            distance = np.where(allowed, ((units - variant) ** 2).sum(axis=1), np.inf)
            chosen.append(int(distance.argmin()))
        if len(chosen) == OPTIONS:
            free[chosen] = False
            right = int(rng.integers(OPTIONS))
            actions = pool.actions[chosen]
            texts = [format_action(action) for action in actions]
            yield pool.draft(QuestionKind.L_AI, anchor, chosen[right], right, texts, actions.tolist())


def _variants(action: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return variants of an action (7,) in units of thresholds: dominant dimension inverted, removed, swapped."""
    dominant = int(np.abs(action).argmax())
    same_unit = range(3) if dominant < 3 else range(3, 6)
    other = int(rng.choice([axis for axis in same_unit if axis != dominant]))
    swapped = action.copy()
    swapped[[dominant, other]] = swapped[[other, dominant]]
    return [*_without_dominant(action, dominant), swapped]


def _without_dominant(action: np.ndarray, dominant: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two variants of an action (7,): dominant dimension inverted, and dominant dimension set to zero."""
    is_dominant = np.arange(SIZE) == dominant
    return np.where(is_dominant, -action, action), np.where(is_dominant, 0.0, action)


def _low_derived(pool: PairPool, rules: QualityRules, rng: np.random.Generator) -> Iterator[Draft]:
    """Draft questions with the correct numbers and three options derived from them, formatted as in the paper."""
    units = np.abs(pool.actions) / np.asarray(rules.thresholds)
    for pair in stratified_order(signs(pool.actions, rules.thresholds), pool.owners.tolist(), rng):
        action = pool.actions[pair]
        variants = [
            *_without_dominant(action, int(units[pair].argmax())),
            *(action[rng.permutation(SIZE)] for _ in range(2)),
        ]
        places = rng.choice(len(variants), OPTIONS - 1, replace=False)
        chosen = [action, *(variants[place] for place in places)]
        texts = [str([round(float(value), 3) + 0.0 for value in option]) for option in chosen]
        if len(set(texts)) == OPTIONS:
            actions = [option.tolist() for option in chosen]
            yield pool.draft(QuestionKind.L_AI, pair, pair, 0, texts, actions)


def _predictions(
    kind: QuestionKind, prepared: Sequence[PreparedEpisode], rules: QualityRules, rng: np.random.Generator
) -> Iterator[Draft]:
    """Draft one question for each first frame; its options are four later moments, chosen around one of them."""
    owners = np.repeat(np.arange(len(prepared)), [len(episode.pairs) for episode in prepared]).tolist()
    if not owners:
        return
    places = [place for episode in prepared for place in range(len(episode.pairs))]
    patterns = signs(np.concatenate([episode.actions for episode in prepared]), rules.thresholds)
    tried: Counter[tuple[int, int]] = Counter()
    for anchor in stratified_order(patterns, owners, rng):
        owner, place = owners[anchor], places[anchor]
        start = owner, int(prepared[owner].pairs[place, 0])
        if tried[start] < MAX_ANCHORS:
            tried[start] += 1
            draft = _draft_prediction(kind, owner, prepared[owner], place, rules, rng)
            if draft is not None:
                tried[start] = MAX_ANCHORS
                yield draft


def _draft_prediction(
    kind: QuestionKind,
    owner: int,
    episode: PreparedEpisode,
    anchor: int,
    rules: QualityRules,
    rng: np.random.Generator,
) -> Draft | None:
    start = int(episode.pairs[anchor, 0])
    later = np.flatnonzero(episode.pairs[:, 0] == start)
    actions, frames = episode.actions[later], episode.pairs[later, 1].tolist()
    patterns = signs(actions, rules.thresholds)
    first = int(np.flatnonzero(later == anchor)[0])
    others = [place for place in range(len(later)) if place != first]
    orders = [[first, *rng.permutation(others).tolist()] for _ in range(ORDERS)]
    apart = gaps(actions[:, None], actions[None], rules.thresholds) >= MIN_GAP  # (n, n, 7)
    distinct = np.array(
        [[(min(one, two), max(one, two)) not in episode.alike for two in frames] for one in frames]
    )
    with_amounts = False
    if kind is QuestionKind.L_SP:
        chosen = _choose_distinct(orders, apart.any(axis=-1) & distinct)
    else:
        clear = is_clear(actions, rules.thresholds)
        differ = _texts_differ(actions, patterns, apart, rules, amounts=False) & clear[:, None] & clear[None]
        chosen = _choose_distinct(orders, differ & distinct) if clear[first] else []
        with_amounts = len(chosen) < OPTIONS  # labels alone do not distinguish the images
        if with_amounts:
            differ = _texts_differ(actions, patterns, apart, rules, amounts=True)
            chosen = _choose_distinct(orders, differ & distinct)
    if len(chosen) < OPTIONS:
        return None
    right = int(rng.integers(OPTIONS))
    action = actions[chosen[right]]
    if kind is QuestionKind.L_SP:
        text = format_action(action)
    else:
        text = describe(patterns[chosen[right]].tolist(), action if with_amounts else None)
    moments = [frames[place] for place in chosen]
    return Draft(
        kind,
        group=episode.group,
        shots=(Shot(owner, start),),
        right=right,
        option_shots=tuple(Shot(owner, frame) for frame in moments),
        action=text,
        states=tuple(round_values(episode.episode.states[frame]) for frame in (start, *moments)),
        actions=(round_values(action),),
    )


def _texts_differ(
    actions: np.ndarray, patterns: np.ndarray, apart: np.ndarray, rules: QualityRules, *, amounts: bool
) -> np.ndarray:
    """Return a mask (n, n) of pairs of actions with incompatible texts, which state amounts if ``amounts``."""
    units = np.abs(actions) / np.asarray(rules.thresholds)
    named = patterns != 0
    one_named = (named[:, None] ^ named[None]) & (np.maximum(units[:, None], units[None]) >= CLEAR_CHANGE)
    opposed = named[:, None] & named[None] & ((patterns[:, None] != patterns[None]) | amounts)
    return np.asarray(((one_named | opposed) & apart).any(axis=-1))


def _choose_distinct(orders: Sequence[Sequence[int]], differ: np.ndarray) -> list[int]:
    """Return four indices, every two marked in the mask ``differ`` (n, n); fewer if no order yields four."""
    chosen: list[int] = []
    for order in orders:
        chosen = []
        for place in order:
            if len(chosen) < OPTIONS and all(differ[place, other] for other in chosen):
                chosen.append(place)
        if len(chosen) == OPTIONS:
            break
    return chosen
