"""Dependency parses of instructions, and the edit distance between their trees (Zhang and Shasha, 1989).

The libraries for this distance, apted and zss, are pure Python and take milliseconds for two sentences; this
implementation takes microseconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from assay.perturb.words.distance.encoder import one_thread
from assay.perturb.words.distance.models import PARSER, PARSER_VERSION, SETUP, ModelError, parser_folder
from assay.support.extras import optional_import
from assay.support.jit import machine_code

with optional_import("words", "parsing instructions needs spaCy", ModelError):
    import spacy
    from spacy.pipeline import Lemmatizer, TrainablePipe
    from thinc.api import NumpyOps

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An ordered tree; its nodes are numbered in post-order, so that the last one is the root."""

    labels: NDArray[np.uint64]
    """Labels, (n, 2); two nodes are equal if both of their numbers are equal."""
    leftmost: NDArray[np.int64]
    """Leftmost leaf below each node, of shape (n,)."""
    keyroots: NDArray[np.int64]
    """The root and all nodes that have a sibling to their left, in ascending order, of shape (k,)."""

    def __len__(self) -> int:
        return len(self.labels)


def make_tree(labels: Sequence[tuple[int, int]], children: Sequence[Sequence[int]], root: int) -> Tree:
    """Return the tree below a root, given the label of every node and its children from left to right."""
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
    """Return the minimum number of node insertions, deletions and relabellings that turn one tree into the other."""
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
BATCH = 256
PROOF = (
    "once you've picked up the cream cheese, could you please let it settle in the bowls that are next to "
    "the plate? there's room, isn't there?"
)
PROOF_SHA256 = "51d9406c06259ee9361e03a31c68a286cb6aff08db151add5898103162eb34ad"
"""SHA-256 of the parse of `PROOF` by the correct model and a compatible version of spaCy."""
_NO_WORD = re.compile(r".{1,2}|[^aeiouy]+|.*(.)\1\1.*")


@dataclass(frozen=True, slots=True)
class Parse:
    """Result of parsing a text."""

    lemmas: tuple[str, ...]
    """Lemmas of the content words, in order, with repetitions."""
    tree: Tree
    """Tree with one node per token of the first sentence, labelled with part of speech and relation."""
    english: float
    """Fraction of the words that are in an English dictionary, 0 to 1; 0 for a text without words."""
    roots: int
    """Number of dependency trees (sentences) in the text; the first is ``tree``."""


class Parser:
    """Dependency parser for English."""

    def __init__(self) -> None:
        folder = parser_folder()
        try:
            self._pipeline = spacy.load(folder, exclude=UNUSED)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"spaCy cannot load the parser in {folder}: {reason}") from None
        # The matrix product of spaCy's default backend is three times slower than numpy's.
        numpys = NumpyOps(use_blis=False)
        for name in NEURAL:
            for node in cast(TrainablePipe, self._pipeline.get_pipe(name)).model.walk():
                node.ops = numpys
        proof = "\n".join(
            f"{token.lemma_} {token.pos_} {token.dep_} {token.head.i}" for token in self._pipeline(PROOF)
        )
        if hashlib.sha256(proof.encode()).hexdigest() != PROOF_SHA256:
            raise ModelError(
                f"the model in {folder} does not produce the same parses as {PARSER} {PARSER_VERSION} (spaCy "
                f"{version('spacy')}): delete or uninstall it, and run '{SETUP}'"
            )
        meta = self._pipeline.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"
        """Name and version of the model."""
        index = cast(Lemmatizer, self._pipeline.get_pipe("lemmatizer")).lookups.get_table("lemma_index")
        self._dictionary = frozenset(word for words in index.values() for word in words)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse texts in lower case, each separately, so that results do not depend on the batch."""
        with one_thread():
            documents = self._pipeline.pipe((text.lower() for text in texts), batch_size=BATCH)
            return [self._parse(document) for document in documents]

    def _parse(self, document: Doc) -> Parse:
        words = [token for token in document if not (token.is_punct or token.is_space)]
        # The dictionary has most pairs of letters, as symbols and abbreviations, and "xxx" for thirty.
        is_english = (
            word.is_stop
            or word.like_num
            or (
                not self._dictionary.isdisjoint((word.lemma_, word.text))
                and not _NO_WORD.fullmatch(word.text)
            )
            for word in words
        )
        roots = [token.i for token in document if token.head.i == token.i]
        # Children are sorted by relation and part of speech, not by position.
        children: list[list[int]] = [[] for _ in document]
        for token in sorted(document, key=lambda token: (token.dep_, token.pos_)):
            if token.head.i != token.i:
                children[token.head.i].append(token.i)
        return Parse(
            tuple(token.lemma_ for token in document if token.pos_ in CONTENT),
            make_tree([(token.pos, token.dep) for token in document], children, roots[0]),
            sum(map(bool, is_english)) / max(len(words), 1),
            len(roots),
        )
