from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st

from assay.perturb.words.distance import parser as parsing
from assay.perturb.words.distance.models import ModelError, parser_folder
from assay.perturb.words.distance.parser import CONTENT, Parser, Tree, edit_distance, make_tree
from assay.perturb.words.distance.scorer import Scorer

TEXTS = (
    "put the cream cheese in the bowl",
    "After you've opened the drawer, slide the bottles onto the rack.",
    "I'd like the stove on. Could you see to that?",
    "is the middle compartment still shut?",
)


@pytest.fixture(scope="module")
def parser(models: Scorer) -> Parser:
    return Parser()


def test_a_model_that_reads_otherwise_is_rejected(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "model"
    shutil.copytree(parser_folder(), folder, ignore=shutil.ignore_patterns("ner", "senter"))
    rules = srsly.msgpack_loads((folder / "attribute_ruler" / "patterns").read_bytes())
    (folder / "attribute_ruler" / "patterns").write_bytes(srsly.msgpack_dumps(rules[:100]))
    monkeypatch.setattr(parsing, "parser_folder", lambda: folder)
    with pytest.raises(
        ModelError, match=r"does not produce the same parses as en_core_web_sm 3\.8\.0 \(spaCy 3\."
    ):
        Parser()


def test_disabled_components_change_nothing(parser: Parser):
    documents = spacy.load(parser_folder()).pipe(map(str.lower, TEXTS))
    for parse, document in zip(parser.parse(TEXTS), documents, strict=True):
        assert parse.lemmas == tuple(token.lemma_ for token in document if token.pos_ in CONTENT)
        sentence = next(document.sents)
        assert sorted(map(tuple, parse.tree.labels.tolist())) == sorted(
            (token.pos, token.dep) for token in sentence
        )


Nested = tuple[int, tuple["Nested", ...]]
"""A label and the children."""
nested = st.recursive(
    st.tuples(st.integers(0, 2), st.just(())),
    lambda below: st.tuples(st.integers(0, 2), st.lists(below, max_size=3).map(tuple)),
    max_leaves=6,
)


def tree(root: Nested) -> Tree:
    labels: list[tuple[int, int]] = []
    children: list[list[int]] = []

    def add(node: Nested) -> int:
        labels.append((node[0], 7))
        children.append([])
        mine = len(labels) - 1
        children[mine].extend([add(child) for child in node[1]])
        return mine

    return make_tree(labels, children, add(root))


@cache
def by_definition(one: tuple[Nested, ...], other: tuple[Nested, ...]) -> int:
    """The edit distance of two forests, by what an edit does to the last root of each."""
    if not one and not other:
        return 0
    if not one:
        return by_definition((), other[:-1] + other[-1][1]) + 1
    if not other:
        return by_definition(one[:-1] + one[-1][1], ()) + 1
    return min(
        by_definition(one[:-1] + one[-1][1], other) + 1,
        by_definition(one, other[:-1] + other[-1][1]) + 1,
        by_definition(one[-1][1], other[-1][1])
        + by_definition(one[:-1], other[:-1])
        + (one[-1][0] != other[-1][0]),
    )


@given(nested, nested)
def test_the_distance_is_the_one_of_the_definition(one: Nested, other: Nested):
    assert edit_distance(tree(one), tree(other)) == by_definition((one,), (other,))


def test_labels_are_alike_only_if_both_numbers_are():
    one, other = make_tree([(1, 2)], [[]], 0), make_tree([(1, 3)], [[]], 0)
    assert edit_distance(one, other) == 1
    assert edit_distance(make_tree([(2, 3)], [[]], 0), other) == 1


def test_a_chain_longer_than_the_recursion_limit_is_a_tree():
    count = 1500
    chain = make_tree([(0, 0)] * count, [[node + 1] for node in range(count - 1)] + [[]], 0)
    assert len(chain) == count and edit_distance(chain, chain) == 0
