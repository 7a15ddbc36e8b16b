from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.generate.layout import JITTER_M, SceneDraft, SceneObject
from assay.extensions.generate.words import Reference, ReferenceBasis, name, references, together


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


def test_no_reference_fits_two_objects(casts: list[SceneDraft]):
    for draft in casts:
        used: dict[str, SceneObject] = {}
        for obj in draft.objects:
            for reference in references(draft, obj):
                assert used.setdefault(reference.words, obj) == obj, reference.words


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


@pytest.mark.parametrize(("noun", "plural"), [("box", "boxes"), ("can", "cans")])
def test_sets_of_objects_are_named_in_the_plural(casts: list[SceneDraft], noun: str, plural: str):
    said = [
        words
        for draft in casts
        if (words := together(draft, [obj for obj in draft.objects if obj.noun == noun])) is not None
    ]
    assert said and all(words.endswith(f" {plural}") for words in said)
