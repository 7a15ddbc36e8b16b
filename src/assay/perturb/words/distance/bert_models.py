"""Models for BERTScore that the user has: folders, or names in the cache of Hugging Face. Nothing is fetched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.perturb.words.distance.embedding import Encoder, Shape
from assay.perturb.words.distance.errors import ModelError
from assay.perturb.words.distance.models import MINILM, TOKENIZER, WEIGHTS
from assay.perturb.words.distance.pride import scorer

CONFIG = "config.json"
KINDS = {"bert": (0, ""), "roberta": (2, " ")}
"""Kinds of models that can be computed -> ``first_place`` and ``before`` of their shapes."""
LAYERS = {
    **{"bert-base-uncased": 9, "bert-base-cased": 9, "bert-large-uncased": 18},
    **{"roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19},
}
"""Model -> the layer whose vectors BERTScore compares: that which its authors found to suit people's judgement best."""


@dataclass(frozen=True, slots=True, eq=False)
class BertModel:
    """A model whose sub-word vectors are compared."""

    name: str
    """With its layer, where that is not the last: ``roberta-large/17``."""
    encoder: Encoder


@lru_cache(maxsize=2)
def bert_model(name: str = MINILM) -> BertModel:
    """A model by its name or folder: ``roberta-large``, or ``roberta-large/17`` for another layer.

    Raises ModelError that says what is missing.
    """
    if name == MINILM:
        return BertModel(MINILM, scorer().embedding)
    wanted, layer = _layer(name)
    folder = _folder(wanted)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        files = {each: (folder / each).read_bytes() for each in (WEIGHTS, TOKENIZER)}
        kind, heads, layers = (
            config["model_type"],
            int(config["num_attention_heads"]),
            int(config["num_hidden_layers"]),
        )
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError) as error:
        raise ModelError(f"{folder / CONFIG} is no configuration of a BERT model: {error}") from None
    if kind not in KINDS or config.get("hidden_act", "gelu") != "gelu":
        raise ModelError(f"{folder} is a model of the kind '{kind}': valid: {', '.join(KINDS)}, with gelu")
    layer = layer or LAYERS.get(wanted, layers)
    if not 1 <= layer <= layers:
        raise ModelError(f"{wanted} has no layer {layer}: valid: 1 to {layers}")
    shape = Shape(heads, float(config.get("layer_norm_eps", 1e-12)), *KINDS[kind])
    shown = wanted if layer == layers else f"{wanted}/{layer}"
    return BertModel(shown, Encoder(files, shape, layer))


def _layer(name: str) -> tuple[str, int | None]:
    """A name, and the layer behind its last slash if it ends so."""
    before, _, last = name.rpartition("/")
    return (before, int(last)) if before and last.isdigit() else (name, None)


def _folder(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub.constants import HF_HUB_CACHE

    owners = (name,) if "/" in name else (name, f"google-bert/{name}", f"FacebookAI/{name}")
    for owner in owners:
        repository = Path(HF_HUB_CACHE) / f"models--{owner.replace('/', '--')}"
        found = sorted(repository.glob(f"snapshots/*/{WEIGHTS}"))
        if found:
            return found[-1].parent
    raise ModelError(
        f"the model '{name}' is not here: name a folder with {CONFIG}, {WEIGHTS} and {TOKENIZER}, or fetch it into the "
        f"cache of Hugging Face ({HF_HUB_CACHE}); {MINILM} is what 'assay words setup' installs"
    )
