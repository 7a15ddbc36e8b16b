from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.experiments import Experiment, Variant
from assay.perturb.senses.images import FrozenCamera
from assay.perturb.words.text import Say
from assay.perturb.world.objects import Recolour
from assay.perturb.world.position import Displace
from assay.report.experiment_sheet import SIZE, draw_conditions
from assay.tasks import Task

pytestmark = pytest.mark.usefixtures("drawing")
TASK = tasks.load("libero_object/0")


def variants(task: Task) -> tuple[Variant, ...]:
    return (
        Variant("t/words", (Say("soup, please"),)),
        Variant("t/looks", (Recolour((0.9, 0.1, 0.9)),)),
        Variant("t/frozen", (FrozenCamera(),)),
        Variant("t/refused", (Displace(0.1, "nobody_1"),)),
    )


def test_each_condition_is_drawn_once_beside_its_control(tmp_path: Path):
    file = tmp_path / "deep" / "sheet.png"
    conditions = draw_conditions(file, list(Experiment("t", "", variants).plan([TASK], [2])))
    assert {cell.spec.seed for cell in conditions} == {2}
    shown = {cell.spec.condition: cell for cell in conditions}
    assert list(shown) == ["control", "t/words", "t/looks", "t/frozen", "t/refused"]
    assert shown["t/words"].text == "soup, please" and shown["control"].text == TASK.instruction.text
    assert shown["t/refused"].text.startswith("not possible: there is no 'nobody_1'")
    assert not shown["t/refused"].images
    ((agent, hand),) = shown["control"].images
    ((usual, told),) = shown["t/words"].images
    assert np.array_equal(usual, agent) and np.array_equal(told, agent)
    ((usual, coloured),) = shown["t/looks"].images
    assert np.array_equal(usual, agent)
    differ = (coloured != agent).any(axis=-1)
    assert 20 < differ.sum() < 0.1 * SIZE * SIZE, "one thing has another colour"
    (moved, frozen), (moved_hand, frozen_hand) = shown["t/frozen"].images  # after some motion
    assert np.array_equal(frozen, agent) and np.array_equal(frozen_hand, hand)
    assert not np.array_equal(moved, frozen) and not np.array_equal(moved_hand, frozen_hand)
    with Image.open(file) as image:
        rows = [row.tobytes() for row in np.asarray(image)]
    for picture in (coloured, frozen_hand):
        assert any(picture[SIZE // 2].tobytes() in row for row in rows), "it is on the sheet"
