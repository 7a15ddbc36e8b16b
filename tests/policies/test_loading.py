from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import PolicyError
from assay.policies.identity import identity, source_digests
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
    (tmp_path / "user_policies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "user_policies"


def test_an_invalid_address_names_valid_ones(module: str):
    for address, words in (
        ("orcale", "did you mean 'oracle'?"),
        ("python:no.such.module:Policy", "there is no module 'no'"),
        ("python:user_policies:God", "did you mean 'Good'?"),
        ("python:user_policies:Mute", "Mute has no act"),
        ("python:user_policies:Broken", "Broken() failed: OSError: no checkpoint"),
    ):
        with pytest.raises(PolicyError, match=re.escape(words)):
            load_policy(address)


def test_a_lerobot_folder_is_an_address(tmp_path: Path):
    with pytest.raises(PolicyError, match=r"not a LeRobot policy: it has no config\.json"):
        load_policy(f"lerobot:{tmp_path}")
    (tmp_path / "config.json").write_text(
        '{"input_features": {"observation.images.top": {"type": "VISUAL", "shape": [3, 64, 64]}}}'
    )
    with pytest.raises(PolicyError, match=r"expects observation\.images\.top; supported inputs: "):
        load_policy(f"lerobot:{tmp_path}?device=cpu")
    with pytest.raises(PolicyError, match="has no field 'speed'"):
        load_policy(f"lerobot:{tmp_path}?speed=1")


ACTS = """
    def reset(self, instruction, spec): ...
    def act(self, observation): ...
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A policy with helpers beside it, in a package and alone, and one file that it does not use."""
    files = {
        "acting.py": "import numpy\nimport lonely_helper\n\nclass Acts:\n"
        "    def __init__(self, checkpoint: str = 'usual.pt', scale: float = 1.0): ...\n" + ACTS,
        "lonely_helper.py": "def late():\n    from nets.core import layer\n",
        "nets/__init__.py": "",
        "nets/core.py": "from . import sub\nfrom .sub import thing\nfrom nets import absent\n",
        "nets/sub.py": "thing = 1\n",
        "nets/unused.py": "",
        "unused.py": "",
        "own.py": "class Own:\n    @classmethod\n    def fingerprint(cls, weights='a'): return f'of {weights}'\n"
        "    def __init__(self, weights='a'): ...\n" + ACTS,
        "wrong.py": "class Wrong:\n    def __init__(self, weights='a'): self.weights = weights\n"
        "    def fingerprint(self): return f'of {self.weights}'\n" + ACTS,
        "broken.py": "class Broken:\n    @staticmethod\n    def fingerprint(): raise KeyError('x')\n" + ACTS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("acting", "lonely_helper", "own", "wrong", "broken"):
        sys.modules.pop(name, None)


def test_the_source_covers_imported_modules_next_to_it(folder: Path):
    importlib.import_module("acting")
    found = source_digests("acting")
    assert list(found) == ["acting.py", "lonely_helper.py", "nets/__init__.py", "nets/core.py", "nets/sub.py"]
    (folder / "unused.py").write_text("changed = 1")
    assert source_digests("acting") == found
    (folder / "nets" / "sub.py").write_text("thing = 2\n")
    now = source_digests("acting")
    assert [name for name in found if found[name] != now[name]] == ["nets/sub.py"]


def test_the_identity_of_an_installed_module_covers_only_its_package():
    import yaml.loader

    found = source_digests(yaml.loader.__name__)
    assert "yaml/loader.py" in found and "yaml/reader.py" in found
    assert all(name.startswith("yaml/") for name in found)


def test_files_in_fields_are_part_of_the_identity(folder: Path):
    (folder / "usual.pt").write_bytes(b"one")
    stored = identity("python:acting:Acts")
    (folder / "usual.pt").write_bytes(b"three")
    again = identity("python:acting:Acts")
    assert stored["checkpoint usual.pt"] != again["checkpoint usual.pt"]
    assert {**stored, "checkpoint usual.pt": ""} == {**again, "checkpoint usual.pt": ""}


def test_a_class_may_have_a_fingerprint(folder: Path):
    assert identity("python:own:Own?weights=b")["fingerprint"] == "of b"
    with pytest.raises(PolicyError, match="fingerprint must be a class method"):
        identity("python:wrong:Wrong")
    with pytest.raises(PolicyError, match=r"fingerprint\(\) failed: KeyError: 'x'"):
        identity("python:broken:Broken")


def test_the_identity_of_an_object_is_its_module_and_its_fingerprint(folder: Path):
    made = importlib.import_module("wrong").Wrong
    assert identity(made("A"))["fingerprint"] == "of A" != identity(made("B"))["fingerprint"]


def test_a_class_method_is_not_the_fingerprint_of_an_object(folder: Path):
    assert identity(importlib.import_module("own").Own("b")).keys() == {"own.py"}
    broken = importlib.import_module("broken").Broken()
    assert identity(broken).keys() == {"broken.py"}, "it is not even called"


def test_a_file_in_another_folder_is_suggested_with_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for address in (f"{tmp_path}/mine.py:Mine", "python:../mine.py:Mine"):
        with pytest.raises(
            PolicyError, match=f"did you mean 'python:mine:Mine' with {tmp_path} on PYTHONPATH"
        ):
            load_policy(address)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError, match=r"did you mean 'python:mine:Class'\?$"):
        load_policy(f"{tmp_path}/mine.py")
