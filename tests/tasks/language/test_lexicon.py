from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.sim.packs.pack import AssetPack
from assay.tasks.language import lexicon, verb_named
from assay.tasks.language.lexicon import names_of


def test_every_thing_of_the_primitives_has_a_name() -> None:
    for category in AssetPack().files:
        assert lexicon().of_category(category)


def test_the_forms_of_original_instructions_are_known() -> None:
    for task in tasks.resolve("all"):
        for entity in task.scene.entities:
            nouns = lexicon().of_category(entity.category)
            parts = [part for noun in nouns for part in lexicon().parts_of(noun)]
            written = {form for noun in (*nouns, *parts) for form in noun.original_forms}
            for form in names_of(entity.category):
                said = form.removesuffix("s") if form.endswith("pots") else form
                assert any(said.endswith(each) for each in written), form


def test_an_unknown_category_is_refused_and_the_file_named() -> None:
    with pytest.raises(
        PerturbationError, match=r"no name for the category 'teapot': add one to .*nouns\.yaml"
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
        ("teapot: {habitual: [kettle], also: [kettle]}", "'teapot' has 'kettle' twice"),
        ("teapot: {functional: [tiny]}", "'tiny', a visual or spatial attribute"),
        ("lid: {part_of: [saucepan]}", "part of 'saucepan', which is not in the lexicon"),
        ("teapot: {habitual: ['ket{t}le']}", "should match pattern"),
        ("teapot: [", "is not YAML"),
    ],
)
def test_a_file_of_nouns_that_makes_no_sense_is_refused(tmp_path: Path, text: str, reason: str) -> None:
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
        ("grab", ("grab it", "grabbing it", "grabbed it")),
        ("reach for", ("reach for it", "reaching for it", "reached for it")),
        ("slide open", ("slide it open", "sliding it open", "slid it open")),
        ("transfer ->", ("transfer it", "transferring it", "transferred it")),
    ],
)
def test_verbs_are_inflected(written: str, forms: tuple[str, str, str]) -> None:
    verb = verb_named(written)
    assert tuple(verb.phrase("it", form) for form in ("base", "ing", "participle")) == forms
    assert verb_named("turn on").phrase("the stove") == "turn on the stove"
