"""The programs in docs/policies.md do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import LIBERO, Outcome, world_servers
from assay.policies.registry import load_policy
from assay.policies.remote.address import ServerOptions
from assay.policies.remote.convention import ADJUSTABLE
from assay.policies.remote.openpi import OpenPI
from assay.sim import Observation
from assay.support.plugins import import_object

from .conftest import SPEC, TASK, Play

PAGE = Path(__file__).parents[3] / "docs" / "policies.md"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's programs, which can be imported."""
    for name, body in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_user_class_acts(programs: Path, play: Play):
    episode, _ = play(load_policy("python:my_policy:Mine"), 30)
    heights = episode.trajectory.end_effector[:, 2]
    assert episode.outcome is Outcome.FAILURE and abs(heights[-1] - 1.0) < abs(heights[0] - 1.0)


def test_a_documented_policy_observes_what_openpi_sends(programs: Path, observation: Observation):
    import trained_policy  # type: ignore[import-not-found]

    asked = []
    trained_policy.my_model = lambda *seen: asked.append(seen) or np.zeros((10, 7))  # type: ignore[func-returns-value]
    policy = trained_policy.Trained()
    policy.reset(TASK.instruction, SPEC)
    assert policy.act(observation).shape == (5, 7)
    pictures, state, prompt = asked[0]
    assert {each.shape for each in pictures.values()} == {(224, 224, 3)}
    assert state.shape == (8,) and prompt == TASK.instruction.text


@pytest.fixture
def server(programs: Path) -> Iterator[str]:
    code = (programs / "my_server.py").read_text().replace("8000", "0")
    (programs / "my_server.py").write_text(
        code.replace("server.serve_forever()", "print(server.socket.getsockname()[1], flush=True)\n"
                     "        server.serve_forever()")
    )  # fmt: skip
    process = subprocess.Popen([sys.executable, programs / "my_server.py"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"openpi://127.0.0.1:{process.stdout.readline().strip()}"
    process.kill()
    process.communicate()


def test_a_user_server_is_asked(server: str, play: Play):
    policy = OpenPI(f"{server}?timeout=10")
    episode, _ = play(policy, 20)
    policy.close()
    assert episode.outcome is Outcome.FAILURE and policy.metadata == {"model": "mine"}


def test_every_option_of_an_address_is_explained():
    table = PAGE.read_text().partition("Options are set in the address")[2].partition("\nA server that")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    documented = [option.strip("`") for row in rows for option in row.split(", ")]
    own = {option for kind in map(import_object, world_servers(LIBERO).values()) for option in kind.options}
    shared = set(ServerOptions.__dataclass_fields__) - {"relay"}  # set by a run
    assert sorted(documented) == sorted([*ADJUSTABLE, *shared, *own, "client"])
