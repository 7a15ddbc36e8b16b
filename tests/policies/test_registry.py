from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.errors import PolicyError
from assay.policies.registry import load_policy

MODULE = """
class Good:
    def reset(self, instruction, spec): ...
    def act(self, observation): ...

class Mute:
    def reset(self, instruction, spec): ...

class Broken:
    def __init__(self): raise OSError("no checkpoint")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "somebodys_policies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "somebodys_policies"


def test_an_invalid_address_names_valid_ones(module: str):
    for address, words in (
        ("orcale", "did you mean 'oracle'?"),
        ("python:no.such.module:Policy", "cannot be imported: ModuleNotFoundError"),
        ("python:somebodys_policies:God", "did you mean 'Good'?"),
        ("python:somebodys_policies:Mute", "Mute has no act"),
        ("python:somebodys_policies:Broken", "Broken() failed: OSError: no checkpoint"),
    ):
        with pytest.raises(PolicyError, match=re.escape(words)):
            load_policy(address)


def test_a_lerobot_folder_is_an_address(tmp_path: Path):
    with pytest.raises(PolicyError, match=r"not a LeRobot policy: it has no config\.json"):
        load_policy(f"lerobot:{tmp_path}")
    (tmp_path / "config.json").write_text(
        '{"input_features": {"observation.images.top": {"type": "VISUAL", "shape": [3, 64, 64]}}}'
    )
    with pytest.raises(PolicyError, match=r"it expects the image observation\.images\.top; valid: "):
        load_policy(f"lerobot:{tmp_path}?device=cpu")
    with pytest.raises(PolicyError, match="has no field 'speed'"):
        load_policy(f"lerobot:{tmp_path}?speed=1")
