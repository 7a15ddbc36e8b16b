"""General-purpose similarities for comparison: BLEU, METEOR, and BERTScore with locally available models."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from assay.perturb.words.distance.encoder import Array, Encoder, Shape
from assay.perturb.words.distance.models import MINILM, TOKENIZER, WEIGHTS, ModelError
from assay.perturb.words.distance.pride import scorer
from assay.perturb.words.distance.scorer import DIGITS
from assay.perturb.words.stems import stem
from assay.support.extras import optional_import

with optional_import("words", "BLEU needs sacrebleu", ModelError):
    from sacrebleu.metrics.bleu import BLEU

CONFIG = "config.json"
KINDS = {"bert": (0, ""), "roberta": (2, " ")}
"""Supported model types, mapped to ``first_place`` and ``before`` of their `Shape`."""
LAYERS = {
    **{"bert-base-uncased": 9, "bert-base-cased": 9, "bert-large-uncased": 18},
    **{"roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19},
}
"""Models, mapped to the layer whose vectors BERTScore compares: the one that agrees best with human judgement."""


@lru_cache(maxsize=2)
def bert_encoder(name: str = MINILM) -> tuple[str, Encoder]:
    """Load a model by name or folder: ``roberta-large``, or ``roberta-large/17`` for another layer.

    Return its name, with the layer unless that is the last, and the model. Raises ModelError if a part is missing.
    """
    if name == MINILM:
        return MINILM, scorer().embedding
    before, _, last = name.rpartition("/")
    wanted, layer = (before, int(last)) if before and last.isdigit() else (name, 0)
    folder = _folder(wanted)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        files = {file: (folder / file).read_bytes() for file in (WEIGHTS, TOKENIZER)}
        kind = config["model_type"]
        heads, layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError) as error:
        raise ModelError(f"{folder / CONFIG} is not the configuration of a BERT model: {error}") from None
    if kind not in KINDS or config.get("hidden_act", "gelu") != "gelu":
        raise ModelError(f"{folder} has a model of type '{kind}': expected {' or '.join(KINDS)}, with gelu")
    layer = layer or LAYERS.get(wanted, layers)
    if not 1 <= layer <= layers:
        raise ModelError(f"{wanted} has no layer {layer}: expected 1 to {layers}")
    shape = Shape(heads, float(config.get("layer_norm_eps", 1e-12)), *KINDS[kind])
    return wanted if layer == layers else f"{wanted}/{layer}", Encoder(files, shape, layer)


def _folder(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub.constants import HF_HUB_CACHE

    owners = (name,) if "/" in name else (name, f"google-bert/{name}", f"FacebookAI/{name}")
    for owner in owners:
        repository = Path(HF_HUB_CACHE) / f"models--{owner.replace('/', '--')}"
        snapshots = sorted(repository.glob(f"snapshots/*/{WEIGHTS}"))
        if snapshots:
            return snapshots[-1].parent
    raise ModelError(
        f"the model '{name}' is not installed: specify a folder with {CONFIG}, {WEIGHTS} and {TOKENIZER}, or "
        f"fetch it into the cache of Hugging Face ({HF_HUB_CACHE}); 'assay words setup' installs {MINILM}"
    )


_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_MAX_STATES = 256
"""Maximum number of alignments explored at once; more would require dozens of repeated words."""
_NONE = -2
"""Position of a word that is not aligned; no other position is adjacent to it."""
_Alignment = tuple[int, int]
"""Bit mask of the reference's aligned words, and the position in the reference that the last word is aligned with."""
_WORST = (-1, 0, 0)
_Value = tuple[int, int, int]
"""Number of exact matches, number of all matches, and minus the number of chunks; larger is better."""


def meteor(original: str, paraphrase: str) -> float:
    """Return the METEOR similarity of a paraphrase to its original, 0 to 1, ignoring case."""
    reference, words = (_WORD.findall(text.lower()) for text in (original, paraphrase))
    if not reference or not words:
        return 0.0
    matches, chunks = _align(reference, words)
    if not matches:
        return 0.0
    precision, recall = matches / len(words), matches / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (chunks / matches) ** 3)


def _align(reference: list[str], words: list[str]) -> tuple[int, int]:
    """Return matches and chunks of the best alignment: most exact matches, then most matches, then fewest chunks."""
    stems = [stem(word) for word in reference]
    spare = Counter(words) - Counter(reference)  # the others must all be matched for the most exact matches
    # An alignment so far: which words of the reference are taken, and which the word before was aligned with.
    states: dict[_Alignment, _Value] = {(0, _NONE): (0, 0, 0)}
    for word in words:
        same = [place for place, other in enumerate(reference) if other == word]
        alike = [place for place, other in enumerate(stems) if other == stem(word) and place not in same]
        after: dict[_Alignment, _Value] = {}
        for (taken, last), (exact, count, chunks) in states.items():
            exact_places = [place for place in same if not taken >> place & 1]
            moves = [(place, 1) for place in exact_places]
            if not exact_places or spare[word]:
                unaligned = (taken, _NONE)
                after[unaligned] = max((exact, count, chunks), after.get(unaligned, _WORST))
                moves += [(place, 0) for place in alike if not taken >> place & 1]
            for place, is_exact in moves:
                aligned = (taken | 1 << place, place)
                value = (exact + is_exact, count + 1, chunks - (place != last + 1))
                after[aligned] = max(value, after.get(aligned, _WORST))
        best = sorted(after, key=lambda state: after[state], reverse=True)[:_MAX_STATES]
        states = {state: after[state] for state in best}
    _, count, chunks = max(states.values())
    return count, -chunks


def baselines(pairs: Sequence[tuple[str, str]], model: str = MINILM) -> list[dict[str, float]]:
    """Return the similarities of (original, paraphrase) pairs by column name, each approximately in [0, 1].

    ``bleu``: sentence BLEU against the original, ignoring case, with sacrebleu's defaults. ``meteor[exact+stem]``: see
    `meteor`. ``bert_score[MODEL]``: F1 of BERTScore with the sub-word vectors of a model (see `bert_encoder`), without
    weights.
    """
    name, encoder = bert_encoder(model)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(texts, encoder.tokens(texts), strict=True))
    bleu = BLEU(lowercase=True, effective_order=True)
    return [
        {
            "bleu": bleu.sentence_score(paraphrase, [original]).score / 100,
            "meteor[exact+stem]": meteor(original, paraphrase),
            f"bert_score[{name}]": _bert_score(vectors[original], vectors[paraphrase]),
        }
        for original, paraphrase in pairs
    ]


def _bert_score(original: Array, paraphrase: Array) -> float:
    cosines = original @ paraphrase.T
    if not cosines.size:
        return 0.0
    recall, precision = (float(cosines.max(axis=axis).mean()) for axis in (1, 0))
    total = precision + recall
    return round(2 * precision * recall / total, DIGITS) if total > 0 else 0.0
