"""General-purpose similarities, to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from assay.perturb.words.distance.embedding import Array
from assay.perturb.words.distance.pride import scorer
from assay.perturb.words.distance.scorer import DIGITS


@dataclass(frozen=True, slots=True)
class Baselines:
    """Two similarities of a paraphrase to its original, each in [0, 1] or nearly."""

    bleu: float
    """Sentence BLEU of the paraphrase against the original, whatever the case, by sacrebleu's defaults."""
    bert_score: float
    """F1 of BERTScore with the sub-word vectors of all-MiniLM-L6-v2, without weights."""


def baselines(pairs: Sequence[tuple[str, str]]) -> list[Baselines]:
    """The similarities of (original, paraphrase)."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(texts, scorer().embedding.tokens(texts), strict=True))
    bleu = BLEU(lowercase=True, effective_order=True)
    found = []
    for original, paraphrase in pairs:
        overlap = bleu.sentence_score(paraphrase, [original]).score / 100
        found.append(Baselines(overlap, _bert_score(vectors[original], vectors[paraphrase])))
    return found


def _bert_score(original: Array, paraphrase: Array) -> float:
    cosines = original @ paraphrase.T
    if not cosines.size:
        return 0.0
    recall, precision = (float(cosines.max(axis=axis).mean()) for axis in (1, 0))
    total = precision + recall
    return round(2 * precision * recall / total, DIGITS) if total > 0 else 0.0
