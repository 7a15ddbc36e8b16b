"""Every world keeps to the interface, and the checker finds worlds that do not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.episodes import WORLDS, EpisodeSpec, horizon, load_world, task_of, world_name
from assay.episodes.check import check_world
from assay.errors import TaskError, WorldError
from assay.plugin import Env, Instruction, Traits, World

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = Instruction("count")


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("world", list(WORLDS))
def test_registered_worlds_have_no_problems(world: str):
    assert check_world(WORLDS[world]) == []


@pytest.mark.parametrize(
    ("folder", "address"),
    [
        ("", "python:world:WORLD"),
        pytest.param(
            *("plugin", "python:assay_example.point:POINT_WORLD"), marks=pytest.mark.extensions("eqa")
        ),
    ],
)
def test_example_worlds_have_no_problems(folder: str, address: str):
    command = [sys.executable, "-m", "assay", "check", address]  # separate, because registrations persist
    checked = subprocess.run(command, cwd=EXAMPLES / folder, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@dataclass(frozen=True)
class Numbered:
    id: str
    instruction: Instruction = COUNT


class Counting(Env):
    def reset(self, spec: EpisodeSpec) -> np.ndarray:
        self.task = self.world.task(spec)
        self.total = np.zeros(1)
        return self.total.copy()

    def step(self, action: np.ndarray) -> np.ndarray:
        self.total = self.total + action
        return self.total.copy()

    def succeeded(self) -> bool:
        return False


class CountingWorld(World):
    traits = Traits("counting", continuous=False)
    action_size = 1
    env: type[Env] = Counting

    def tasks(self) -> list[Numbered]:
        return [Numbered("counting/0"), Numbered("counting/1")]

    def open(self, states: Path | None = None) -> Env:
        return self.env(self)


class Forgetful(Counting):
    """Keeps its state from one episode to the next."""

    def reset(self, spec: EpisodeSpec) -> np.ndarray:
        total = getattr(self, "total", np.zeros(1))
        super().reset(spec)
        self.total = total
        return total.copy()


class Global(Counting):
    """Draws from a global generator."""

    def reset(self, spec: EpisodeSpec) -> np.ndarray:
        super().reset(spec)
        self.total = np.random.random(1)  # noqa: NPY002
        return self.total.copy()


class Foreseeing(Counting):
    """Behaves differently from the start if something is going to change."""

    def reset(self, spec: EpisodeSpec) -> np.ndarray:
        super().reset(spec)
        self.total = np.ones(1) * len(spec.perturbations)
        return self.total.copy()


class Flat(Counting):
    """Draws frames that are not images."""

    def frame(self, observation: Any) -> np.ndarray:
        return np.zeros(3)


def test_the_checker_finds_a_flawed_environment():
    for env, problem in (
        (Forgetful, "running a spec again in the same Env"),
        (Global, "running a spec in another Env"),
        (Foreseeing, "differs from its control before that step"),
        (Flat, "expected a uint8 array of shape (height, width, 3)"),
        (Env, "Env has no reset and no step and no succeeded"),
    ):
        world = CountingWorld()
        world.env = env
        assert any(problem in line for line in check_world(world)), check_world(world)


def test_the_checker_lists_everything_that_is_missing_at_once():
    problems = "\n".join(check_world(World()))
    assert all(member in problems for member in ("traits", "action_size", "tasks()", "open(states)"))


def test_the_checker_finds_flawed_tasks_and_horizons():
    class Flawed(CountingWorld):
        traits = Traits("flawed", demonstrator="nobody")

        def horizon(self, spec: EpisodeSpec) -> int:
            return 100

        def tasks(self) -> list[Numbered]:
            return [Numbered("flawed/0", "go"), Numbered("flawed/0")]  # type: ignore[arg-type]

    problems = "\n".join(check_world(Flawed()))
    for problem in ("the same id", "horizon(spec) is 100", "demonstrator is not registered"):
        assert problem in problems


def test_a_selection_names_tasks_with_or_without_their_world():
    world = CountingWorld()
    assert [task.id for task in world.select("1, counting/0")] == ["counting/1", "counting/0"]
    assert world.select("all") == world.tasks()
    with pytest.raises(TaskError, match="did you mean 'counting/0'"):
        world.select("countin/0")


def test_an_incomplete_world_is_rejected_with_the_command_that_explains_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "half_world.py").write_text("from assay.plugin import World\nWORLD = World()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(WorldError, match="assay check python:half_world:WORLD"):
        load_world("python:half_world:WORLD")


def test_a_task_id_names_its_world_and_task_files_belong_to_libero():
    spec = EpisodeSpec("libero_goal/7", 0, steps=2)
    assert task_of(spec).id == spec.task and horizon(spec) == 2 < horizon(replace(spec, steps=None))
    assert world_name("libero_goal/3") == world_name("counting/mine.json") == "libero"
    assert world_name("libero/stove.bddl@0123456789ab") == "libero"
