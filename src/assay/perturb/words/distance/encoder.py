"""BERT and RoBERTa in numpy: all-MiniLM-L6-v2, and other models of these types.

The computation uses double precision, because in single precision a word's vector also depends on the machine and
on the rest of the batch.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import scipy
from numpy.typing import NDArray

from assay.perturb.words.distance.models import TOKENIZER, WEIGHTS, ModelError
from assay.support.extras import optional_import

with optional_import("words", "word embeddings need tokenizers and safetensors", ModelError):
    from safetensors.numpy import load
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

Array = NDArray[np.float64]
_PREFIX = re.compile(r"^(?:bert|roberta)\.")
"""Prefix of the weight names in models that contain more than an encoder."""

WIDTH = 384
"""Dimension of the vectors of all-MiniLM-L6-v2."""
MAX_TOKENS = 256
"""Maximum number of tokens in a text; further tokens are cut off, as in the authors' implementation."""
BATCH_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Shape:
    """Model parameters that cannot be inferred from the weights."""

    heads: int = 12
    """Number of attention heads per layer."""
    epsilon: float = 1e-12
    """Constant added to the variance in layer normalisation."""
    first_place: int = 0
    """Index of the first token's position embedding; 2 for RoBERTa."""
    before: str = ""
    """Prefix added to each text; a space for RoBERTa, so that the first word is encoded like the others."""


MINILM_SHAPE = Shape()


class Encoder:
    """Encoder of texts as vectors, loaded from two files: the weights and the tokenizer.

    Only the first ``layers`` layers are used; all layers if None.
    """

    def __init__(
        self, files: Mapping[str, bytes], shape: Shape = MINILM_SHAPE, layers: int | None = None
    ) -> None:
        self._tokenizer = Tokenizer.from_str(files[TOKENIZER].decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        weights = {_PREFIX.sub("", name): array for name, array in load(files[WEIGHTS]).items()}
        self._shape = shape
        self._words = weights["embeddings.word_embeddings.weight"]
        self.width = self._words.shape[1]
        """Dimension of the vectors."""
        places = weights["embeddings.position_embeddings.weight"].astype(np.float64)[shape.first_place :]
        self._places = places + weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _norm(weights, "embeddings.LayerNorm")
        count = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
        self._layers = [
            _TransformerLayer(weights, f"encoder.layer.{number}", shape) for number in range(layers or count)
        ]

    def sentences(self, texts: Sequence[str]) -> Array:
        """Return one unit vector per text, (len(texts), width)."""
        vectors = np.empty((len(texts), self.width))
        for chosen, hidden in self._encode(texts):
            vectors[chosen] = hidden.mean(axis=1)
        return _unit(vectors)

    def tokens(self, texts: Sequence[str]) -> list[Array]:
        """Return one unit vector per sub-word for each text, (tokens, width)."""
        vectors_by_text: list[Array] = [np.empty((0, self.width))] * len(texts)
        for chosen, hidden in self._encode(texts):
            for index, vectors in zip(chosen, _unit(hidden), strict=True):
                vectors_by_text[index] = vectors[1:-1]  # without the start and end tokens
        return vectors_by_text

    def _encode(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Yield indices and vectors (k, tokens, width) of texts of equal length, which need no padding."""
        ids = [self._tokenizer.encode(self._shape.before + text).ids for text in texts]
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, tokens in enumerate(ids):
            by_length[len(tokens)].append(index)
        for length, members in by_length.items():
            step = max(1, BATCH_TOKENS // length)
            for start in range(0, len(members), step):
                chosen = members[start : start + step]
                with one_thread():
                    batch = np.array([ids[index] for index in chosen])
                    hidden = self._words[batch].astype(np.float64) + self._places[:length]
                    # Tokens of all texts in one list, since numpy multiplies stacks of small matrices slowly.
                    hidden = _normalise(hidden.reshape(-1, self.width), *self._norm, self._shape.epsilon)
                    for layer in self._layers:
                        hidden = layer(hidden, len(batch))
                yield chosen, hidden.reshape(*batch.shape, self.width)


class _TransformerLayer:
    """Self-attention and a feed-forward network, each added to its input and normalised.

    Input and output are the tokens of all texts, which have equal length: (texts * tokens, width).
    """

    def __init__(self, weights: dict[str, NDArray[np.float32]], name: str, shape: Shape) -> None:
        self._shape = shape
        parts = [_linear(weights, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        self._attend = tuple(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        self._project = _linear(weights, f"{name}.attention.output.dense")
        self._attention_norm = _norm(weights, f"{name}.attention.output.LayerNorm")
        self._widen = _linear(weights, f"{name}.intermediate.dense")
        self._narrow = _linear(weights, f"{name}.output.dense")
        self._norm = _norm(weights, f"{name}.output.LayerNorm")

    def __call__(self, hidden: Array, texts: int) -> Array:
        weight, bias = self._attend
        width, heads = hidden.shape[-1], self._shape.heads
        split = (hidden @ weight + bias).reshape(texts, -1, 3, heads, width // heads)
        query, key, value = split.transpose(2, 0, 3, 1, 4)  # each (texts, heads, tokens, width / heads)
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        weight, bias = self._project
        attended = hidden + mixed.swapaxes(1, 2).reshape(-1, width) @ weight + bias
        hidden = _normalise(attended, *self._attention_norm, self._shape.epsilon)
        weight, bias = self._widen
        wide = hidden @ weight + bias
        wide *= 0.5 * (1.0 + scipy.special.erf(wide / math.sqrt(2.0)))  # Gaussian error linear unit
        weight, bias = self._narrow
        return _normalise(hidden + wide @ weight + bias, *self._norm, self._shape.epsilon)


def _linear(weights: dict[str, NDArray[np.float32]], name: str) -> tuple[Array, Array]:
    """Return the weight (in, out) and the bias (out,) of a layer."""
    weight = np.ascontiguousarray(weights[f"{name}.weight"].T, dtype=np.float64)
    return weight, weights[f"{name}.bias"].astype(np.float64)


def _norm(weights: dict[str, NDArray[np.float32]], name: str) -> tuple[Array, Array]:
    return weights[f"{name}.weight"].astype(np.float64), weights[f"{name}.bias"].astype(np.float64)


def _normalise(hidden: Array, scale: Array, shift: Array, epsilon: float) -> Array:
    centred = hidden - hidden.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    normalised: Array = centred / np.sqrt(variance + epsilon) * scale + shift
    return normalised


def _unit(vectors: Array) -> Array:
    unit: Array = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


def one_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread, because the matrices are small and threads wait for each other on busy cores."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1, user_api="blas"))


_controller = cache(ThreadpoolController)
