"""Duels by progress: episodes saved relative to duels by success, and error rates.

Episodes pass seven stages in sequence, each with log-odds policy level + task + start + condition. Progress is the
fraction of stages passed; success means all of them. Both kinds of duel see the same simulated episodes. The saving
depends on the success rate and on the stage at which the better policy is better.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from assay.support.stats.judgement import PairVerdict
from assay.support.stats.sequential import decide
from bench.duel import CONDITIONS, MARGIN, TASKS, false_verdicts
from bench.figure import Figure

RUNS, SEEDS = 1000, 20

STAGES = 7
SPREAD = 0.5
"""Standard deviations of the effects of tasks and starts, and half range of conditions, on each stage's log-odds."""
EVERY, GRASP, LAST = np.ones(STAGES), np.eye(STAGES)[2], np.eye(STAGES)[-1]
CASES = {
    "60 and 80 %, better at every stage": (0.6, 0.8, 0 * EVERY, EVERY, 120.0),
    "20 and 40 %, better at every stage": (0.2, 0.4, 0 * EVERY, EVERY, 90.0),
    "5 and 15 %, better at every stage": (0.05, 0.15, 0 * EVERY, EVERY, 65.0),
    "20 and 30 %, better at the grasp; both often fail there and at the end": (
        0.2,
        0.3,
        -3 * (GRASP + LAST),
        GRASP,
        40.0,
    ),
    "60 and 80 %, better at the end, where both often fail": (0.6, 0.8, -3 * LAST, LAST, 1000.0),
}
"""Success of A and B; relative difficulty of stages, log-odds; where B is better; expected saving, %."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


def _expected(tasks: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return success and progress over all starts and conditions: (runs,) each.

    ``tasks``: effects, (runs, tasks); ``levels``: per stage, (runs, stages).
    """
    conditions = SPREAD * np.linspace(1.0, -1.0, CONDITIONS)
    success = np.zeros(len(tasks))
    progress = np.zeros(len(tasks))
    for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        for condition in conditions:
            odds = (tasks + SPREAD * node + condition)[:, :, None] + levels[:, None, :]
            came = expit(odds).cumprod(axis=2)  # (runs, tasks, stages): the chance to pass that many
            success += weight / CONDITIONS * came[..., -1].mean(axis=1)
            progress += weight / CONDITIONS * came.mean(axis=(1, 2))
    return success, progress


def _shifted(
    tasks: np.ndarray, levels: np.ndarray, where: np.ndarray, wanted: np.ndarray, *, by_progress: bool
) -> np.ndarray:
    """Return levels (runs, stages), shifted at some stages until success or progress equals the target (runs,)."""
    low, high = np.full(len(tasks), -12.0), np.full(len(tasks), 12.0)
    for _ in range(22):
        middle = (low + high) / 2
        found = _expected(tasks, levels + middle[:, None] * where)[int(by_progress)]
        less = found < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray(levels + ((low + high) / 2)[:, None] * where)


def _played(
    tasks: np.ndarray, mine: np.ndarray, theirs: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sample outcomes of success and progress, one episode per start, in order: (runs, starts, 2) each."""
    runs = len(tasks)
    starts = SPREAD * rng.normal(size=(runs, TASKS, SEEDS))
    condition = SPREAD * np.linspace(1.0, -1.0, CONDITIONS)[rng.integers(CONDITIONS, size=starts.shape)]
    shared = (tasks[:, :, None] + starts + condition)[..., None]
    passed = [
        (rng.random((*starts.shape, STAGES)) < expit(shared + levels[:, None, None, :])).cumprod(axis=3)
        for levels in (mine, theirs)
    ]
    order = rng.random((runs, TASKS * SEEDS)).argsort(axis=1)
    success, progress = (
        np.take_along_axis(np.stack(scores, axis=-1).reshape(runs, -1, 2), order[..., None], axis=1)
        for scores in (
            [stages[..., -1] * 1.0 for stages in passed],
            [stages.mean(axis=3) for stages in passed],
        )
    )
    return success, progress


def _setting(
    seed: int, control: float, harder: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return the effects of tasks (runs, tasks) and the levels of A (runs, stages)."""
    rng = np.random.default_rng(seed)
    tasks = SPREAD * rng.normal(size=(RUNS, TASKS))
    begin = np.tile(harder, (RUNS, 1))
    return tasks, _shifted(tasks, begin, EVERY, np.full(RUNS, control), by_progress=False), rng


def measure() -> list[Figure]:
    """Measure episodes by progress relative to episodes by success, and false verdicts."""
    return [*_saved(), *_errors()]


def _saved() -> list[Figure]:
    found = []
    for name, (control, other, harder, where, most) in CASES.items():
        tasks, mine, rng = _setting(21, control, harder)
        theirs = _shifted(tasks, mine, where, np.full(RUNS, other), by_progress=False)
        assert np.allclose(_expected(tasks, theirs)[0], other, atol=1e-3), "no such policy"
        came = [float(_expected(tasks, levels)[1].mean()) for levels in (mine, theirs)]
        ends, known = [], []
        for played, binary in zip(_played(tasks, mine, theirs, rng), (True, False), strict=True):
            decisions = decide(played, margin=MARGIN, binary=binary)
            ends.append(float(np.median(decisions.stops)))
            known.append(float((decisions.verdicts == PairVerdict.BETTER).mean()))
        found.append(
            Figure(
                f"episodes of a duel by progress / of a duel by success: {name}",
                100 * ends[1] / ends[0],
                "%",
                most,
                note=f"median {2 * ends[1]:.0f} of {2 * ends[0]:.0f}; B found to be better in {100 * known[1]:.1f} and "
                f"in {100 * known[0]:.1f} %; progress {100 * came[0]:.0f} and {100 * came[1]:.0f} %",
            )
        )
    return found


def _errors() -> list[Figure]:
    """Measure errors for equal policies, for equal progress with other failures, and at the margin."""
    found = []
    cases: dict[str, tuple[float, np.ndarray | None]] = {
        "equal policies": (0.0, None),
        "same progress, different failures": (0.0, GRASP),
        "progress 5 points higher": (MARGIN, EVERY),
        "progress 5 points lower": (-MARGIN, EVERY),
    }
    for name, (change, where) in cases.items():
        tasks, mine, rng = _setting(23, 0.4, 0 * EVERY)
        theirs = mine
        if where is not None:
            wanted = _expected(tasks, mine)[1] + change
            begin = mine - LAST if change == 0 else mine
            theirs = _shifted(tasks, begin, where, wanted, by_progress=True)
            assert np.allclose(_expected(tasks, theirs)[1], wanted, atol=1e-4), "no such policy"
        played = _played(tasks, mine, theirs, rng)[1]
        found.append(false_verdicts(f"duels by progress, {name}", played, change, binary=False))
    return found
