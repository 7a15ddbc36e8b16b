"""An environment that plays an episode of a plan."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import At
from assay.episodes.events import at_step
from assay.errors import AssayError, TaskError
from assay.experiments import Experiment, Variant, load_experiment
from assay.extensions.dropin import benchmark
from assay.extensions.dropin.env_wrapper import OffScreenRenderEnv
from assay.extensions.dropin.planned import group_specs, write_plan
from assay.extensions.dropin.session import VARIABLE, DropinSession
from assay.perturb.events import Cancel
from assay.perturb.world import Distractors


def opened(
    experiment: str | Experiment, condition: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> OffScreenRenderEnv:
    """Return the environment of a condition's task, in a new session."""
    whole = load_experiment(experiment) if isinstance(experiment, str) else experiment
    design = whole.only(condition)
    specs = list(design.plan(design.choose("libero_goal/7"), (0,), pack="primitives"))
    planned = group_specs(specs, {spec: number for number, spec in enumerate(specs)})
    (folder / "episodes").mkdir()
    write_plan(folder / "plan.json", folder, planned)
    now = DropinSession("primitives", str(folder), str(folder / "plan.json"), str(folder / "episodes"))
    now.write(folder / "session.json")
    monkeypatch.setenv(VARIABLE, str(folder / "session.json"))
    [changed] = [task for task in planned if condition.split("/")[-1] in task.spec(0).condition]
    [file] = folder.rglob(f"{changed.name}.bddl")
    return OffScreenRenderEnv(bddl_file_name=str(file), camera_heights=32, camera_widths=32)


@pytest.mark.usefixtures("drawing")
def test_requested_observations_are_perturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = opened("plus", "noise/fog=1", tmp_path, monkeypatch)
    env.reset()
    plain = env.env._simulation.observe().image("agentview", 32)[::-1]
    asked = env._get_observations(force_update=True)["agentview_image"]
    assert np.abs(asked.astype(int) - plain).mean() > 5
    env.close()


def test_missing_tasks_and_states_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened("surface", "capitals", tmp_path, monkeypatch).close()
    monkeypatch.setattr(benchmark, "task_maps", benchmark.read_task_maps())
    suite = benchmark.get_benchmark("libero_goal")()
    for asked, reason in (
        (lambda: suite.get_task(7), "task 7 of libero_goal, whose tasks are 0 to 1 .*not LIBERO's numbers"),
        (lambda: suite.get_task_init_states(0)[1], "initial state 1 of a task that has 1, counted from 0"),
    ):
        with pytest.raises(IndexError, match=reason) as caught:
            asked()
        assert isinstance(caught.value, AssayError), "the script ends with this one line"
    assert benchmark.task_maps.get("libero_10", {}) == {}, "some scripts put all suites together"
    with pytest.raises(TaskError, match="none that are left to play; there are some of libero_goal"):
        benchmark.get_benchmark("libero_10")()


MEANWHILE = Experiment(
    "made",
    "Something happens after two steps.",
    lambda task: (
        Variant("made/stop", (At(at_step(2), Cancel()),)),
        Variant("made/thing", (At(at_step(2), Distractors(1)),)),
    ),
)


def test_a_script_sees_the_scene_that_an_event_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = opened(MEANWHILE, "made/thing", tmp_path, monkeypatch)
    env.reset()
    before = set(env.env.objects_dict)
    for _ in range(3):
        env.env.step([0.0] * 7)
    (new,) = set(env.env.objects_dict) - before
    assert new.startswith("distractor_")
    env.close()


def test_a_cancelled_task_succeeds_by_stopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = opened(MEANWHILE, "made/stop", tmp_path, monkeypatch)
    env.reset()
    done, steps = False, 0
    while not done and steps < 60:
        _, _, done, _ = env.env.step([0.0] * 7)
        steps += 1
    assert done and steps == 42 and env.language_instruction == "stop"
    env.close()
    (file,) = (tmp_path / "episodes").glob("*.episode")
    episode = pickle.loads(file.read_bytes())
    assert episode.instruction == "turn on the stove" and episode.events[0]["step"] == 2
