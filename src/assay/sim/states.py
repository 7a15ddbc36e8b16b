"""Initial states: what the world is at step zero, fixtures' poses included.

LIBERO samples the poses of fixtures at every reset and keeps them out of its state vector, so an episode of
its cannot be repeated. Here they belong to the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.errors import StateError
from assay.sim.compile import CompiledScene
from assay.sim.controller import Drive
from assay.sim.placement import central_fixtures
from assay.tasks.formats.init_files import read_states


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """The world at step zero."""

    vector: np.ndarray
    """Time, joint positions and velocities: float64, (1 + nq + nv,)."""
    fixtures: np.ndarray
    """Position and quaternion (w, x, y, z) of each fixture, in the scene's order: (fixtures, 7)."""
    drive: Drive | None = None
    """What the controller was doing, in a state that was taken in the middle of an episode."""

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
            and _same(self.drive, other.drive)
        )

    def flat(self) -> np.ndarray:
        """All of it but the drive in one vector, the fixtures last: what LIBERO's states are, and 7 numbers each."""
        return np.concatenate([self.vector, self.fixtures.ravel()])


def from_flat(compiled: CompiledScene, numbers: np.ndarray) -> InitialState:
    """The state in a vector as LIBERO has it, or in a longer one with the fixtures' poses. Raises StateError."""
    numbers = np.asarray(numbers, dtype=np.float64).ravel()
    size, fixtures = compiled.state_size, len(compiled.scene.fixtures)
    if fixtures and numbers.size == size + 7 * fixtures:
        return checked(compiled, InitialState(numbers[:size], numbers[size:].reshape(fixtures, 7)))
    return checked(compiled, InitialState(numbers, central_fixtures(compiled)))


def _same(one: Drive | None, other: Drive | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in Drive.__dataclass_fields__
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
    return tuple(stored_state(compiled, vector, path) for vector in read_states(path))


def stored_state(compiled: CompiledScene, vector: np.ndarray, path: Path | str) -> InitialState:
    """One of the states of a file, (1 + nq + nv,). Raises StateError that names the file."""
    try:
        return checked(compiled, InitialState(vector, central_fixtures(compiled)))
    except StateError as error:
        raise StateError(f"{path}: {error}") from None
