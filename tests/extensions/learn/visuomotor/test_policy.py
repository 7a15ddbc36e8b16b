from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.extensions.learn.visuomotor.inputs import Head, NetworkSettings, read
from assay.extensions.learn.visuomotor.policy import VisuomotorPolicy
from assay.policies.registry import check_address, load_policy
from assay.policies.remote import codec
from assay.policies.remote.openpi import CONVENTION
from assay.policies.remote.serve import OpenPISession, ReceivedObservation, load_servable
from assay.support.training import Schedule
from assay.tasks import Instruction

NEEDS = "learned policies need torch: pip install 'assay-robotics[learn]'"
SPEC = EpisodeSpec("libero_goal/7", 0)
STATE = np.array([0.0, 0.0, 1.0, 3.1, 0.0, 0.0, 0.04, -0.04])
IMAGE = np.arange(224 * 224 * 3, dtype=np.uint8).reshape(224, 224, 3)


def _received() -> ReceivedObservation:
    return ReceivedObservation(
        CONVENTION, {"observation/image": IMAGE, "observation/wrist_image": IMAGE}, STATE, 0
    )


@pytest.fixture(scope="module")
def file(demonstrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason=NEEDS)
    from assay.extensions.learn.visuomotor.training import train_to_file

    out = tmp_path_factory.mktemp("trained") / "policy.safetensors"
    settings = NetworkSettings(head=Head.FLOW, pixels=32, chunk=12, width=16)
    train_to_file(read(demonstrated, 32), out, settings, Schedule(steps=2, batch=8))
    return out


def test_a_policy_acts_in_chunks_deterministically_and_follows_the_instruction(file: Path):
    def acted(text: str, address: str) -> np.ndarray:
        policy = load_policy(address)
        policy.reset(Instruction(text), SPEC)
        return np.concatenate([policy.act(_received()), policy.act(_received())])

    address = f"learned?checkpoint={file}"
    actions = acted("turn on the stove", address)
    assert actions.shape == (16, 7) and np.abs(actions).max() <= 1 and set(np.abs(actions[:, 6])) == {1.0}
    assert np.array_equal(actions, acted("turn on the stove", address))
    assert not np.array_equal(actions, acted("put the bowl on the plate", address))
    assert acted("turn on the stove", f"{address}&execute=3").shape == (6, 7)
    assert not np.array_equal(actions[:8], actions[8:])  # a flow begins with other noise each time
    still = acted("turn on the stove", f"{address}&noise=0")
    assert np.array_equal(still[:8], still[8:])


def test_a_learned_policy_is_served_with_its_training_record(file: Path):
    address = f"learned?checkpoint={file}"
    session = OpenPISession(load_servable(address), address, None)
    seen = {"observation/image": IMAGE, "observation/wrist_image": IMAGE, "observation/state": STATE}
    reply = codec.decode(session.answer(codec.encode_openpi(seen | {"prompt": "stack"})), max_bytes=2**20)
    assert reply["actions"].shape == (8, 7)
    said = check_address(address)
    assert said["steps"] == "2" and "'head': 'flow'" in said["settings"]


def test_invalid_checkpoints_are_rejected(file: Path, tmp_path: Path):
    data, broken = file.read_bytes(), tmp_path / "broken.safetensors"
    for content in (data[: len(data) // 2], b"nonsense", data.replace(b"paraph", b"parapp", 1)):
        broken.write_bytes(content)
        with pytest.raises(PolicyError, match="is damaged, or is not a checkpoint written by assay learn"):
            VisuomotorPolicy(str(broken))
    with pytest.raises(PolicyError, match="there is no checkpoint"):
        VisuomotorPolicy(str(tmp_path / "nowhere"))
    with pytest.raises(PolicyError, match="execute=13: expected an integer from 1 to 12"):
        VisuomotorPolicy(str(file), execute=13)
    with pytest.raises(PolicyError, match="noise=2: expected a number from 0 to 1"):
        VisuomotorPolicy(str(file), noise=2)
