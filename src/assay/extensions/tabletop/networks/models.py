"""The four models by name, and what has to be there to use them."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import PolicyError, did_you_mean
from assay.extensions.tabletop.networks.tokens import Form


@dataclass(frozen=True, slots=True)
class Model:
    """How a network takes in its prompt, and what its tokens are."""

    cross: bool
    """Whether the table attends to the prompt; else both are one sequence."""
    form: Form

    @property
    def name(self) -> str:
        """``cross-objects``."""
        return f"{'cross' if self.cross else 'concat'}-{self.form}"


MODELS = {model.name: model for model in (Model(cross, form) for cross in (True, False) for form in Form)}
"""By their names."""


def model(name: str) -> Model:
    """The model of that name. Raises PolicyError that says what is valid."""
    if name not in MODELS:
        raise PolicyError(f"there is no model '{name}': {did_you_mean(name, MODELS)}")
    return MODELS[name]
