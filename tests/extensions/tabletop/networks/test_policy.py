from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.errors import PolicyError
from assay.extensions.tabletop.networks.policy import MODELS, LearnedPolicy, find_model
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play

NEEDS = "learned policies need torch: pip install 'assay-robotics[learn]'"


def test_an_unknown_model_and_a_missing_torch_are_reported(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(PolicyError, match="did you mean 'cross-objects'"):
        find_model("cross-object")
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
    from assay.extensions.tabletop.networks.training import train_and_save
    from assay.support.training import Schedule

    file = tmp_path / "new" / "policy.safetensors"
    made = train_and_save(recorded, file, MODELS[name], Schedule(steps=2, batch=4), permute=True)
    assert (made.model, made.steps, made.permuted, made.episodes["T1"]) == (name, 2, True, 3)
    policy = LearnedPolicy(str(file))
    assert policy.description == made
    task = make(Setting("T1", 0))
    played, again = (play(task, each, most=task.best) for each in (policy, LearnedPolicy(str(file))))
    assert played.actions.shape == (1, 12) and (played.actions == again.actions).all()
    data = file.read_bytes()
    for content in (data[: len(data) // 2], b"nonsense", data.replace(b"vocabulary", b"vocabulari", 1)):
        file.write_bytes(content)
        with pytest.raises(PolicyError, match="is damaged, or not a checkpoint") as error:
            LearnedPolicy(str(file))
        assert "\n" not in str(error.value)
    with pytest.raises(PolicyError, match="there is no checkpoint"):
        LearnedPolicy(str(tmp_path / "nowhere"))
