"""Logistic regression on counts that stays finite where a cell never fails (Firth's penalty)."""

from __future__ import annotations

import numpy as np
import scipy

_ROUNDS = 100
_STRIDE = 2.0
"""The longest step of a coefficient."""
SPARSE = 5
"""Fewer successes or failures in a cell make the variance between clusters unreliable."""


def fit(design: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Coefficients (draws, terms) of ``hits`` among ``counts`` (draws, cells), ``design`` (cells, terms).

    Newton's method on the likelihood times the root of the information's determinant.
    """
    terms = np.zeros((len(hits), design.shape[1]))
    for _ in range(_ROUNDS):
        chance = scipy.special.expit(terms @ design.T)
        weight = counts * chance * (1 - chance)
        inverse = _inverse(design, weight)
        leverage = weight * np.einsum("ct,dtu,cu->dc", design, inverse, design, optimize=True)
        score = (hits - counts * chance + leverage * (0.5 - chance)) @ design
        step = np.einsum("dtu,du->dt", inverse, score)
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _STRIDE / np.maximum(longest, 1e-12))
        terms = terms + step
        if longest.max() < 1e-8:
            break
    return terms


def errors(design: np.ndarray, terms: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Standard errors of coefficients ``terms`` (terms,) from counts of clusters (clusters, cells): (terms,).

    From the variance between clusters, two at least, which share a start. Where a cell has fewer than five
    successes or failures that variance is underestimated, and the model's own is taken where it is larger.
    """
    chance = scipy.special.expit(design @ terms)
    total = counts.sum(axis=0)
    inverse = _inverse(design, (total * chance * (1 - chance))[None])[0]
    score = (hits - counts * chance) @ design  # (clusters, terms)
    few = len(hits) / (len(hits) - 1)
    squares = np.diag(inverse @ (score.T @ score * few) @ inverse)
    between = np.sqrt(np.maximum(squares, 0.0))  # rounding may leave less than nothing
    seen = total > 0
    least = np.minimum(hits.sum(axis=0), (counts - hits).sum(axis=0))[seen].min()
    return np.asarray(between if least >= SPARSE else np.maximum(between, np.sqrt(np.diag(inverse))))


def _inverse(design: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The inverse of the information (draws, terms, terms) for weights (draws, cells)."""
    information = np.einsum("dc,ct,cu->dtu", weight, design, design, optimize=True)
    return np.linalg.inv(information + 1e-9 * np.eye(design.shape[1]))
