from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import PerturbationError
from assay.sim.packs.pack import AssetPack
from assay.tasks.language.lexicon import lexicon, verb_named


def test_every_thing_of_the_primitives_has_a_name() -> None:
    for category in AssetPack().files:
        assert lexicon().of_category(category)


def test_an_unknown_category_is_rejected_and_the_file_named() -> None:
    with pytest.raises(
        PerturbationError, match=r"no name for the category 'teapot'; add one to .*nouns\.yaml"
    ):
        lexicon().of_category("teapot")


def test_more_nouns_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("teapot:\n  things: [teapot]\n  habitual: [kettle]\n")
    (noun,) = lexicon(file).of_category("teapot")
    assert noun.habitual == ("kettle",)
    assert lexicon(file).of_category("plate")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- teapot", "must map each name to its fields"),
        ("teapot: {thing: [teapot]}", "teapot.thing: extra inputs"),
        ("teapot: {habitual: [kettle], also: [kettle]}", "'teapot' contains 'kettle' twice"),
        ("teapot: {functional: [tiny]}", "'tiny', which is a visual or spatial attribute"),
        ("teapot: [", "is not valid YAML"),
    ],
)
def test_a_file_of_nouns_that_is_invalid_is_rejected(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(PerturbationError, match=reason) as refused:
        lexicon(file)
    assert "mine.yaml" in str(refused.value)


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("put", ("put it", "putting it", "put it")),
        ("place", ("place it", "placing it", "placed it")),
        ("pick up", ("pick it up", "picking it up", "picked it up")),
        ("reach for", ("reach for it", "reaching for it", "reached for it")),
        ("slide open", ("slide it open", "sliding it open", "slid it open")),
    ],
)
def test_verbs_are_inflected(written: str, forms: tuple[str, str, str]) -> None:
    verb = verb_named(written)
    assert tuple(verb.phrase("it", form) for form in ("base", "ing", "participle")) == forms
    assert verb_named("turn on").phrase("the stove") == "turn on the stove"
