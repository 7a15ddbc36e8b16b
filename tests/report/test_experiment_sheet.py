from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec
from assay.experiments import Experiment, Variant
from assay.perturb.releases import FromFile, Recategorise, StartJoints
from assay.perturb.senses import FrozenCamera
from assay.perturb.words.text import Say
from assay.perturb.world import Displace, Recolour
from assay.report.experiment_sheet import SIZE, Shown, _cell, caption, draw_conditions
from assay.report.sheet import MARGIN, PAPER, Cell, save_cells
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
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, dict[str, Shown]]:
    file = tmp_path_factory.mktemp("sheets") / "deep" / "sheet.png"
    shown = draw_conditions(file, list(Experiment("t", "", variants).plan([TASK], [2])))
    with Image.open(file) as image:
        return np.asarray(image), {each.spec.condition: each for each in shown}


def test_every_condition_is_there_once_with_what_is_told(drawn: tuple[np.ndarray, dict[str, Shown]]):
    shown = drawn[1]
    assert list(shown) == ["control", "t/words", "t/looks", "t/frozen", "t/refused"]
    assert shown["t/words"].told == "soup, please" and shown["control"].told == TASK.instruction.text
    assert shown["t/refused"].told.startswith("refused: there is no 'nobody_1'")
    assert not shown["t/refused"].pictures
    assert {each.spec.seed for each in shown.values()} == {2}


def test_the_control_stands_beside_each_condition(drawn: tuple[np.ndarray, dict[str, Shown]]):
    shown = drawn[1]
    agent = shown["control"].pictures[0][0]
    ((usual, told),) = shown["t/words"].pictures
    assert np.array_equal(usual, agent) and np.array_equal(told, agent)
    ((usual, coloured),) = shown["t/looks"].pictures
    assert np.array_equal(usual, agent)
    differ = (coloured != agent).any(axis=-1)
    assert 20 < differ.sum() < 0.1 * SIZE * SIZE, "one thing has another colour"


def test_senses_are_shown_as_the_policy_has_them_after_a_while(drawn: tuple[np.ndarray, dict[str, Shown]]):
    shown = drawn[1]
    (agent, frozen), (hand, frozen_hand) = shown["t/frozen"].pictures
    assert np.array_equal(frozen, shown["control"].pictures[0][0]), "the picture of the start"
    assert np.array_equal(frozen_hand, shown["control"].pictures[0][1])
    assert not np.array_equal(agent, frozen) and not np.array_equal(hand, frozen_hand)


def test_captions_say_the_values_and_how_many_there_are():
    change = Recategorise("akita_black_bowl", "black_bowl")
    spec = EpisodeSpec(TASK.id, 0, condition="t/object", perturbations=(change, Say("soup, please")))
    cell = _cell(Shown(spec, "soup, please", ()), 7)
    assert cell.title == "t/object, 1 of 7"
    assert cell.lines == (
        "soup, please",
        "release/category old=akita_black_bowl new=black_bowl, words/say",
    )
    assert _cell(Shown(spec, "", ()), 1).title == "t/object"
    control = _cell(Shown(EpisodeSpec(TASK.id, 0), TASK.instruction.text, ()), 1)
    assert control.title == f"{CONTROL}, by the main camera and by the one at the wrist"
    assert caption(FromFile("a/deep/folder/one.bddl@0123456789ab")).endswith("file=one.bddl@0123456789ab")
    assert caption(StartJoints((0.1234567,) * 7)).endswith("0.123 0.123 0.123")


def test_long_words_and_titles_stay_in_their_cell(tmp_path: Path):
    picture = np.zeros((40, 60, 3), np.uint8)
    long = "EXTENSION_KITCHEN_SCENE50_LEVEL4__T286_place_the_bowl_on_the_middle_plate"
    file = save_cells(tmp_path / "a.png", f"{long} " * 9, [f"{long} " * 9, Cell(long, (long,), [[picture]])])
    with Image.open(file) as image:
        sheet = np.asarray(image)
    inked = (sheet != PAPER).any(axis=-1)
    assert not inked[:, -MARGIN:].any(), "the heading and the section end before the edge"
    top = int(np.flatnonzero((sheet == 0).all(axis=-1).any(axis=1))[0])
    beside = inked[top - 100 : top, MARGIN + 2 * 60 + MARGIN :]
    assert inked[top - 100 : top, : MARGIN + 2 * 60].any() and not beside[-60:].any()


def test_the_pictures_are_on_the_sheet(drawn: tuple[np.ndarray, dict[str, Shown]]):
    sheet, shown = drawn
    rows = [row.tobytes() for row in sheet]
    for picture in (shown["t/looks"].pictures[0][1], shown["t/frozen"].pictures[1][0]):
        assert any(picture[SIZE // 2].tobytes() in row for row in rows)
