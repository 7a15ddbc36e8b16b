"""Initial states, including the poses of fixtures.

LIBERO samples the poses of fixtures at every reset and omits them from its state vector, so its episodes cannot be
reproduced exactly. Here they are part of the state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.errors import StateError
from assay.sim.compile import CompiledScene
from assay.sim.controller import Drive
from assay.sim.placement import central_fixtures


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """State of a simulation from which an episode starts."""

    vector: np.ndarray
    """Time, joint positions and joint velocities: float64, (1 + nq + nv,)."""
    fixtures: np.ndarray
    """Position and quaternion (w, x, y, z) of each fixture, in the scene's order: (fixtures, 7)."""
    drive: Drive | None = None
    """State of the controller; None for a state at the start of an episode."""

    def __post_init__(self) -> None:
        for name in ("vector", "fixtures"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    def flat(self) -> np.ndarray:
        """Return the state as one vector, without the controller: LIBERO's state followed by 7 values per fixture."""
        return np.concatenate([self.vector, self.fixtures.ravel()])

    @classmethod
    def parse(cls, compiled: CompiledScene, numbers: np.ndarray) -> InitialState:
        """Parse a state vector from LIBERO, or from `InitialState.flat` with the fixtures' poses. Raises StateError.

        In a state from LIBERO, fixtures are at the centres of their regions.
        """
        numbers = np.asarray(numbers, dtype=np.float64).ravel()
        size, fixtures = compiled.state_size, len(compiled.scene.fixtures)
        if fixtures and numbers.size == size + 7 * fixtures:
            return validate_state(compiled, cls(numbers[:size], numbers[size:].reshape(fixtures, 7)))
        return validate_state(compiled, cls(numbers, central_fixtures(compiled)))


def validate_state(compiled: CompiledScene, state: InitialState) -> InitialState:
    """Return the state unchanged. Raises StateError if it does not match the scene."""
    if state.vector.shape != (compiled.state_size,):
        model = compiled.model
        raise StateError(
            f"the state has {state.vector.size} numbers; the scene requires {compiled.state_size} "
            f"(1 + {model.nq} + {model.nv} with the {compiled.pack} pack); it was "
            "probably stored for another task or with other assets"
        )
    wanted = (len(compiled.scene.fixtures), 7)
    if state.fixtures.shape != wanted:
        raise StateError(
            f"the state has fixture poses of shape {state.fixtures.shape}; the scene requires {wanted}"
        )
    if not (np.isfinite(state.vector).all() and np.isfinite(state.fixtures).all()):
        raise StateError("the state contains values that are not finite")
    return state
