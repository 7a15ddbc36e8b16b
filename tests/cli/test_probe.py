from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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
