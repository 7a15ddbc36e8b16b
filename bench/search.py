"""Searches: coverage and width of their intervals, compared with a random design of the same budget.

Simulated policies with a known threshold are searched with the procedure of `assay search`: a ladder of 16 magnitudes
from 0.025 to 0.4 m, with a control for each start. *Sharp*: fails beyond d metres and only there. *With lapses*:
additionally, one episode in ten has the opposite outcome, including controls. *Gradual*: every start has its own d,
normally distributed around the policy's with a standard deviation of 0.05 m. *With refusals*: gradual, and a start is
solvable only up to its own maximum distance, which grows with its d; one episode in ten ends in an error, including
controls. The d of each repetition is drawn from 0.02 to 0.44 m.

*Random failures*: episodes fail with a fixed probability, controls too; a change has no effect, or success drops to 0
beyond 0.2 m. No threshold may then be found, or that one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import norm

from assay.runs.schedulers.search import EPISODES_PER_SEARCH, Answer, Item, ThresholdSearch
from assay.support.streams import stream
from bench.figure import Figure, exact_interval

REPEATS = 100
LADDER = tuple(round(0.025 * step, 3) for step in range(1, 17))
BUDGETS = (45, 90)
KINDS = ("sharp", "with lapses", "gradual", "with refusals")
LAPSE, SPREAD, BROKEN = 0.1, 0.05, 0.1
SPARE = 0.1
"""With refusals: mean and standard deviation of the margin beyond d up to which a start is solvable, metres."""
TEN = 400
RATES = (0.3, 0.5, 0.7, 0.95)
"""Success rates of the controls of policies with random failures."""
SEARCHES = 400
SHARP = 8
"""Index of the first magnitude at which success is lost, for policies with random failures."""
Rule = Callable[[Item], bool | None]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Result of one search."""

    holds: bool
    width: float
    """Width of the interval, metres; unbounded sides end with the ladder."""
    error: float
    """Error of the most likely threshold, in steps of the ladder."""
    episodes: int


def policy(kind: str, reach: float, repeat: int) -> Rule:
    """Return whether an episode succeeds, determined by its start and magnitude."""

    def succeeds(item: Item) -> bool | None:
        seed, rung = item
        moved = -1.0 if rung is None else LADDER[rung]
        right = moved <= _bears(kind, reach, repeat, seed)
        chance = stream("bench", kind, repeat, seed, -1 if rung is None else rung).random()
        if kind == "with lapses":
            return right != (chance < LAPSE)
        return None if kind == "with refusals" and chance < BROKEN else right

    return succeeds


def solvable(kind: str, reach: float, repeat: int) -> Callable[[Item], bool]:
    """Return whether the scene of an episode is solvable."""

    def solved(item: Item) -> bool:
        seed, rung = item
        if kind != "with refusals" or rung is None:
            return True
        spare = SPARE * (1 + stream("bench", "solvable", repeat, seed).standard_normal())
        return bool(LADDER[rung] <= _bears(kind, reach, repeat, seed) + spare)

    return solved


def _bears(kind: str, reach: float, repeat: int, seed: int) -> float:
    """Return the threshold d of a start, metres."""
    own = SPREAD * stream("bench", kind, repeat, seed).standard_normal()
    return reach + (float(own) if kind in ("gradual", "with refusals") else 0.0)


def truth(kind: str, reach: float) -> int:
    """Return the first magnitude at which success is less than half of that of the controls, over solvable starts."""
    ladder = np.array(LADDER)
    if kind == "with refusals":
        own = reach + SPREAD * np.linspace(-6, 6, 2001)
        likely = norm.pdf((own - reach) / SPREAD)
        solved = likely * norm.sf((ladder[:, None] - own) / SPARE - 1)
        kept = (solved * (ladder[:, None] <= own)).sum(axis=1) / solved.sum(axis=1)
        assert (np.diff(kept) <= 0).all(), "the probability of success must not increase with the magnitude"
        return int(np.sum(kept >= 0.5))
    if kind == "gradual":
        chances = norm.sf((ladder - reach) / SPREAD) / norm.sf((-1.0 - reach) / SPREAD)
    else:
        lapse = LAPSE if kind == "with lapses" else 0.0
        chances = np.where(ladder <= reach, 1 - lapse, lapse) / (1 - lapse)
    return int(np.sum(chances >= 0.5))


def settle(
    search: ThresholdSearch, succeeds: Rule, solvable: Callable[[Item], bool] = lambda item: True
) -> int:
    """Run a search with simulated outcomes; return the number of requested episodes."""
    played: set[Item] = set()
    answer: Answer | None = None
    procedure = search.procedure(range(10_000))
    try:
        while True:
            request = next(procedure) if answer is None else procedure.send(answer)
            if request.certify:
                answer = frozenset(filter(solvable, request.items))
            else:
                played.update(request.items)
                answer = {item: succeeds(item) for item in request.items}
    except StopIteration:
        return len(played)


def _random_rungs(repeat: int) -> Callable[[Collection[int]], tuple[int, ...]]:
    """Choose two random magnitudes per start, for comparison."""
    chance = stream("bench", "random", repeat)

    def choose(playable: Collection[int]) -> tuple[int, ...]:
        chosen = chance.choice(list(playable), size=min(2, len(playable)), replace=False)
        return tuple(sorted(int(rung) for rung in chosen))

    return choose


@cache
def repeats(kind: str, budget: int, *, guided: bool) -> tuple[Repeat, ...]:
    found = []
    for repeat in range(REPEATS):
        reach = float(stream("bench", "reach", repeat).uniform(0.02, 0.44))
        searched = ThresholdSearch(len(LADDER), budget)
        if not guided:
            searched.evidence.next = _random_rungs(repeat)  # type: ignore[method-assign, assignment]
        episodes = settle(searched, policy(kind, reach, repeat), solvable(kind, reach, repeat))
        ends, true = searched.evidence.interval or (-1, -1), truth(kind, reach)
        low = LADDER[ends[0] - 1] if ends[0] > 0 else 0.0
        high = LADDER[min(ends[1], len(LADDER) - 1)]
        best = searched.evidence.best
        error = abs((len(LADDER) if best is None else best) - true)
        found.append(Repeat(ends[0] <= true <= ends[1], max(0.0, high - low), error, episodes))
    return tuple(found)


def measure() -> list[Figure]:
    """Measure coverage, width relative to a random design, and the oracle on ten tasks."""
    return [*_random_failures(), *_thresholds(), _ten_tasks()]


def random_failures(
    control: float, lost_from: int, budget: int, repeat: int, fixed: float = 0.0
) -> ThresholdSearch:
    """Search for the threshold of a policy whose success drops from a rate to 0 at a magnitude.

    ``fixed`` is the probability that the luck of a start is shared by all its episodes.
    """
    random, shared = (
        stream("bench", "random failures", repr((control, fixed)), lost_from, repeat),
        dict[int, float](),
    )

    def succeeds(item: Item) -> bool:
        seed, rung = item
        if seed not in shared:
            shared[seed] = random.random() if random.random() < fixed else -1.0
        luck = random.random() if shared[seed] < 0 else shared[seed]
        return luck < control and (rung is None or rung < lost_from)

    searched = ThresholdSearch(len(LADDER), budget)
    settle(searched, succeeds)
    return searched


def _random_failures() -> list[Figure]:
    figures = []
    for control in RATES:
        for fixed in (0.0, 1.0):
            what = f"controls {control:.0%}, luck {'fixed by the start' if fixed else 'of each episode'}"
            for lost_from, name in ((len(LADDER), "a change without effect"), (SHARP, "a sharp loss")):
                for budget in (EPISODES_PER_SEARCH, 2 * EPISODES_PER_SEARCH):
                    searches = [
                        random_failures(control, lost_from, budget, repeat, fixed)
                        for repeat in range(SEARCHES)
                    ]
                    ends = [searched.evidence.interval or (-1, -1) for searched in searches]
                    found = sum(end[1] < len(LADDER) for end in ends)
                    held = sum(end[0] <= lost_from <= end[1] for end in ends)
                    used = float(np.mean([searched.episodes for searched in searches]))
                    width = float(np.mean([end[1] - end[0] for end in ends]))
                    is_null = lost_from == len(LADDER)
                    low, high = exact_interval(found, SEARCHES)
                    figures.append(
                        Figure(
                            f"a threshold is found, {name}, {what}, at most {budget} episodes",
                            100 * found / SEARCHES,
                            "%",
                            5.0 if is_null else 0.0,
                            is_null,
                            note=f"{found} of {SEARCHES}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %; covered "
                            f"in {held}; {width:.1f} of {len(LADDER)} magnitudes left; {used:.0f} episodes",
                        )
                    )
    return figures


def _thresholds() -> list[Figure]:
    found = []
    for kind in KINDS:
        for budget in BUDGETS:
            mine, other = (repeats(kind, budget, guided=guided) for guided in (True, False))
            held = 100 * float(np.mean([each.holds for each in mine]))
            beside = 100 * float(np.mean([each.holds for each in other]))
            note = f"{REPEATS} searches of at most {budget} episodes; random design {beside:.0f} %"
            found.append(
                Figure(
                    f"nominal 95 % intervals that contain the threshold, {kind}", held, "%", 93.0, False, note
                )
            )
            width, beside = (float(np.mean([e.width for e in each])) for each in (mine, other))
            off, off_beside = (float(np.mean([e.error for e in each])) for each in (mine, other))
            used = np.mean([each.episodes for each in mine])
            note = (
                f"{width:.3f} m of {beside:.3f} m with {budget} episodes, {used:.0f} of them used; error of the "
                f"likeliest threshold {off:.2f} steps, at random {off_beside:.2f}"
            )
            if kind == "with refusals":  # reported for its coverage only
                found[-1] = replace(found[-1], note=f"{found[-1].note}; width {note}")
                continue
            found.append(
                Figure(
                    f"width / width of a random design, {kind}", 100 * width / beside, "%", 100.0, note=note
                )
            )
    return found


def _ten_tasks() -> Figure:
    """Run the oracle on ten tasks along one axis."""
    import assay as api

    with tempfile.TemporaryDirectory() as folder:
        found = api.search(
            "oracle", "distance", tasks="libero_object", out=Path(folder) / "oracle.assay", workers=0
        )
    open_ended = sum(each.lost is None and bool(each.kept) for each in found.thresholds.found)
    note = f"no threshold within the ladder in {open_ended} of {len(found.thresholds.found)} tasks"
    return Figure(
        "episodes of a search of 10 tasks with the oracle", found.played, "episodes", TEN, note=note
    )


def draw(path: Path) -> None:
    """Draw one search step by step, and widths relative to a random design, for the documentation."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(7.6, 3.0), layout="constrained")
    one, two = drawing.subplots(1, 2)
    _one_search(one)
    for place, kind in enumerate(KINDS):
        for guided, colour in ((True, "#0072B2"), (False, "#D55E00")):
            widths = [
                float(np.mean([each.width for each in repeats(kind, budget, guided=guided)]))
                for budget in BUDGETS
            ]
            marks = dict(zip(BUDGETS, ("o", "s"), strict=True))
            for budget, width in zip(BUDGETS, widths, strict=True):
                two.plot(
                    width, place + (0.12 if guided else -0.12), marks[budget], color=colour, markersize=6
                )
    two.set_yticks(range(len(KINDS)), KINDS)
    two.set_xlim(left=0)
    two.set(
        xlabel="mean width of the interval, m\n(circles: 45 episodes, squares: 90)",
        ylim=(-0.5, len(KINDS) - 0.5),
    )
    two.set_title("adaptive (blue), random (orange)", fontsize=9)
    for axes in (one, two):
        axes.spines[["top", "right"]].set_visible(False)
    drawing.savefig(path, dpi=150)


def _one_search(axes: object) -> None:
    """Draw a search for a policy with a threshold of 0.21 m and lapses: episodes, and remaining interval."""
    searched, reach = ThresholdSearch(len(LADDER), 75), 0.21
    rule, played = policy("with lapses", reach, 3), []
    ends: list[tuple[int, int]] = []

    def watched(item: Item) -> bool | None:
        won = rule(item)
        if item[1] is not None:
            played.append((len(ends), LADDER[item[1]], won))
        else:
            ends.append(searched.evidence.interval or (0, 0))
        return won

    settle(searched, watched)
    ends.append(searched.evidence.interval or (0, 0))
    low = [LADDER[each - 1] if each else 0.0 for each, _ in ends]
    high = [LADDER[min(each, len(LADDER) - 1)] for _, each in ends]
    axes.fill_between(range(len(ends)), low, high, step="mid", color="#D55E00", alpha=0.2, lw=0)  # type: ignore[attr-defined]
    axes.axhline(reach, color="#222222", lw=0.8, ls="--")  # type: ignore[attr-defined]
    for won, mark in ((True, "o"), (False, "x")):
        places = [(start, magnitude) for start, magnitude, each in played if each is won]
        axes.plot(*zip(*places, strict=True), mark, color="#0072B2", markersize=4)  # type: ignore[attr-defined]
    axes.set(xlabel="start", ylabel="distance, m", ylim=(0, 0.42))  # type: ignore[attr-defined]
    axes.set_title("success (o), failure (x), what is possible (shaded)", fontsize=9)  # type: ignore[attr-defined]


if __name__ == "__main__":
    for figure in (*_random_failures(), *_thresholds()):
        print(f"{figure.what}: {figure.measured}")
    draw(Path("docs/images/search.png"))
