"""Options as ActionEQA makes them: three distractors are made from the right action.

mid    other combinations of signs of the same components
low    three of: the dominant dimension turned round, the dominant dimension removed, the seven values permuted twice

No pair is asked about twice. The right action is what its distractors have in common: `assay eqa leak` tells how much
that gives away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from assay.extensions.eqa.actions import SIZE, described, is_clear, signs
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft
from assay.extensions.eqa.drafts.inference import Pool
from assay.extensions.eqa.drafts.strata import in_turn
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.pairs import Prepared
from assay.extensions.eqa.question import Kind


def mid_derived(prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator) -> Iterator[Draft]:
    """The right signs among three other combinations, drawn at random, whether they occur or not."""
    pool = Pool(prepared, rng)
    patterns = signs(pool.actions, rules.thresholds)
    clear = is_clear(pool.actions, rules.thresholds)
    for pair in in_turn(patterns, pool.owners.tolist(), rng):
        if not clear[pair]:
            continue
        mine = tuple(patterns[pair].tolist())
        others = [
            each for each in product(*((-sign, sign) if sign else (0,) for sign in mine)) if each != mine
        ]
        if len(others) < OPTIONS - 1:
            continue
        drawn = rng.choice(len(others), OPTIONS - 1, replace=False)
        chosen = [mine, *(others[place] for place in drawn)]
        yield pool.draft(Kind.M_AI, pair, pair, 0, [described(each) for each in chosen], chosen)


def low_derived(prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator) -> Iterator[Draft]:
    """The right figures among three that are made from them, printed as the paper does."""
    pool = Pool(prepared, rng)
    units = np.abs(pool.actions) / np.asarray(rules.thresholds)
    for pair in in_turn(signs(pool.actions, rules.thresholds), pool.owners.tolist(), rng):
        action = pool.actions[pair]
        dominant = int(units[pair].argmax())
        turned, without = action.copy(), action.copy()
        turned[dominant] *= -1.0
        without[dominant] = 0.0
        made = [turned, without, *(action[rng.permutation(SIZE)] for _ in range(2))]
        chosen = [action, *(made[place] for place in rng.choice(len(made), OPTIONS - 1, replace=False))]
        texts = [str([round(float(value), 3) + 0.0 for value in each]) for each in chosen]
        if len(set(texts)) == OPTIONS:
            yield pool.draft(Kind.L_AI, pair, pair, 0, texts, [each.tolist() for each in chosen])
