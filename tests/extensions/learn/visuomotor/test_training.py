from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import PolicyError
from assay.extensions.learn.visuomotor.inputs import FrameArrays, Head, Input, NetworkSettings, read
from assay.support.training import Schedule, TrainingProgress

torch = pytest.importorskip(
    "torch", reason="learned policies need torch: pip install 'assay-robotics[learn]'"
)

from assay.extensions.learn.visuomotor import training  # noqa: E402
from assay.extensions.learn.visuomotor.training import load_network, train_to_file  # noqa: E402

STEPS, BATCH = 12, 32
SMALL = {"pixels": 32, "chunk": 4, "width": 32}


@pytest.fixture(scope="module")
def frames(demonstrated: Path) -> FrameArrays:
    torch.set_num_threads(1)
    return read(demonstrated, 32)


def _off(frames: FrameArrays, file: Path, head: Head, steps: int, *without: Input) -> np.ndarray:
    """The mean error of x (which hangs on words), y (on images), z (on the state) after some training."""
    settings = NetworkSettings(head=head, without=without, **SMALL)
    train_to_file(frames, file, settings, Schedule(steps=steps, batch=BATCH, rate=3e-3))
    network, _ = load_network(file)
    examples = training.TrainingExamples(frames, [[text] for text in frames.instructions], settings)
    chosen = np.arange(0, len(frames), 5)
    wanted, _ = examples.chunks(chosen)
    with torch.inference_mode():
        given = network(examples.inputs(chosen), torch.zeros_like(wanted))
    return (given - wanted).abs().numpy()[:, 0, :3].mean(axis=0)


def test_the_network_learns_from_all_inputs(frames: FrameArrays, tmp_path: Path):
    words, images, state = _off(frames, tmp_path / "all.safetensors", Head.REGRESSION, 100)
    assert words < 0.15 and images < 0.15 and state < 0.15


@pytest.mark.parametrize("head", [Head.BINS, Head.FLOW])
def test_all_heads_follow_the_instruction(frames: FrameArrays, tmp_path: Path, head: Head):
    off = _off(frames, tmp_path / "other.safetensors", head, 80, Input.IMAGES)
    assert off[0] < 0.2  # one of two tasks goes to 0.5, the other to -0.5


@pytest.mark.parametrize(("without", "axis"), [(Input.WORDS, 0), (Input.IMAGES, 1), (Input.STATE, 2)])
def test_withheld_inputs_are_not_used(frames: FrameArrays, tmp_path: Path, without: Input, axis: int):
    off = _off(frames, tmp_path / "less.safetensors", Head.REGRESSION, 60, without)
    assert off[axis] > 0.15


def test_an_interrupted_training_ends_with_the_same_network_and_other_options_are_refused(
    frames: FrameArrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(training, "_SNAPSHOT_INTERVAL_S", 0.0)
    settings, schedule = NetworkSettings(head=Head.FLOW, **SMALL), Schedule(steps=6, batch=8)

    def interrupt(progress: TrainingProgress) -> None:
        if progress.step == 4:
            raise KeyboardInterrupt

    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    first = train_to_file(frames, whole, settings, schedule)
    with pytest.raises(KeyboardInterrupt):
        train_to_file(frames, broken, settings, schedule, watch=interrupt)
    notes = tmp_path / "broken.safetensors.training"
    assert notes.is_file() and not broken.exists()
    with pytest.raises(PolicyError, match="belongs to a training run with other data or options"):
        train_to_file(frames, broken, settings, schedule, seed=1)
    mirrored = replace(frames, images={name: images[:, ::-1] for name, images in frames.images.items()})
    with pytest.raises(PolicyError, match="belongs to a training run with other data or options"):
        train_to_file(mirrored, broken, settings, schedule)
    seen: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr("assay.support.training.save_checkpoint", lambda *_: interrupt(TrainingProgress(4)))
        with pytest.raises(KeyboardInterrupt):
            train_to_file(
                frames, broken, settings, schedule, watch=lambda progress: seen.append(progress.step)
            )
    assert seen == [4, 5, 6] and not broken.exists()
    train_to_file(frames, broken, settings, schedule, watch=lambda progress: seen.append(progress.step))
    assert seen == [4, 5, 6] and not notes.exists(), "an interruption while saving costs no training"
    weights = [load_network(file)[0].state_dict() for file in (whole, broken)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert first.episodes == {"turn on the stove": 12, "put the bowl on the plate": 12}
    notes.write_bytes(b"nonsense")
    with pytest.raises(PolicyError, match="is damaged; delete it to start over"):
        train_to_file(frames, broken, settings, schedule)


def test_intermediate_checkpoints_load_and_seeds_differ(frames: FrameArrays, tmp_path: Path):
    settings, schedule = NetworkSettings(**SMALL), Schedule(steps=4, batch=8)
    for seed in (0, 1):
        train_to_file(frames, tmp_path / f"{seed}.safetensors", settings, schedule, seed=seed, every=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "0-2.safetensors", "0.safetensors", "1-2.safetensors", "1.safetensors"
    ]  # fmt: skip
    assert load_network(tmp_path / "0-2.safetensors")[1].steps == 2
    first, other = (load_network(tmp_path / f"{seed}.safetensors")[0].joined.weight for seed in (0, 1))
    assert not torch.equal(first, other)


def test_actions_after_the_end_of_an_episode_do_not_count(frames: FrameArrays):
    examples = training.TrainingExamples(
        frames, [[text] for text in frames.instructions], NetworkSettings(**SMALL)
    )
    actions, counts = examples.chunks(np.array([0, STEPS - 1]))
    assert counts.tolist() == [[1, 1, 1, 1], [1, 0, 0, 0]]
    assert torch.equal(actions[1], torch.from_numpy(frames.actions[[STEPS - 1] * 4]))


def test_training_draws_wordings_and_evaluation_uses_the_original(frames: FrameArrays):
    said = [[text, f"please {text}"] for text in frames.instructions]
    examples = training.TrainingExamples(frames, said, NetworkSettings(**SMALL))
    chosen = np.zeros(20, dtype=np.int64)
    assert len(np.unique(examples.inputs(chosen).words.numpy(), axis=0)) == 1
    assert len(np.unique(examples.inputs(chosen, np.random.default_rng(0)).words.numpy(), axis=0)) == 2


def test_learn_trains_and_reports_errors(assay: Callable[..., Any], demonstrated: Path, tmp_path: Path):
    file = tmp_path / "policy.safetensors"
    options = ("--steps", "2", "--pixels", "32", "--chunk", "4", "--demonstrations", "3")
    said = assay("learn", demonstrated, "--out", file, *options, "--without", "state")
    lines = said.out.splitlines()
    assert said.status == 0 and lines[0].startswith(f"{file}: ") and "2 steps with batches of 64" in lines[0]
    assert lines[0].endswith("6 demonstrations") and lines[1].startswith("no episode was held out")
    assert load_network(file)[1].settings.without == (Input.STATE,)


def test_bins_are_not_drawn_to_the_one_bin_that_clipped_actions_share():
    """Three tenths of the chance at full speed in one bin, the rest spread about a quarter of it: not full speed."""
    from assay.extensions.learn.visuomotor.network import ACTION_SIZE, BINS, BinsHead

    head = BinsHead(8, 1)
    spread = torch.zeros(BINS)
    spread[-1], spread[130:170] = 0.3, 0.7 / 40
    with torch.no_grad():
        head.out.weight.zero_()
        head.out.bias.copy_(torch.log(spread + 1e-9).repeat(ACTION_SIZE))
        given = head.actions(torch.zeros(1, 8), torch.zeros(1, 1, ACTION_SIZE)) / head.reach
    assert given.max() < 0.35 and int(spread.argmax()) == BINS - 1
