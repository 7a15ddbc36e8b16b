"""Initial states: what the world is at step zero, fixtures' poses included.

LIBERO samples the poses of fixtures at every reset and keeps them out of its state vector, so an episode of
its cannot be repeated. Here they belong to the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.errors import StateError
from assay.formats.init_files import read_states
from assay.sim.compile import CompiledScene
from assay.sim.placement import central_fixtures


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """The world at step zero."""

    vector: np.ndarray
    """Time, joint positions and velocities: float64, (1 + nq + nv,)."""
    fixtures: np.ndarray
    """Position and quaternion (w, x, y, z) of each fixture, in the scene's order: (fixtures, 7)."""

    def __post_init__(self) -> None:
        for name in ("vector", "fixtures"):
            kept = np.array(getattr(self, name), dtype=np.float64)
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InitialState)
            and np.array_equal(self.vector, other.vector)
            and np.array_equal(self.fixtures, other.fixtures)
        )


def checked(compiled: CompiledScene, state: InitialState) -> InitialState:
    """The same state, after making sure that it fits the scene."""
    if state.vector.shape != (compiled.state_size,):
        model = compiled.model
        raise StateError(
            f"the state has {state.vector.size} numbers and the scene needs {compiled.state_size} "
            f"(1 + {model.nq} + {model.nv} on the {compiled.pack} pack); likely it was stored for another "
            "task, or with other assets or another version of them"
        )
    wanted = (len(compiled.scene.fixtures), 7)
    if state.fixtures.shape != wanted:
        raise StateError(
            f"the state has fixture poses of shape {state.fixtures.shape}, the scene needs {wanted}"
        )
    if not (np.isfinite(state.vector).all() and np.isfinite(state.fixtures).all()):
        raise StateError("the state holds values that are not finite")
    return state


def stored_states(compiled: CompiledScene, path: Path | str) -> tuple[InitialState, ...]:
    """The states of a LIBERO ``.pruned_init`` or ``.init`` file.

    The file does not say where fixtures stood; they are put into the middle of their regions.
    """
    fixtures = central_fixtures(compiled)
    try:
        return tuple(checked(compiled, InitialState(vector, fixtures)) for vector in read_states(path))
    except StateError as error:
        raise StateError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
