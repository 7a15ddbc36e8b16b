from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.generate.layout import JITTER, Cast, Thing
from assay.extensions.generate.words import By, Reference, name, references, together


def meant(cast: Cast, reference: Reference) -> list[Thing]:
    """The things that words are true of, read anew from the words and the scene."""
    words = reference.words.removeprefix("the ")
    ordered = sorted(cast.things, key=lambda thing: cast.spot(thing).y)

    def called(rest: str) -> list[Thing]:
        return [thing for thing in ordered if thing.called == rest]

    for rank, ordinal in enumerate(("first", "second", "third", "fourth")):
        for side, step in (("left", 1), ("right", -1)):
            if words.startswith(f"{ordinal} ") and words.endswith(f" from the {side}"):
                row = called(words.removeprefix(f"{ordinal} ").removesuffix(f" from the {side}"))[::step]
                return row[rank : rank + 1]
    for side, index in (("left", 0), ("right", -1)):
        if words.startswith(f"{side} "):
            return [called(words.removeprefix(f"{side} "))[index]]
    for end, index in ((" nearest to the robot", 0), (" furthest from the robot", -1)):
        if words.endswith(end):
            row = called(words.removesuffix(end))
            return [
                sorted(row, key=lambda thing: np.hypot(cast.spot(thing).x + 0.66, cast.spot(thing).y))[index]
            ]
    return called(words)


def test_words_are_true_of_one_thing_and_of_no_other(casts: list[Cast]):
    checked = set()
    for cast in casts:
        for thing in cast.things:
            for reference in references(cast, thing):
                if reference.by is not By.LANDMARK:
                    assert meant(cast, reference) == [thing], reference.words
                    checked.add((reference.by, reference.words.split()[-2]))
    assert {by for by, _ in checked} == {By.NOUN, By.ATTRIBUTE, By.ORDER}
    assert {"the"} <= {word for _, word in checked}, "ordinals were among them"


def test_no_words_are_used_for_two_things(casts: list[Cast]):
    for cast in casts:
        used: dict[str, Thing] = {}
        for thing in cast.things:
            for reference in references(cast, thing):
                assert used.setdefault(reference.words, thing) == thing, reference.words


def test_the_order_is_clear_whatever_the_seed(casts: list[Cast]):
    counts = set()
    for cast in casts:
        for thing in cast.things:
            alike = [each for each in cast.things if each.called == thing.called]
            gaps = np.diff(sorted(cast.spot(each).y for each in alike))
            for reference in references(cast, thing):
                if reference.by is By.ORDER and "robot" not in reference.words:
                    counts.add(len(alike))
                    assert min(gaps) > 4 * JITTER, reference.words
    assert {2, 3} <= counts


def test_sets_of_things_are_all_that_are_called_so(casts: list[Cast]):
    said = set()
    for cast in casts:
        for thing in cast.things:
            alike = [each for each in cast.things if each.called == thing.called]
            words = together(cast, alike)
            if len(alike) > 1:
                assert words is not None and words.split()[0] in ("both", "all")
                said.add(words.split()[0])
            else:
                assert words is None
            assert len(alike) < 3 or together(cast, alike[:2]) is None
            assert (name(cast, thing) is None) == (len(alike) > 1)
    assert said == {"both", "all"}


@pytest.mark.parametrize(("noun", "plural"), [("box", "boxes"), ("can", "cans")])
def test_a_set_is_named_in_the_plural(casts: list[Cast], noun: str, plural: str):
    said = [
        words
        for cast in casts
        if (words := together(cast, [thing for thing in cast.things if thing.noun == noun])) is not None
    ]
    assert said and all(words.endswith(f" {plural}") for words in said)
