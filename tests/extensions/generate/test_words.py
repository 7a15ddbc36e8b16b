from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.generate.layout import JITTER_M, SceneDraft, SceneObject
from assay.extensions.generate.words import (
    Reference,
    ReferenceBasis,
    Side,
    is_at,
    may_be_at,
    name,
    references,
    together,
)
from assay.perturb.world.ground import Spot


def meant(draft: SceneDraft, reference: Reference) -> list[SceneObject]:
    """The objects that words are true of, read anew from the words and the scene."""
    words = reference.words.removeprefix("the ")
    ordered = sorted(draft.objects, key=lambda obj: draft.spot(obj).y)

    def description(rest: str) -> list[SceneObject]:
        return [obj for obj in ordered if obj.description == rest]

    for rank, ordinal in enumerate(("first", "second", "third", "fourth")):
        for side, step in (("left", 1), ("right", -1)):
            if words.startswith(f"{ordinal} ") and words.endswith(f" from the {side}"):
                row = description(words.removeprefix(f"{ordinal} ").removesuffix(f" from the {side}"))[::step]
                return row[rank : rank + 1]
    for side, index in (("left", 0), ("right", -1)):
        if words.startswith(f"{side} "):
            return [description(words.removeprefix(f"{side} "))[index]]
    for end, index in ((" nearest to the robot", 0), (" furthest from the robot", -1)):
        if words.endswith(end):
            row = description(words.removesuffix(end))
            return [sorted(row, key=lambda obj: np.hypot(draft.spot(obj).x + 0.66, draft.spot(obj).y))[index]]
    return description(words)


def test_references_are_true_of_one_object_only(casts: list[SceneDraft]):
    checked = set()
    for draft in casts:
        for obj in draft.objects:
            for reference in references(draft, obj):
                if reference.by is not ReferenceBasis.LANDMARK:
                    assert meant(draft, reference) == [obj], reference.words
                    checked.add((reference.by, reference.words.split()[-2]))
    assert {by for by, _ in checked} == {ReferenceBasis.NOUN, ReferenceBasis.ATTRIBUTE, ReferenceBasis.ORDER}
    assert {"the"} <= {word for _, word in checked}, "ordinals were among them"


def test_left_to_right_order_is_unambiguous(casts: list[SceneDraft]):
    counts = set()
    for draft in casts:
        for obj in draft.objects:
            alike = [each for each in draft.objects if each.description == obj.description]
            gaps = np.diff(sorted(draft.spot(each).y for each in alike))
            for reference in references(draft, obj):
                if reference.by is ReferenceBasis.ORDER and "robot" not in reference.words:
                    counts.add(len(alike))
                    assert min(gaps) > 4 * JITTER_M, reference.words
    assert {2, 3} <= counts


def test_sets_contain_all_objects_of_their_description(casts: list[SceneDraft]):
    said = set()
    for draft in casts:
        for obj in draft.objects:
            alike = [each for each in draft.objects if each.description == obj.description]
            words = together(draft, alike)
            if len(alike) > 1:
                assert words is not None and words.split()[0] in ("both", "all")
                said.add(words.split()[0])
            else:
                assert words is None
            assert len(alike) < 3 or together(draft, alike[:2]) is None
            assert (name(draft, obj) is None) == (len(alike) > 1)
    assert said == {"both", "all"}


def test_sets_of_objects_are_named_in_the_plural(casts: list[SceneDraft]):
    for noun, plural in (("box", "boxes"), ("can", "cans")):
        sets = [together(draft, [obj for obj in draft.objects if obj.noun == noun]) for draft in casts]
        names = [words for words in sets if words is not None]
        assert names and all(words.endswith(f" {plural}") for words in names)


PLATE = Spot(0.0, 0.0, 0.06, 0.06)


def test_sides_are_those_of_the_camera():
    for x, y, side in (
        *((0.0, -0.13, Side.LEFT), (0.0, 0.13, Side.RIGHT)),
        *((0.13, 0.0, Side.FRONT), (-0.13, 0.02, Side.BEHIND)),
    ):
        obj = Spot(x, y, 0.03, 0.03)
        assert [each for each in Side if is_at(obj, each, PLATE)] == [side] and may_be_at(obj, side, PLATE)
    assert PLATE.gap(Spot(0.0, 0.2, 0.04, 0.04)) == pytest.approx(0.1)
    assert PLATE.gap(Spot(0.05, 0.05, 0.04, 0.04)) == 0


def test_diagonal_or_distant_objects_are_at_no_certain_side():
    askew, far = Spot(0.12, -0.13, 0.03, 0.03), Spot(0.0, -0.28, 0.03, 0.03)
    assert not any(is_at(askew, side, PLATE) or is_at(far, side, PLATE) for side in Side)
    assert may_be_at(askew, Side.LEFT, PLATE) and may_be_at(askew, Side.FRONT, PLATE)
    assert may_be_at(far, Side.LEFT, PLATE) and not may_be_at(far, Side.RIGHT, PLATE)
