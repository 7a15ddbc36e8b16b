from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.episodes import Outcome
from assay.episodes.episode import (
    PLACING,
    Aftermath,
    Episode,
    Happened,
    SideEffects,
    Trajectory,
    no_trajectory,
)
from assay.episodes.spec import CONTROL, EpisodeSpec, Label
from assay.measures.views.style import Drawing
from assay.perturb import Say
from assay.report.run_report import RunReport
from assay.runs.store import Store

GOAL = "On akita_black_bowl_1 flat_stove_1_cook_region"


@dataclass
class Made:
    """A synthetic episode; ``success`` is None for an episode that is planned but not executed."""

    success: bool | None
    condition: str = CONTROL
    labels: dict[str, Label] = field(default_factory=dict)
    task: str = "libero_goal/1"
    seed: int = 0
    hand: np.ndarray | None = None
    error: str = ""
    experiment: str = "made"
    words: str = "put the bowl on the stove on top of the cabinet"
    events: tuple[Happened, ...] = ()

    @property
    def spec(self) -> EpisodeSpec:
        said = () if self.condition == CONTROL else (Say(f"{self.condition} {sorted(self.labels.items())}"),)
        return EpisodeSpec(
            self.task, self.seed, "primitives", self.experiment, self.condition, said, labels=self.labels
        )

    @property
    def episode(self) -> Episode:
        path = no_trajectory()
        if self.hand is not None:
            hand = np.asarray(self.hand, np.float32)
            path = Trajectory(hand, hand[:, 0].copy(), np.zeros((len(hand) - 1, 7), np.float32))
        outcome = Outcome.ERROR if self.error else Outcome.SUCCESS if self.success else Outcome.FAILURE
        moved = "akita_black_bowl_1" if self.success else "plate_1"
        truth = {GOAL: ((99, 100),) if self.success else ()}
        return Episode(
            outcome,
            100,
            path,
            self.words,
            decisions=10,
            touched=moved,
            moved=moved,
            truth=truth,
            error=self.error,
            events=self.events,
            **(self._conduct if self.task.startswith("libero") else {}),
        )

    @property
    def _conduct(self) -> dict[str, Any]:
        """Stages, progress and side effects, as LIBERO's world records them."""
        return {
            "stages": {
                GOAL: {stage: 10 if self.success or stage == "reached" else None for stage in PLACING}
            },
            "progress": None if self.error else 1.0 if self.success else 1 / len(PLACING),
            "side_effects": SideEffects(moved={"plate_1": 0.01 * self.seed}, path=1.0, jerk=20.0),
            "aftermath": Aftermath(13, holds=self.seed != 1, rest=True) if self.success else None,
        }


@pytest.fixture(scope="session")
def made() -> type[Made]:
    """The class of synthetic episodes."""
    return Made


@pytest.fixture(scope="session")
def write() -> Callable[..., Path]:
    """Return a function that writes synthetic episodes to a real run file."""

    def written(path: Path, episodes: Iterable[Made], **meta: object) -> Path:
        wanted = list(episodes)
        with Store.writing(path) as store:
            store.describe(**{"experiment": "made", "policy": "somebody", "pack": "primitives", **meta})
            store.plan(each.spec for each in wanted)
            numbers = {waiting.key: waiting.number for waiting in store.todo()}
            for each in wanted:
                if each.success is not None or each.error:
                    store.append(numbers[each.spec.key], each.episode)
        return path

    return written


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory, write: Callable[..., Path]) -> Path:
    """A run for which every measure has a result and every figure is drawn."""
    episodes = [
        each
        for task in ("libero_goal/1", "libero_goal/4")
        for seed in range(6)
        for each in _variants(task, seed)
    ]
    return write(
        tmp_path_factory.mktemp("everything") / "everything.assay",
        episodes,
        experiment="all",
        policy="somebody",
    )


@pytest.fixture(scope="session")
def read_everything(everything: Path) -> RunReport:
    """Report on the run with every measure, read once for all tests."""
    return RunReport.read(everything)


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with empty figures, because drawing takes time; figures for papers are drawn."""
    monkeypatch.setattr(Drawing, "svg", '<svg role="img"></svg>')


def _variants(task: str, seed: int) -> Iterable[Made]:
    rng = np.random.default_rng([int(task[-1]), seed])
    time = np.linspace(0, np.pi, 101)[:, None]

    def episode(condition: str, **labels: Label) -> Made:
        hand = np.sin(time) * (np.array([0.3, 0.1, 0.2]) + rng.normal(scale=0.02, size=3))
        success = bool(rng.random() < 0.6) or (condition == CONTROL and seed < 4)
        found = Made(success, condition, labels, task, seed, hand)
        renaming = labels.get("object") in ("contextual", "habitual")
        return replace(found, words=found.words.replace("bowl", "basin")) if renaming else found

    yield episode(CONTROL)
    for number, thing in enumerate(("none", "addition", "contextual", "habitual")):
        scores: dict[str, Label] = {"s_k": 1 - 0.1 * number, "s_t": 0.7, "pd": 0.15 + 0.05 * number}
        if thing == "none":
            scores["surface"] = "please"
        yield episode(f"para/{thing}", axis="words", plausible=True, object=thing, action="hint", **scores)
    yield episode("nonsense", axis="words", plausible=False)
    for level in (1, 2):
        families: dict[str, Label] = {"label:subtasks": str(level), "label:relation": "surface"}
        yield episode(f"x/{level}", axis="world", level=level, **families)
    yield episode("moved", axis="world", distance=0.2)
    for a, b in ((True, False), (False, True), (True, True)):
        yield episode(f"factors/{a}{b}", **{"factor:a": a, "factor:b": b})
    yield episode("words=xxx", axis="words", plausible=False, rung=1)
    happened = Happened(event="world/replace at near(0.1)", due=5, step=5, told="")
    shape = episode(
        "object=shape", axis="world", plausible=True, dissimilarity=1, event="shape", trigger="near"
    )
    yield replace(shape, events=(happened,))
