"""The policy that runs a trained network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.extensions.tabletop.networks import dataset, tokens
from assay.extensions.tabletop.networks.dataset import History, NetworkInput, PromptVocabulary
from assay.extensions.tabletop.networks.tokens import TokenForm, ViewTokens
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.scene import Tool
from assay.support.training import require_torch

MODELS = {
    f"{'cross' if cross else 'concat'}-{form}": (cross, form) for cross in (True, False) for form in TokenForm
}
"""Architecture -> whether the table tokens attend to the prompt by cross-attention, and the form of the tokens.

Without cross-attention, prompt and table are one sequence.
"""


class LearnedPolicy:
    """A network trained by `assay tabletop train`; executes the most likely action given the prompt and the history."""

    def __init__(self, checkpoint: str = "") -> None:
        if not checkpoint:
            raise PolicyError("the policy 'learned' needs a checkpoint: --policy 'learned?checkpoint=FILE'")
        require_torch()
        import torch

        from assay.extensions.tabletop.networks.training import load_network

        torch.set_num_threads(1)
        self._network, self.description = load_network(Path(checkpoint))
        _, self._form = MODELS[self.description.model]
        self._vocabulary = PromptVocabulary(self.description.vocabulary)
        self.metadata: Mapping[str, object] = self.description.model_dump(exclude={"vocabulary"})
        """The training record of the network."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._prompt = tokens.tokenize_prompt(prompt, self._form)
        self._seen: list[ViewTokens] = []
        self._done: list[np.ndarray] = []

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        import torch

        tool = int(observation.tool is Tool.SPATULA)
        self._seen.append(tokens.tokenize_observation(observation, self._form))
        history = History(tuple(self._seen), np.array(self._done, dtype=np.float32).reshape(-1, 5))
        batch = dataset.make_batch([NetworkInput(self._prompt, history, tool)], self._vocabulary)
        with torch.inference_mode():
            _, bins = self._network(batch)
        chosen = dataset.from_bins(bins[0].numpy())[None]
        self._done.append(dataset.to_bins(chosen)[0])
        return chosen
