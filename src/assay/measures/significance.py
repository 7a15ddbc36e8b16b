"""Is there a difference at all? An exact test of paired outcomes, and Holm's price for asking often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided p of the integer differences (clusters,) between two outcomes, if either sign were as likely.

    Exact, from the characteristic function of the sum. With one pair in each cluster this is McNemar's exact
    test; with several it respects that they share a control.
    """
    sizes = np.abs(differences[differences != 0]).astype(int)
    if not len(sizes):
        return 1.0
    observed = abs(int(differences.sum()))
    if sizes.max() == 1:
        return float(stats.binomtest((len(sizes) + observed) // 2, len(sizes)).pvalue)
    values, counts = np.unique(sizes, return_counts=True)
    reach = int(sizes.sum())
    turn = 2 * np.pi * np.arange(reach + 1) / (2 * reach + 1)
    wave = np.prod(
        [np.cos(value * turn) ** count for value, count in zip(values, counts, strict=True)], axis=0
    )
    chances = np.fft.irfft(wave, 2 * reach + 1)  # of the sums 0, 1, ..., reach, -reach, ..., -1
    beyond = float(chances[observed : 2 * reach + 2 - max(observed, 1)].sum())
    return min(1.0, max(beyond, 2.0 ** (1 - len(sizes))))


def mostly(hits: np.ndarray, counts: np.ndarray, chance: float) -> float:
    """One-sided exact p of the clusters in which more than half of the counts (clusters,) are hits.

    For how often that is so, if it were so in a share ``chance`` of the clusters.
    """
    most = int((2 * hits > counts).sum())
    return float(stats.binomtest(most, len(hits), chance, alternative="greater").pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """p values adjusted for having looked at all of them (Holm)."""
    order = np.argsort(values, kind="stable")
    raised = np.asarray(values, float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return [float(value) for value in adjusted]
