from __future__ import annotations

import numpy as np
import pytest

from assay.errors import ActionError, RenderingError, TaskError
from assay.extensions.tabletop.prompts.prompt import Picture, portrait
from assay.extensions.tabletop.world.observation import TableObservation, render_picture
from assay.extensions.tabletop.world.scene import TableItem, TableScene, Tool
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.extensions.tabletop.world.textures import COLOURS

BOWL = TableItem("base", "bowl", "tiles", 0.5, 0.25, fixed=True)
BLOCK = TableItem("block", "block", "red", 0.4, -0.2)
DISC = TableItem("disc", "round", "blue", 0.6, -0.35)


@pytest.fixture
def world() -> TableSimulation:
    return TableSimulation(TableScene((BOWL, BLOCK, DISC)))


def test_an_object_is_picked_moved_and_turned(world: TableSimulation) -> None:
    report = world.step(action((0.41, -0.2), (0.61, 0.0), np.radians(30)))
    assert report.held == 1
    x, y, yaw = world.poses()[1]
    turned = np.array([np.cos(np.radians(30)), np.sin(np.radians(30))]) * 0.01
    assert np.allclose((x, y), (0.61, 0.0) - turned, atol=0.004)
    assert np.isclose(yaw, np.radians(30), atol=0.03)
    assert abs(world.heights()[1]) < 0.002


def test_objects_rest_in_a_bowl_and_on_each_other(world: TableSimulation) -> None:
    trail = world.step(action((0.6, -0.35), (0.5, 0.25))).trail
    assert len(trail) > 8 and np.linalg.norm(np.diff(trail[:, 2, :2], axis=0), axis=1).max() < 0.15
    assert np.hypot(*(world.poses()[2, :2] - (0.5, 0.25))) < 0.04
    assert 0.004 < world.heights()[2] < 0.06
    world.reset()
    world.step(action((0.6, -0.35), (0.4, -0.2)))
    assert world.heights()[2] == pytest.approx(0.064, abs=0.003)


def test_a_pick_beside_every_movable_object_misses(world: TableSimulation) -> None:
    before = world.poses()
    for place in ((0.5, 0.0), (0.5, 0.25)):  # the bare table, a fixed bowl
        assert world.step(action(place, (0.6, 0.1))).held == -1
        assert np.allclose(world.poses(), before, atol=1e-3)
    world = TableSimulation(TableScene((TableItem("ring", "ring", "red", 0.5, 0.0),)))
    assert world.step(action((0.5, 0.0), (0.6, 0.2))).held == -1
    assert world.step(action((0.5, 0.037), (0.6, 0.2))).held == 0


def test_a_pose_outside_is_clipped_to_the_edge(world: TableSimulation) -> None:
    world.step(action((0.4, -0.2), (9.0, -9.0)))
    assert np.allclose(world.poses()[1, :2], (0.75, -0.5), atol=0.01)


def test_invalid_actions_and_scenes_are_refused(world: TableSimulation) -> None:
    for given, words in (
        (np.zeros(7), r"shape \(12,\).*got \(7,\)"),
        (np.full(12, np.nan), "non-finite"),
        (np.array(["left"]), "12 numbers"),
    ):
        with pytest.raises(ActionError, match=words):
            world.step(given)
    for items, words in (
        ((TableItem("x", "lettr A", "red", 0.5, 0.0),), "did you mean 'letter A'"),
        ((TableItem("x", "block", "dark olive", 0.5, 0.0),), "unknown texture 'dark olive'"),
        ((BLOCK, BLOCK), "more than one item named 'block'"),
    ):
        with pytest.raises(TaskError, match=words):
            TableSimulation(TableScene(items))


def test_an_action_without_a_distance_does_nothing(world: TableSimulation) -> None:
    before = world.poses()
    assert world.step(action((0.4, -0.2), (0.4, -0.2))).held == -1 and (world.poses() == before).all()
    swept = TableSimulation(TableScene((TableItem("a", "small block", "red", 0.6, 0.0),), Tool.SPATULA))
    for given in (action((0.5, 0.2), (0.5, 0.2), 0.5), action((0.5, 0.2), (0.475, 0.2))):
        before = swept.poses()
        swept.step(given)
        assert np.allclose(swept.poses(), before, atol=1e-4)


def test_the_spatula_pushes_a_block_along_and_leaves_others() -> None:
    near, far = (
        TableItem("a", "small block", "red", 0.6, 0.0, 0.4),
        TableItem("b", "small block", "blue", 0.6, 0.2),
    )
    world = TableSimulation(TableScene((near, far), Tool.SPATULA))
    world.step(action((0.608, 0.0), (0.4, 0.0)))
    (x, y, _), other = world.poses()
    assert 0.41 < x < 0.45
    assert abs(y) < 0.015
    assert np.allclose(other[:2], (0.6, 0.2), atol=1e-3)


def test_predicting_an_action_gives_its_trail_and_changes_nothing() -> None:
    block = TableItem("a", "small block", "red", 0.6, 0.0, 0.4)
    for scene, given in (
        (TableScene((BOWL, BLOCK, DISC)), action((0.6, -0.35), (0.4, -0.25), 0.5)),
        (TableScene((block,), Tool.SPATULA), action((0.61, 0), (0.4, 0))),
    ):
        world = TableSimulation(scene)
        before = world.poses()
        trail = world.predict(given)
        assert (world.poses() == before).all() and world.actions == 0
        assert (world.step(given).trail == trail).all() and np.abs(trail[-1] - before).max() > 0.1


def test_the_same_actions_give_the_same_poses_bit_for_bit_and_a_reset_undoes_them() -> None:
    ends = []
    for _ in range(2):
        world = TableSimulation(TableScene((BOWL, BLOCK, DISC)))
        before = world.poses()
        world.step(action((0.6, -0.35), (0.4, -0.25), 0.5))
        ends.append(world.poses())
    assert (ends[0] == ends[1]).all()
    world.reset()
    assert (world.poses() == before).all() and world.actions == 0


HIDDEN = TableItem("hidden", "shorter block", "green", 0.5, 0.0, fixed=True)
COVER = TableItem("cover", "block", "red", 0.5, 0.0, z=0.03, size=(1.4, 1.4, 1.0), fixed=True)
SEEN = TableItem("seen", "L-shaped block", "blue", 0.3, -0.4, fixed=True)


@pytest.fixture(scope="module")
def observation(drawing: str) -> TableObservation:
    return TableSimulation(TableScene((HIDDEN, COVER, SEEN))).observe()


def test_the_top_view_shows_objects_in_their_places_and_colours(observation: TableObservation) -> None:
    rows, columns = np.nonzero(observation.segmentation("top") == 2)
    assert np.isclose(rows.mean(), 63.5, atol=1.5) and np.isclose(columns.mean(), 127.5, atol=1.5)
    rows, columns = np.nonzero(observation.segmentation("top") == 3)
    assert np.isclose((rows.min() + rows.max()) / 2, (0.3 - 0.245) / 0.51 * 128, atol=1.5)
    assert np.isclose((columns.min() + columns.max()) / 2, (-0.4 + 0.51) / 1.02 * 256, atol=1.5)
    inside = observation.image("top")[observation.segmentation("top") == 3]
    assert np.abs(np.median(inside, axis=0) - COLOURS["blue"]).max() < 12


def test_objects_come_in_the_given_order_with_the_invisible_last(observation: TableObservation) -> None:
    tokens, ordered = observation.objects("top"), observation.reorder(np.array([2, 0, 1]))
    assert tokens.items.tolist() == [1, 2, 0] and ordered.objects("top").items.tolist() == [2, 1, 0]
    assert tokens.visible.tolist() == ordered.objects("top").visible.tolist() == [True, True, False]
    assert (tokens.crops[2] == 0).all() and observation.order is None
    assert np.allclose(tokens.boxes[0], (0.5, 0.5, 0.098 / 0.51, 0.098 / 1.02), atol=0.02)
    own, other = observation.segmentation("top"), ordered.segmentation("top")
    assert ((own == 3) == (other == 1)).all() and ((own == 2) == (other == 3)).all() and (own == 2).any()
    with pytest.raises(RenderingError, match=r"\[0, 0, 1\] is not a permutation of 3 objects"):
        observation.reorder([0, 0, 1]).objects()


def test_a_portrait_shows_one_object_on_white(drawing: str) -> None:
    picture = portrait(SEEN)
    assert isinstance(picture, Picture)
    colour, labels = render_picture(picture)["top"]
    assert set(np.unique(labels)) == {0, 1}
    assert (colour[labels == 0] > 240).all()


def test_brightness_is_independent_of_size(drawing: str) -> None:
    def brightness(*size: float) -> float:
        item = TableItem("a", "letter A", "red", 0.5, 0.0, size=size, fixed=True)  # type: ignore[arg-type]
        seen = TableSimulation(TableScene((item,))).observe()
        return float(seen.image("top")[seen.segmentation("top") == 1].mean())

    usual = brightness(1, 1, 1)
    assert brightness(1, 1, 2.35) == pytest.approx(usual, rel=0.02) == brightness(1, 1, 0.35)
    assert brightness(1.5, 1.5, 1) == pytest.approx(usual, rel=0.05)
