"""Content words and dependency trees, by spaCy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import spacy
from spacy.pipeline import Lemmatizer, TrainablePipe
from thinc.api import NumpyOps

from assay.perturb.words.distance.errors import ModelError
from assay.perturb.words.distance.models import parser_folder
from assay.perturb.words.distance.threads import one_thread
from assay.perturb.words.distance.trees import Tree, make_tree

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

CONTENT = frozenset({"NOUN", "VERB", "ADJ", "ADV", "PROPN"})
UNUSED = ("ner", "senter")
"""Parts of the pipeline on which nothing here depends."""
MULTIPLYING = ("tok2vec", "tagger", "parser")
BATCH = 256


@dataclass(frozen=True, slots=True)
class Parse:
    """What a text is made of."""

    lemmas: tuple[str, ...]
    """Of its content words, in order, repeated where they are."""
    tree: Tree
    """One node for each token of the first sentence, labelled with part of speech and relation."""
    english: float
    """The share of words that an English dictionary knows, in [0, 1]; 0 without any word."""


class Parser:
    """Reads English."""

    def __init__(self) -> None:
        folder = parser_folder()
        try:
            self._pipeline = spacy.load(folder, exclude=UNUSED)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"spaCy cannot load the parser in {folder}: {reason}") from None
        # spaCy brings matrices of its own, which are three times slower than numpy's.
        numpys = NumpyOps(use_blis=False)
        for name in MULTIPLYING:
            for node in cast(TrainablePipe, self._pipeline.get_pipe(name)).model.walk():
                node.ops = numpys
        meta = self._pipeline.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"
        """Name and version of the model."""
        lemmatizer = cast(Lemmatizer, self._pipeline.get_pipe("lemmatizer"))
        index = lemmatizer.lookups.get_table("lemma_index")
        self._dictionary = frozenset(word for words in index.values() for word in words)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse texts, lower-cased, each by itself: what comes out does not hang on the others."""
        with one_thread():
            documents = self._pipeline.pipe((text.lower() for text in texts), batch_size=BATCH)
            return [self._parse(document) for document in documents]

    def _parse(self, document: Doc) -> Parse:
        words = [token for token in document if not token.is_punct and not token.is_space]
        return Parse(
            tuple(token.lemma_ for token in document if token.pos_ in CONTENT),
            _tree(document),
            sum(map(self._is_english, words)) / max(len(words), 1),
        )

    def _is_english(self, word: Token) -> bool:
        # The dictionary has most pairs of letters, as symbols and abbreviations: they say nothing.
        known = len(word) > 2 and (word.lemma_ in self._dictionary or word.text in self._dictionary)
        return known or word.is_stop or word.like_num


def _tree(document: Doc) -> Tree:
    """The tree of the first root; children by relation and part of speech, not by their place."""
    root = next(token.i for token in document if token.head.i == token.i)
    children = [
        [child.i for child in sorted(token.children, key=lambda child: (child.dep_, child.pos_))]
        for token in document
    ]
    return make_tree([(token.pos, token.dep) for token in document], children, root)
