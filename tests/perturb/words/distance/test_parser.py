from __future__ import annotations

import numpy as np
import pytest
import spacy

from assay.perturb.words.distance.models import parser_folder
from assay.perturb.words.distance.parser import CONTENT, Parse, Parser
from assay.perturb.words.distance.scorer import ENGLISH, Scorer

TEXTS = (
    "put the cream cheese in the bowl",
    "After you've opened the drawer, slide the bottles onto the rack.",
    "I'd like the stove on. Could you see to that?",
    "is the middle compartment still shut?",
)
FOREIGN = (
    "stelle die Schüssel auf den Teller",
    "mets le bol sur l'assiette",
    "coloca la botella de vino en el estante",
    "open de middelste lade van de kast",
    "postaw miskę na talerzu",
    "ba wan fang dao panzi shang",
    "поставь миску на тарелку",
    "把碗放在盘子上",
    "ضع الوعاء على الطبق",
)


@pytest.fixture(scope="module")
def parser(models: Scorer) -> Parser:
    return Parser()


def same(one: Parse, other: Parse) -> bool:
    arrays = ("labels", "leftmost", "keyroots")
    return one.lemmas == other.lemmas and all(
        np.array_equal(getattr(one.tree, name), getattr(other.tree, name)) for name in arrays
    )


def test_content_words_are_lemmas_in_order(parser: Parser):
    (parse,) = parser.parse(["Slide the bottles onto the wooden racks"])
    assert parse.lemmas == ("slide", "bottle", "wooden", "rack")


def test_the_tree_is_that_of_the_first_sentence(parser: Parser):
    first, both = parser.parse(["turn on the stove.", "turn on the stove. it is cold."])
    assert len(first.tree) == 5
    assert np.array_equal(first.tree.labels, both.tree.labels)
    assert len(both.lemmas) > len(first.lemmas)


def test_the_case_does_not_matter(parser: Parser):
    assert same(*parser.parse(["TURN ON THE STOVE", "turn on the stove"]))


def test_a_parse_does_not_hang_on_the_others(parser: Parser):
    together = parser.parse([*TEXTS, *FOREIGN])
    assert all(same(each, *parser.parse([text])) for each, text in zip(together, TEXTS, strict=False))


def test_what_is_left_out_of_the_pipeline_changes_nothing(parser: Parser):
    whole = spacy.load(parser_folder())
    for parse, document in zip(parser.parse(TEXTS), whole.pipe(map(str.lower, TEXTS)), strict=True):
        assert parse.lemmas == tuple(token.lemma_ for token in document if token.pos_ in CONTENT)
        sentence = next(document.sents)
        assert sorted(map(tuple, parse.tree.labels.tolist())) == sorted(
            (token.pos, token.dep) for token in sentence
        )


@pytest.mark.parametrize("text", TEXTS)
def test_english_looks_english(parser: Parser, text: str):
    assert parser.parse([text])[0].english > 0.75


@pytest.mark.parametrize("text", [*FOREIGN, "...", "brillig slithy toves gimble"])
def test_what_is_no_english_does_not(parser: Parser, text: str):
    assert parser.parse([text])[0].english < ENGLISH


def test_the_name_tells_model_and_version(parser: Parser):
    name, version = parser.name.split()
    assert name.startswith("en_core_web_sm") and version == "3.8.0"
