"""An environment that plays an episode of a plan."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import At, Episode, Outcome
from assay.episodes.events import at_step
from assay.errors import ActionError, AssayError, TaskError
from assay.experiments import Experiment, Variant, load_experiment
from assay.extensions.dropin import benchmark
from assay.extensions.dropin.env_wrapper import OffScreenRenderEnv
from assay.extensions.dropin.recorder import LANGUAGE_READ, Recorder
from assay.extensions.dropin.session import VARIABLE, DropinSession, group_specs, write_plan
from assay.perturb.events import Cancel


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
        (lambda: suite.get_task(7), "task 7 of libero_goal, whose tasks are 0 to 1 .*a separate task"),
        (
            lambda: suite.get_task_init_states(0)[1],
            "requests initial state 1, but the task has 1, one per seed",
        ),
    ):
        with pytest.raises(IndexError, match=reason) as caught:
            asked()
        assert isinstance(caught.value, AssayError), "the script ends with this one line"
    assert benchmark.task_maps.get("libero_10", {}) == {}, "some scripts put all suites together"
    with pytest.raises(TaskError, match="no unrecorded episodes: request libero_goal"):
        benchmark.get_benchmark("libero_10")()


CANCELLED = Experiment(
    "made",
    "The task is cancelled after two steps.",
    lambda task: (Variant("made/stop", (At(at_step(2), Cancel()),)),),
)


def test_a_cancelled_task_succeeds_by_stopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = opened(CANCELLED, "made/stop", tmp_path, monkeypatch)
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


STILL = np.array([0, 0, 0, 0, 0, 0, -1.0])
MOVES = np.array([0.1, 0, 0, 0, 0, 0, -1.0])


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setattr(
        "assay.extensions.dropin.recorder.session", lambda: DropinSession(episodes=str(tmp_path))
    )
    design = load_experiment("pro").only("words=empty")
    specs = list(design.plan(design.choose("libero_goal/7"), (0, 1), pack="primitives"))
    monkeypatch.setattr("assay.extensions.dropin.recorder._PROVISIONAL", {})
    return Recorder(group_specs(specs, {spec: number for number, spec in enumerate(specs)})[1])


def episode(folder: Path, number: int) -> Episode:
    found: Episode = pickle.loads((folder / f"{number}.episode").read_bytes())
    return found


def step(recorder: Recorder, action: np.ndarray = MOVES) -> None:
    recorder.step(action, absolute=False, observe_at=0)


def test_an_episode_ends_at_the_next_reset_or_close(recorder: Recorder, tmp_path: Path):
    recorder.reset(0)
    recorder.reset(0)
    assert not list(tmp_path.glob("*.episode")), "nothing was done in it"
    step(recorder)
    recorder.reset(0)
    first = episode(tmp_path, 2)
    assert (first.outcome, first.steps, first.instruction) == (Outcome.FAILURE, 1, "")
    assert "ended the episode after 1 steps" in first.error
    for _ in range(2):
        step(recorder)
    recorder.end(closed=True)
    assert episode(tmp_path, 3).steps == 2


def test_episodes_are_recorded_once(recorder: Recorder, tmp_path: Path):
    states = recorder._suite_task.states
    for count in (1, 3):
        recorder.start_from(states[1])
        for _ in range(count):
            step(recorder)
    recorder.end(closed=True)
    assert [file.name for file in tmp_path.glob("*.episode")] == ["3.episode"]
    assert episode(tmp_path, 3).steps == 1


def test_a_script_that_reads_no_instruction_gets_one_warning(recorder: Recorder, tmp_path: Path, capsys):
    for read in (True, False):
        (tmp_path / LANGUAGE_READ).touch() if read else (tmp_path / LANGUAGE_READ).unlink()
        for _ in range(2):
            recorder.reset(0)
            step(recorder)
        assert capsys.readouterr().err.count("has read neither task.language") == (not read)


def test_an_invalid_action_is_an_error_and_an_episode_left_before_acting_a_transient_one(
    recorder: Recorder, tmp_path: Path
):
    recorder.reset(0)
    step(recorder)
    with pytest.raises(ActionError):
        step(recorder, MOVES * np.nan)
    recorder.reset(0)
    recorded = episode(tmp_path, 2)
    assert (recorded.outcome, recorded.steps, recorded.transient) == (Outcome.ERROR, 1, False)
    assert "finite" in recorded.error or "nan" in recorded.error
    step(recorder, STILL)
    recorder.reset(0)
    recorded = episode(tmp_path, 3)
    assert (recorded.outcome, recorded.transient) == (Outcome.ERROR, True)
    assert "before any action" in recorded.error


def test_a_garbage_collected_episode_counts_when_the_script_continues(recorder: Recorder, tmp_path: Path):
    step(recorder)
    recorder.end()
    assert [file.name for file in tmp_path.glob("*.unsure")] == ["2.unsure"]
    Recorder(recorder._suite_task)
    assert episode(tmp_path, 2).outcome is Outcome.FAILURE


def test_the_time_limit_is_that_of_assay_run_plus_limited_waiting(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.sim.world.LiberoWorld.horizon", lambda world, spec: 3)
    monkeypatch.setattr("assay.extensions.dropin.recorder.MAX_SETTLING_STEPS", 4)
    for number, waits, moves, steps in ((2, 2, 5, 5), (3, 9, 0, 7)):
        recorder.reset(0)
        for action in [STILL] * waits + [MOVES] * moves:
            step(recorder, action)
        recorded = episode(tmp_path, number)
        assert (recorded.outcome, recorded.steps, recorded.error) == (Outcome.FAILURE, steps, "")


def test_several_environments_choose_different_episodes(recorder: Recorder, tmp_path: Path):
    environments = (recorder, Recorder(recorder._suite_task))
    for environment in environments:
        environment.reset(0)
        step(environment)
    for environment in environments:
        environment.end(closed=True)
    assert {file.name for file in tmp_path.glob("*.episode")} == {"2.episode", "3.episode"}


def test_a_released_episode_is_chosen_by_another_environment(recorder: Recorder, tmp_path: Path):
    recorder.start_from(recorder._suite_task.states[1])
    other = Recorder(recorder._suite_task)
    step(other)
    other.end(closed=True)
    assert [file.name for file in tmp_path.glob("*.episode")] == ["2.episode"]


def test_a_child_process_records_no_provisional_episode(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("multiprocessing.parent_process", lambda: "the script's")
    step(recorder)
    recorder.end()
    assert not list(tmp_path.glob("*.unsure")) and not list(tmp_path.glob("*.episode"))
