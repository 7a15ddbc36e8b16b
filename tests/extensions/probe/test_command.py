from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from bench.trained import Trained, frames, handed_over

from assay.policies.remote.openpi import CONVENTION

EASY = "libero_goal/7"


def test_probe_prints_the_address_to_use_with_the_odds(drawing: str, assay: Callable[..., Any]):
    policy = Trained(CONVENTION, frames((EASY,), (100,), every=6))
    options = ["--tasks", EASY, "--seeds", "1", "--moments", "10", "--episodes", "0", "--json", "-"]
    with handed_over(policy) as address:
        result = assay("probe", "--policy", f"{address}?layout=hand", *options)
    said = json.loads(result.out)
    assert result.status == 0 and said["understood"] and said["address"].startswith(address)
    assert [each["field"] for each in said["fields"]] == ["image orientation", "image size", "gripper"]
    assert all(each["evidence"] >= 0 for each in said["fields"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("oracle", "'oracle' is not a policy server"),
        ("opnpi://h:1", "did you mean 'openpi'?"),
        ("openpi://127.0.0.1:9?connect=0.1", "openpi://127.0.0.1:9: "),
        ("openpi://h:1 --moments 5", "--moments"),
    ],
)
def test_probe_rejects_invalid_input(arguments: str, message: str, assay: Callable[..., Any]):
    result = assay("probe", "--policy", *arguments.split())
    assert result.status == 2 and message in result.err and not result.out
