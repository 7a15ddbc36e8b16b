"""General-purpose similarities, to compare with: the rivals of PD in LIBERO-Para's Table 10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from assay.perturb.words.distance.bert_models import bert_model
from assay.perturb.words.distance.embedding import Array
from assay.perturb.words.distance.meteor import VARIANT, meteor
from assay.perturb.words.distance.models import MINILM
from assay.perturb.words.distance.scorer import DIGITS

BLEU_COLUMN = "bleu"
METEOR_COLUMN = f"meteor[{VARIANT}]"


@dataclass(frozen=True, slots=True)
class Baselines:
    """Three similarities of a paraphrase to its original, each in [0, 1] or nearly."""

    bleu: float
    """Sentence BLEU of the paraphrase against the original, whatever the case, by sacrebleu's defaults."""
    meteor: float
    """METEOR with exact and stem matches; see ``meteor``."""
    bert_score: float
    """F1 of BERTScore with the sub-word vectors of a model, without weights."""
    bert_model: str
    """Whose vectors these are."""

    @property
    def columns(self) -> dict[str, float]:
        """The similarities under names that say what they are: ``bert_score[all-MiniLM-L6-v2]``."""
        return {
            BLEU_COLUMN: self.bleu,
            METEOR_COLUMN: self.meteor,
            bert_column(self.bert_model): self.bert_score,
        }


def bert_column(model: str) -> str:
    """The column of a BERTScore: its name carries the model's."""
    return f"bert_score[{model}]"


def baselines(pairs: Sequence[tuple[str, str]], model: str = MINILM) -> list[Baselines]:
    """The similarities of (original, paraphrase); ``model`` is BERTScore's, see ``bert_models``."""
    bert = bert_model(model)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(texts, bert.encoder.tokens(texts), strict=True))
    bleu = BLEU(lowercase=True, effective_order=True)
    found = []
    for original, paraphrase in pairs:
        overlap = bleu.sentence_score(paraphrase, [original]).score / 100
        alike = _bert_score(vectors[original], vectors[paraphrase])
        found.append(Baselines(overlap, meteor(original, paraphrase), alike, bert.name))
    return found


def _bert_score(original: Array, paraphrase: Array) -> float:
    cosines = original @ paraphrase.T
    if not cosines.size:
        return 0.0
    recall, precision = (float(cosines.max(axis=axis).mean()) for axis in (1, 0))
    total = precision + recall
    return round(2 * precision * recall / total, DIGITS) if total > 0 else 0.0
