"""Edit distance of ordered, labelled trees (Zhang and Shasha, 1989).

The libraries for it, apted and zss, are pure Python and take milliseconds for two sentences; this implementation
takes microseconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.perturb.words.distance.encoder import one_thread
from assay.perturb.words.distance.models import PARSER, PARSER_VERSION, SETUP, ModelError, parser_folder
from assay.support.extras import optional_import
from assay.support.jit import machine_code

with optional_import("words", "parsing instructions needs spaCy", ModelError):
    import spacy
    from spacy.matcher import Matcher
    from spacy.pipeline import AttributeRuler, Lemmatizer, TrainablePipe
    from thinc.api import NumpyOps

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An ordered tree; its nodes are numbered in post-order, so that the last one is the root."""

    labels: NDArray[np.uint64]
    """Labels, (n, 2): two nodes are equal if both numbers are."""
    leftmost: NDArray[np.int64]
    """Leftmost leaf below each node, (n,)."""
    keyroots: NDArray[np.int64]
    """The root and every node with a sibling to its left, ascending, (k,)."""

    def __len__(self) -> int:
        return len(self.labels)


def make_tree(labels: Sequence[tuple[int, int]], children: Sequence[Sequence[int]], root: int) -> Tree:
    """Return the tree below a root, from every node's label and its children from left to right."""
    order, waiting = [], [root]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(children[order[-1]])
    order.reverse()
    number = {node: index for index, node in enumerate(order)}
    leftmost: list[int] = []
    for index, node in enumerate(order):
        below = children[node]
        leftmost.append(leftmost[number[below[0]]] if below else index)
    highest = {leaf: index for index, leaf in enumerate(leftmost)}
    return Tree(
        np.array([labels[node] for node in order], dtype=np.uint64),
        np.array(leftmost, dtype=np.int64),
        np.array(sorted(highest.values()), dtype=np.int64),
    )


def edit_distance(one: Tree, other: Tree) -> int:
    """Return the minimum number of nodes to insert, delete or relabel that turns one tree into the other."""
    return int(
        _edit_distance(one.labels, one.leftmost, one.keyroots, other.labels, other.leftmost, other.keyroots)
    )


@machine_code
def _edit_distance(  # type: ignore[no-untyped-def]
    labels_a, leftmost_a, keyroots_a, labels_b, leftmost_b, keyroots_b
):
    trees = np.zeros((len(leftmost_a), len(leftmost_b)), np.int64)
    forests = np.zeros((len(leftmost_a) + 1, len(leftmost_b) + 1), np.int64)
    for root_a in keyroots_a:
        for root_b in keyroots_b:
            # forests[i, j]: from the first i nodes below root_a to the first j below root_b.
            first_a, first_b = leftmost_a[root_a], leftmost_b[root_b]
            size_a, size_b = root_a - first_a + 1, root_b - first_b + 1
            for i in range(size_a + 1):
                forests[i, 0] = i
            for j in range(size_b + 1):
                forests[0, j] = j
            for i in range(1, size_a + 1):
                a = first_a + i - 1
                for j in range(1, size_b + 1):
                    b = first_b + j - 1
                    best = min(forests[i - 1, j], forests[i, j - 1]) + 1
                    if leftmost_a[a] == first_a and leftmost_b[b] == first_b:
                        same = labels_a[a, 0] == labels_b[b, 0] and labels_a[a, 1] == labels_b[b, 1]
                        best = min(best, forests[i - 1, j - 1] + (0 if same else 1))
                        trees[a, b] = best
                    else:
                        before = forests[leftmost_a[a] - first_a, leftmost_b[b] - first_b]
                        best = min(best, before + trees[a, b])
                    forests[i, j] = best
    return trees[-1, -1]


CONTENT = frozenset({"NOUN", "VERB", "ADJ", "ADV", "PROPN"})
UNUSED = ("ner", "senter")
"""Disabled components of the spaCy pipeline."""
NEURAL = ("tok2vec", "tagger", "parser")
RULES = ("attribute_ruler", "lemmatizer")
"""Subsequent pipeline components: hand-written rules that give each token its part of speech and its lemma."""
BATCH = 256
MOST_FACTS = 100_000
PROOF = (
    "once you've picked up the cream cheese, could you please let it settle in the bowls that are next to "
    "the plate? there's room, isn't there?"
)
PROOF_SHA256 = "51d9406c06259ee9361e03a31c68a286cb6aff08db151add5898103162eb34ad"
"""SHA-256 of the expected parse of `PROOF`, with the right model and a compatible spaCy."""
_NO_WORD = re.compile(r".{1,2}|[^aeiouy]+|.*(.)\1\1.*")


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse of a text."""

    lemmas: tuple[str, ...]
    """Lemmas of the content words, in order, with repetitions."""
    tree: Tree
    """One node for each token of the first sentence, labelled with part of speech and relation."""
    english: float
    """Share of words in an English dictionary, in [0, 1]; 0 for a text without words."""
    roots: int
    """Number of dependency trees of the text; the first is ``tree``."""


class _Fact(NamedTuple):
    """Result of the rules for a token."""

    label: tuple[int, int]
    """Part of speech and relation, by spaCy's numbers."""
    rank: tuple[str, str]
    """Sort key of siblings: relation and part of speech."""
    lemma: str | None
    """Lemma of a content word."""
    english: bool | None
    """Whether the word is in an English dictionary; None if the token is not a word."""


class Parser:
    """Parser for English.

    The rules take as long as the networks, but nearly all of them depend on a single token: its word, and what the
    networks predict for it. Their results are therefore cached, and the rules run only on texts with a new token, or
    with tokens in one of the few contexts that rules depend on ("let" before "'s").
    """

    def __init__(self) -> None:
        folder = parser_folder()
        try:
            self._pipeline = spacy.load(folder, exclude=UNUSED)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"spaCy cannot load the parser in {folder}: {reason}") from None
        # The matrix product that spaCy brings is three times slower than numpy's.
        numpys = NumpyOps(use_blis=False)
        for name in NEURAL:
            for node in cast(TrainablePipe, self._pipeline.get_pipe(name)).model.walk():
                node.ops = numpys
        if _reading(self._pipeline(PROOF)) != PROOF_SHA256:
            raise ModelError(
                f"the parser in {folder} reads otherwise than {PARSER} {PARSER_VERSION} does, under spaCy "
                f"{version('spacy')}: uninstall it and run '{SETUP}'"
            )
        meta = self._pipeline.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"
        """Name and version of the model."""
        self._rules = [self._pipeline.get_pipe(name) for name in RULES]
        index = cast(Lemmatizer, self._rules[-1]).lookups.get_table("lemma_index")
        self._dictionary = frozenset(word for words in index.values() for word in words)
        self._several = Matcher(self._pipeline.vocab)
        for rule in cast(AttributeRuler, self._rules[0]).patterns:
            patterns = cast(list[list[dict[str, Any]]], rule["patterns"])
            self._several.add("several", [pattern for pattern in patterns if len(pattern) > 1])
        self._facts: dict[tuple[int, ...], _Fact] = {}

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse texts in lower case, each separately: results do not depend on the batch."""
        lowered = (text.lower() for text in texts)
        with one_thread():
            documents = self._pipeline.pipe(lowered, batch_size=BATCH, disable=RULES)
            return [self._parse(document) for document in documents]

    def _parse(self, document: Doc) -> Parse:
        facts = self._facts_of(document)
        words = [fact.english for fact in facts if fact.english is not None]
        heads = (np.arange(len(document)) + document.to_array("HEAD").astype(np.int64)).tolist()
        return Parse(
            tuple(fact.lemma for fact in facts if fact.lemma is not None),
            _tree(heads, facts),
            sum(words) / max(len(words), 1),
            sum(head == token for token, head in enumerate(heads)),
        )

    def _facts_of(self, document: Doc) -> list[_Fact]:
        if self._several(document):
            return self._apply_rules(document)
        tokens = [tuple(token) for token in document.to_array(["ORTH", "TAG", "DEP"]).tolist()]
        if not all(token in self._facts for token in tokens):
            if len(self._facts) > MOST_FACTS:
                self._facts.clear()
            self._facts |= zip(tokens, self._apply_rules(document), strict=True)
        return [self._facts[token] for token in tokens]

    def _apply_rules(self, document: Doc) -> list[_Fact]:
        for rule in self._rules:
            document = rule(document)
        return [self._fact(token) for token in document]

    def _fact(self, token: Token) -> _Fact:
        return _Fact(
            (token.pos, token.dep),
            (token.dep_, token.pos_),
            token.lemma_ if token.pos_ in CONTENT else None,
            None if token.is_punct or token.is_space else self._is_english(token),
        )

    def _is_english(self, word: Token) -> bool:
        # The dictionary has most pairs of letters, as symbols and abbreviations, and "xxx" for thirty.
        is_listed = word.lemma_ in self._dictionary or word.text in self._dictionary
        return (is_listed and not _NO_WORD.fullmatch(word.text)) or word.is_stop or word.like_num


def _reading(document: Doc) -> str:
    """Return the SHA-256 of lemma, part of speech, relation and head of every token."""
    read = "\n".join(f"{token.lemma_} {token.pos_} {token.dep_} {token.head.i}" for token in document)
    return hashlib.sha256(read.encode()).hexdigest()


def _tree(heads: Sequence[int], facts: Sequence[_Fact]) -> Tree:
    """Return the tree of the first root; children are sorted by relation and part of speech, not by position."""
    children: list[list[int]] = [[] for _ in heads]
    for token in sorted(range(len(heads)), key=lambda token: facts[token].rank):
        if heads[token] != token:
            children[heads[token]].append(token)
    root = next(token for token, head in enumerate(heads) if head == token)
    return make_tree([fact.label for fact in facts], children, root)
