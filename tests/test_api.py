from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.episodes import Episode, EpisodeSpec, Instruction, Outcome
from assay.errors import AssetError, ExperimentError, PolicyError, RunError, TaskError
from assay.perturb import Say

LIGHT = """
import sys, {module}
heavy = ("mujoco", "spacy", "websockets", "torch", "ray", "assay.policies.oracle.policy", "matplotlib")
print([name for name in heavy if name in sys.modules])
"""


class Still:
    """A policy that waits with an open gripper."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.told = instruction.text

    def act(self, observation: object) -> np.ndarray:
        return np.array([[0, 0, 0, 0, 0, 0, -1.0]])


def test_the_public_names_exist_and_are_documented():
    assert assay.__all__ == sorted(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name).__doc__, name
    assert set(assay.__all__) <= set(dir(assay))
    with pytest.raises(AttributeError, match="no attribute 'suite'"):
        assay.suite  # noqa: B018


@pytest.mark.parametrize("module", ["assay", "assay.episodes", "assay.measures"])
def test_the_first_imports_load_no_simulator(module: str):
    done = subprocess.run(
        [sys.executable, "-c", LIGHT.format(module=module)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> assay.Run:
    """Run of a policy object on two episodes."""
    path = tmp_path_factory.mktemp("api") / "still.assay"
    return assay.run("libero", policy=Still(), tasks="libero_goal/7", seeds=2, steps=3, out=path)


def test_a_run_is_read_in_every_way(run: assay.Run, tmp_path: Path):
    frame = run.frame()
    assert frame["outcome"].to_list() == ["failure", "failure"] and run.ending.left == 0
    assert run.meta["policy"].endswith("test_api.Still") and run.meta["experiment"] == "libero"
    assert run.profile().done == 2
    assert run.diagnose()
    page = run.report(tmp_path / "report")
    assert page.is_file() and "Still" in page.read_text()
    again = assay.load_run(run.path)
    assert again.frame().equals(frame)


def test_an_episode_is_found_by_the_beginning_of_its_key_and_replayed(run: assay.Run):
    key = run.frame()["key"][0]
    episode = run.episodes[key[:8]]
    assert len(run.episodes) == 2 and episode.key == key and episode.spec.seed == episode.row["seed"]
    assert episode.trajectory.actions.shape == (3, 7)
    replayed = episode.replay()
    assert isinstance(replayed, Episode) and replayed.outcome is Outcome.FAILURE
    assert np.array_equal(replayed.trajectory.end_effector, episode.trajectory.end_effector)
    with pytest.raises(KeyError, match=r"expected one recorded episode .*, got 0"):
        run.episodes["nothing begins like this"]


def test_the_temporary_run_of_a_policy_object_is_deleted_with_the_object():
    run = assay.run("libero", policy=Still(), tasks=["libero_goal/7"], seeds=[3], steps=1)
    path = run.path
    assert run.frame()["seed"].to_list() == [3] and path.is_file()
    del run
    assert not path.exists()


class Breaks:
    """A policy that raises an error at the first step."""

    def reset(self, instruction: object, spec: object) -> None:
        pass

    def act(self, observation: object) -> np.ndarray:
        raise ValueError("boom")


def test_errors_of_a_policy_are_in_the_printed_summary():
    broken = assay.run("libero", policy=Breaks(), tasks="libero_goal/7", seeds=1, steps=1)
    assert "Every episode ended in an error" in broken.summary() and "boom" in broken.summary()
    with pytest.raises(assay.AssayError, match="cannot be written"):
        broken.report("/proc/x")
    found = assay.evaluate(Breaks(), "libero", tasks="libero_goal/7", seeds=1, steps=1)
    assert "excluded because of errors: 1 of 1 episodes" in str(found)


def test_runs_are_compared_on_their_shared_episodes(run: assay.Run, tmp_path: Path):
    options = {"tasks": "libero_goal/7", "seeds": "0-1", "steps": 3, "workers": 0}
    other = assay.run("libero", policy="idle", out=tmp_path / "idle.assay", **options)
    compared = assay.compare(run, other.path)
    assert compared.shared == 2 and compared.overall[0].change == 0
    with pytest.raises(RunError, match="at least two different runs"):
        assay.compare(run, run.path)


def test_a_task_is_stepped_by_hand():
    with assay.make_env("libero_goal/3", perturbations=[Say("bowl, please")]) as env:
        assert str(env.task.instruction) == "bowl, please" and not env.succeeded
        first = env.reset(seed=7)
        after = env.step([0, 0, -1.0, 0, 0, 0, -1.0])
        assert after.step == first.step + 1 and after.eef_position[2] < first.eef_position[2]
        assert env.simulation.pose("akita_black_bowl_1")[0].shape == (3,)


@pytest.mark.extensions("tabletop")
def test_a_task_of_another_world_is_loaded():
    assert assay.load_task("tabletop/T1/L1", seed=3).prompt.words


def test_invalid_arguments_are_rejected_before_a_file_is_created(tmp_path: Path):
    out = tmp_path / "run.assay"
    for wrong, error, words in (
        ({"policy": object()}, PolicyError, r"has no reset\(\) or act\(\)"),
        ({"policy": "python:test_api_no_such_module:Policy"}, PolicyError, "test_api_no_such_module"),
        ({"policy": "python:json:JSONEncoder"}, PolicyError, r"has no reset\(\) or act\(\)"),
        ({"policy": "idle", "states": tmp_path / "none"}, RunError, "the folder does not exist"),
        ({"policy": Still}, PolicyError, "Still is a class, not a policy; pass Still"),
        ({"policy": Still(), "workers": 2}, RunError, "set workers to 0"),
        ({"policy": "idle", "seeds": 0}, RunError, "expected a number of seeds"),
        ({"policy": "idle", "seeds": [1, 1]}, RunError, "different seeds"),
        ({"policy": "idle", "workers": -1}, RunError, "expected a number >= 0"),
        ({"policy": "idle", "video": "yes"}, RunError, "choose one of failures, all"),
        ({"policy": "idle", "tasks": 7}, TaskError, "a list of names"),
        ({"policy": "idle", "conditions": 7}, ExperimentError, "a list of names"),
        ({"policy": "idle", "conditions": "nonsense"}, ExperimentError, "no condition 'nonsense' for these"),
        ({"policy": "idle", "assets": "nonsense"}, AssetError, "there is no asset pack 'nonsense'"),
    ):
        with pytest.raises(error, match=words):
            assay.run("libero", out=out, **{"tasks": "libero_goal/7", "seeds": 1, **wrong})  # type: ignore[arg-type]
        assert not out.exists()
