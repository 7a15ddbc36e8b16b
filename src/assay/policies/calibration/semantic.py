"""A policy that goes by what an instruction resembles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed
from assay.tasks import Goal, Instruction


@dataclass
class Semantic(Flawed):
    """Flaw: does the known task of the scene whose instruction resembles what it hears most, right or wrong.

    Resemblance is the cosine of sentence embeddings (all-MiniLM-L6-v2). Synonyms do not trouble it; an
    instruction that resembles nothing known leaves it waiting.
    """

    least: float = 0.3
    """The resemblance from which on it acts."""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """That of the most similar known task."""
        if not instruction.text.strip():
            return Goal(())
        known, heard = self.known_tasks(spec), _embedded(instruction.text)
        similar = np.array([float(heard @ _embedded(task.instruction.text)) for task in known])
        best = int(similar.argmax())
        return known[best].goal if similar[best] >= self.least else Goal(())


@lru_cache(maxsize=4096)
def _embedded(text: str) -> np.ndarray:
    """A sentence's embedding, (384,), of length one."""
    # Loading the model takes a second; a policy that is not used should not.
    from assay.perturb.words.distance.pride import scorer

    return np.asarray(scorer().embedding.sentences([text])[0])
