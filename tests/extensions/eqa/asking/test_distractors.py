from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.asking.distractors import checked, distractors
from assay.extensions.eqa.asking.models import model
from assay.extensions.eqa.build import Case
from assay.support.llm import Cache

from .conftest import Vision, chat

RIGHT = "put the carrot on the plate"
GOOD = "<wrong>put the pot on the stove</wrong><wrong>wash the cup</wrong><wrong>open the drawer</wrong>"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (GOOD, ""),
        (GOOD.replace("wash the cup", "wash  the\ncup"), ""),
        ("put the pot on the stove", "0 instructions, not 3"),
        (GOOD + "<wrong>fold it</wrong>", "4 instructions, not 3"),
        (GOOD.replace("wash the cup", ""), "one says the same as another"),
        (GOOD.replace("wash the cup", "Place the carrot onto the plate."), "one says the same as another"),
        (GOOD.replace("wash the cup", "put a pot on a stove"), "one says the same as another"),
        (GOOD.replace("wash the cup", "x" * 300), "not an instruction"),
        (GOOD.replace("wash the cup", "wash\x00the cup"), "not an instruction"),
    ],
)
def test_wrong_instructions_are_taken_only_if_each_says_something_of_its_own(said: str, why: str):
    found, reason = checked(RIGHT, said)
    assert reason == why and len(found) == (0 if why else 3)


def test_a_model_writes_them_and_is_asked_once(vision: Vision, settings, tmp_path: Path):
    vision.faults = {0: chat(GOOD), 1: chat("I would rather not.")}
    cache = Cache(tmp_path / "said")
    writing = model("openai:tiny", settings(at_once=1), cache)
    shots = [np.full((8, 8, 3), grey, np.uint8) for grey in (10, 200)]
    one, two = Case("1", RIGHT, lambda: shots), Case("2", "fold the cloth", lambda: shots)
    found, dropped = distractors([one, two], writing, tmp_path / "seen")
    assert found == {"1": ("put the pot on the stove", "wash the cup", "open the drawer")}
    assert dropped == {"0 instructions, not 3": 1} and RIGHT in str(vision.asked[0]["messages"])
    content = vision.asked[0]["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text", "image_url", "text"]
    assert content[1] != content[3], "before and after are both in view"
    assert distractors([one], writing, tmp_path / "seen")[0] == found and len(vision.asked) == 2
    cache.close()
