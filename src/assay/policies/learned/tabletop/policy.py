"""A trained network that acts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.learned import require_torch
from assay.policies.learned.tabletop.bins import from_bins
from assay.policies.learned.tabletop.dataset import Vocabulary, batched
from assay.policies.learned.tabletop.models import MODELS
from assay.policies.learned.tabletop.tokens import seen, segments
from assay.streams import stream
from assay.tabletop import Prompt, TableObservation, Tool


class LearnedPolicy:
    """A network that `assay tabletop train` made; takes the likeliest action for the prompt and what it sees.

    Where the table looks as it did before its last action, as after a pick that missed, the likeliest bins
    would be the same for ever: then it draws from their distribution instead.
    """

    def __init__(self, checkpoint: str = "", retry: bool = True) -> None:
        if not checkpoint:
            raise PolicyError("a learned policy needs its file: learned?checkpoint=FILE")
        require_torch()
        import torch

        from assay.policies.learned.tabletop.checkpoint import load

        torch.set_num_threads(1)
        self._network, self.description = load(Path(checkpoint))
        self._form = MODELS[self.description.model].form
        self._vocabulary = Vocabulary(self.description.vocabulary)
        self._retry = retry
        self.metadata: Mapping[str, object] = self.description.model_dump(exclude={"vocabulary"})
        """How the network came about."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._prompt = segments(prompt, self._form)
        self._rng = stream("tabletop", "learned", spec.task, spec.seed)
        self._before: np.ndarray | None = None

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        import torch

        tool = int(observation.tool is Tool.SPATULA)
        batch = batched([self._prompt], [seen(observation, self._form)], [tool], self._vocabulary)
        view = observation.image("top")
        again = self._retry and self._before is not None and np.array_equal(view, self._before)
        self._before = view
        with torch.inference_mode():
            _, bins = self._network(batch, rng=self._rng if again else None)
        return from_bins(bins[0].numpy())[None]
