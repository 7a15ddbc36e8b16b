from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from assay import tasks
from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.policies.registry import load_policy
from assay.runs.replay import COLOURS, FOOTER, HEADER, HOLD_S, MARGIN, EpisodeVideo, video_file
from assay.sim import Observation, Simulation
from assay.sim.world import VIDEO_PIXELS, SceneEnv
from assay.tasks import Instruction

TASK = tasks.load("libero_goal/7")
SPEC = EpisodeSpec(TASK.id, 3, steps=4)
Filming = Callable[..., tuple[Path, list[np.ndarray]]]
WIDTH, HEIGHT = 2 * (VIDEO_PIXELS + MARGIN), HEADER + VIDEO_PIXELS + FOOTER


class Broken:
    """Raises a long complaint when it is asked for the second time."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.asked = 0

    def act(self, observation: Observation) -> np.ndarray:
        self.asked += 1
        if self.asked == 2:
            raise RuntimeError("nobody knows why " * 20)
        return np.zeros((1, 7))


@pytest.fixture(scope="module")
def world(drawing: str, compiled: Any) -> Iterator[Simulation]:
    made = Simulation(compiled(TASK.id))
    yield made
    made.close()


@pytest.fixture(scope="module")
def filmed(world: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Filming:
    def filming(policy: Any, task: tasks.Task = TASK) -> tuple[Path, list[np.ndarray]]:
        env = SceneEnv(world, task, world.sample(SPEC.seed))
        video = EpisodeVideo(env, SPEC)
        done = rollout(env, policy, SPEC, watch=video)
        path = video_file(tmp_path_factory.mktemp("videos") / "new", SPEC, done.outcome)
        video.write(path, done)
        with av.open(str(path)) as file:
            return path, [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(video=0)]

    return filming


def badge(frame: np.ndarray) -> np.ndarray:
    """The colour of the corner in which the outcome is said."""
    return frame[HEADER + VIDEO_PIXELS + 20, WIDTH - MARGIN - 5]


def test_video_shows_both_cameras_at_each_step_and_the_outcome_at_the_end(filmed: Filming, world: Simulation):
    path, frames = filmed(load_policy("idle"))
    assert path.name == f"libero_goal_7_003_{SPEC.key[:8]}_failure.mp4"
    assert len(frames) == 4 + 1 + 20 * HOLD_S and frames[0].shape == (HEIGHT, WIDTH, 3)
    start = world.reset(world.sample(SPEC.seed))
    for left, camera in ((MARGIN, "agentview"), (MARGIN + VIDEO_PIXELS, "robot0_eye_in_hand")):
        shown = frames[0][HEADER : HEADER + VIDEO_PIXELS, left : left + VIDEO_PIXELS]
        assert np.abs(shown - start.image(camera, VIDEO_PIXELS)).mean() < 6
    assert np.abs(frames[-1] - frames[4]).mean() < 2, "the same image, encoded quickly"
    assert np.abs(badge(frames[-1]) - COLOURS[Outcome.FAILURE]).max() < 25
    assert badge(frames[0]).min() > 225  # paper


def test_error_is_named_and_its_reason_cut_to_fit(filmed: Filming):
    path, frames = filmed(Broken())
    assert path.name.endswith("_error.mp4") and len(frames) == 1 + 1 + 20 * HOLD_S
    assert np.abs(badge(frames[-1]) - COLOURS[Outcome.ERROR]).max() < 25
    assert frames[-1][:, WIDTH - MARGIN + 2 :].min() > 225  # nothing runs over the margin


def test_long_instruction_stays_within_the_frame(filmed: Filming):
    wordy = replace(TASK, instruction=Instruction("turn on the stove and then " * 12))
    _, frames = filmed(load_policy("idle"), wordy)
    assert frames[0][:HEADER, WIDTH - MARGIN + 2 :].min() > 225
    assert frames[0][28:50, MARGIN : WIDTH - MARGIN].min() < 100  # it is written all the same
