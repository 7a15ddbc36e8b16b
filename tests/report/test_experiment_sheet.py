from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.experiments import Experiment, Variant
from assay.perturb.senses.images import FrozenCamera
from assay.perturb.words.text import Say
from assay.perturb.world.objects import Recolour
from assay.perturb.world.position import Displace
from assay.report.experiment_sheet import SIZE, ConditionImages, draw_conditions
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


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, dict[str, ConditionImages]]:
    file = tmp_path_factory.mktemp("sheets") / "deep" / "sheet.png"
    shown = draw_conditions(file, list(Experiment("t", "", variants).plan([TASK], [2])))
    with Image.open(file) as image:
        return np.asarray(image), {cell.spec.condition: cell for cell in shown}


def test_every_condition_is_shown_once_with_its_instruction(
    drawn: tuple[np.ndarray, dict[str, ConditionImages]],
):
    shown = drawn[1]
    assert list(shown) == ["control", "t/words", "t/looks", "t/frozen", "t/refused"]
    assert shown["t/words"].text == "soup, please" and shown["control"].text == TASK.instruction.text
    assert shown["t/refused"].text.startswith("not possible: there is no 'nobody_1'")
    assert not shown["t/refused"].images
    assert {cell.spec.seed for cell in shown.values()} == {2}


def test_the_control_stands_beside_each_condition(drawn: tuple[np.ndarray, dict[str, ConditionImages]]):
    shown = drawn[1]
    agent = shown["control"].images[0][0]
    ((usual, told),) = shown["t/words"].images
    assert np.array_equal(usual, agent) and np.array_equal(told, agent)
    ((usual, coloured),) = shown["t/looks"].images
    assert np.array_equal(usual, agent)
    differ = (coloured != agent).any(axis=-1)
    assert 20 < differ.sum() < 0.1 * SIZE * SIZE, "one thing has another colour"


def test_perturbed_observations_are_shown_after_some_motion(
    drawn: tuple[np.ndarray, dict[str, ConditionImages]],
):
    shown = drawn[1]
    (agent, frozen), (hand, frozen_hand) = shown["t/frozen"].images
    assert np.array_equal(frozen, shown["control"].images[0][0]), "the picture of the start"
    assert np.array_equal(frozen_hand, shown["control"].images[0][1])
    assert not np.array_equal(agent, frozen) and not np.array_equal(hand, frozen_hand)


def test_the_images_are_on_the_sheet(drawn: tuple[np.ndarray, dict[str, ConditionImages]]):
    sheet, shown = drawn
    rows = [row.tobytes() for row in sheet]
    for picture in (shown["t/looks"].images[0][1], shown["t/frozen"].images[1][0]):
        assert any(picture[SIZE // 2].tobytes() in row for row in rows)
