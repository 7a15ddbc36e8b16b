from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from bench.trained import Trained, frames, handed_over

from assay.cli.app import app, main
from assay.policies.remote.openpi import CONVENTION

EASY = "libero_goal/7"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must fail; returns what it says on standard error."""

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["assay", "probe", "--policy", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("oracle",), "'oracle' is not a policy server"),
        (("opnpi://h:1",), "did you mean 'openpi'?"),
        (("openpi://127.0.0.1:9?connect=0.1",), "openpi://127.0.0.1:9: "),
        (("openpi://h:1", "--tasks", "libero_goal/99"), "libero_goal/99"),
        (("openpi://h:1", "--moments", "5"), "--moments"),
    ],
)
def test_what_cannot_be_probed_is_one_line(refused: Callable[..., str], words: tuple[str, ...], said: str):
    lines = refused(*words).strip().splitlines()
    assert said in " ".join(lines) and "Traceback" not in lines[0] and len(lines) == 1


def test_the_address_to_use_is_printed_with_the_odds(drawing: str, capsys: pytest.CaptureFixture[str]):
    policy = Trained(CONVENTION, frames((EASY,), (100,), every=6))
    options = ["--tasks", EASY, "--seeds", "1", "--moments", "10", "--episodes", "0", "--json", "-"]
    with handed_over(policy) as address, pytest.raises(SystemExit) as ended:
        app(["probe", "--policy", f"{address}?layout=hand", *options])
    said = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0 and said["understood"] and said["address"].startswith(address)
    assert [each["field"] for each in said["fields"]] == ["image orientation", "image size", "gripper"]
    assert all(each["evidence"] >= 0 for each in said["fields"])
