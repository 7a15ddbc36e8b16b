from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.errors import PolicyError
from assay.extensions.tabletop.networks.dataset import Dataset
from assay.extensions.tabletop.networks.policy import MODELS, LearnedPolicy
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play

NEEDS = "learned policies need torch: pip install 'assay-robotics[learn]'"


def test_a_missing_torch_and_a_missing_checkpoint_are_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PolicyError, match=r"pip install 'assay-robotics\[learn\]'"):
        LearnedPolicy("any.safetensors")
    with pytest.raises(PolicyError, match="checkpoint=FILE"):
        LearnedPolicy()


@pytest.mark.parametrize("name", ["cross-objects", "concat-patches"])
def test_a_policy_is_made_from_demonstrations_acts_and_a_damaged_file_is_refused(
    recorded: Path, tmp_path: Path, name: str
):
    pytest.importorskip("torch", reason=NEEDS)
    from assay.extensions.tabletop.networks.training import train
    from assay.support.training import Schedule, save_checkpoint

    file = tmp_path / "new" / "policy.safetensors"
    dataset = Dataset.read(recorded, MODELS[name][1])
    network, made = train(dataset, name, Schedule(steps=2, batch=4), permute=True)
    save_checkpoint(file, network, made)
    assert (made.model, made.steps, made.permuted, made.episodes["T1"]) == (name, 2, True, 3)
    policy = LearnedPolicy(str(file))
    assert policy.description == made
    task = make(Setting("T1", 0))
    played, again = (play(task, each, most=task.best) for each in (policy, LearnedPolicy(str(file))))
    assert played.actions.shape == (1, 12) and (played.actions == again.actions).all()
    data = file.read_bytes()
    for content in (data[: len(data) // 2], b"nonsense", data.replace(b"vocabulary", b"vocabulari", 1)):
        file.write_bytes(content)
        with pytest.raises(PolicyError, match="is damaged, or is not a checkpoint") as error:
            LearnedPolicy(str(file))
        assert "\n" not in str(error.value)
    with pytest.raises(PolicyError, match="there is no checkpoint"):
        LearnedPolicy(str(tmp_path / "nowhere"))
