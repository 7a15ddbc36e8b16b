"""The policy of a trained network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError, did_you_mean
from assay.extensions.tabletop.networks.dataset import (
    History,
    PromptVocabulary,
    from_bins,
    make_batch,
    to_bins,
)
from assay.extensions.tabletop.networks.tokens import (
    TokenForm,
    ViewTokens,
    tokenize_observation,
    tokenize_prompt,
)
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.scene import Tool
from assay.support.streams import stream
from assay.support.training import require_torch


@dataclass(frozen=True, slots=True)
class NetworkModel:
    """Architecture of a network: how it conditions on the prompt, and the form of its tokens."""

    cross: bool
    """Whether the table attends to the prompt by cross-attention; otherwise both are one sequence."""
    form: TokenForm

    @property
    def name(self) -> str:
        """The name of the architecture: ``cross-objects``."""
        return f"{'cross' if self.cross else 'concat'}-{self.form}"


MODELS = {
    model.name: model
    for model in (NetworkModel(cross, form) for cross in (True, False) for form in TokenForm)
}
"""Models by name."""


def find_model(name: str) -> NetworkModel:
    """Return the model with a name. Raise PolicyError with the valid names for an unknown one."""
    if name not in MODELS:
        raise PolicyError(f"there is no model '{name}': {did_you_mean(name, MODELS)}")
    return MODELS[name]


class LearnedPolicy:
    """A network trained by `assay tabletop train`; takes the most likely action given prompt and history.

    With ``retry``, it samples from the distribution over bins if the table looks the same as before its last action,
    for example after a missed pick.
    """

    def __init__(self, checkpoint: str = "", retry: bool = False) -> None:
        if not checkpoint:
            raise PolicyError("a learned policy needs its file: learned?checkpoint=FILE")
        require_torch()
        import torch

        from assay.extensions.tabletop.networks.training import load_network

        torch.set_num_threads(1)
        self._network, self.description = load_network(Path(checkpoint))
        self._form = MODELS[self.description.model].form
        self._vocabulary = PromptVocabulary(self.description.vocabulary)
        self._retry = retry
        self.metadata: Mapping[str, object] = self.description.model_dump(exclude={"vocabulary"})
        """The training record of the network."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._prompt = tokenize_prompt(prompt, self._form)
        self._rng = stream("tabletop", "learned", spec.task, spec.seed)
        self._before: np.ndarray | None = None
        self._seen: list[ViewTokens] = []
        self._done: list[np.ndarray] = []

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        import torch

        tool = int(observation.tool is Tool.SPATULA)
        self._seen.append(tokenize_observation(observation, self._form))
        history = History(tuple(self._seen), np.array(self._done, dtype=np.float32).reshape(-1, 5))
        batch = make_batch([self._prompt], [history], [tool], self._vocabulary)
        with torch.inference_mode():
            _, bins = self._network(batch, rng=self._rng if self._again(observation) else None)
        chosen = from_bins(bins[0].numpy())[None]
        self._done.append(to_bins(chosen)[0])
        return chosen

    def _again(self, observation: TableObservation) -> bool:
        """Return whether to sample an alternative because the table looks unchanged."""
        if not self._retry:
            return False
        view, before = observation.image("top"), self._before
        self._before = view
        return before is not None and np.array_equal(view, before)
