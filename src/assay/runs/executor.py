"""What a run needs of whoever executes it: local processes, Ray, or this very process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assay.episodes.episode import Episode
from assay.episodes.spec import EpisodeSpec

if TYPE_CHECKING:
    from assay.runs.worker import WorkerConfig

Batch = Sequence[tuple[int, EpisodeSpec]]
"""Numbered specs that share a compiled scene."""


class Source(Protocol):
    """Hands out work and takes it back."""

    def take(self, latest: str | None) -> Batch:
        """The next batch, preferably of the scene a worker has at hand; empty if there is none now."""
        ...

    def give_back(self, numbers: Sequence[int]) -> None:
        """Take back what was handed out and not done."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """An episode that was performed."""

    number: int
    episode: Episode


@dataclass(frozen=True, slots=True)
class Died:
    """A worker that died, and the episode it was performing, if any."""

    number: int | None
    reason: str
    violent: bool = False
    """Whether it was killed from outside rather than by what it did."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing happened for a moment."""


Event = Done | Died | Tick


class Executor(Protocol):
    """Executes what a source hands out, until that is nothing any more."""

    workers: int
    """How many episodes run at once."""

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """Events as they come. When ``stopping`` turns true, what runs is finished and no more is begun.

        A worker that dies gives its batch back and is replaced; the episode it died of is not given back:
        that is for the driver to decide. Raises PolicyError if the policy cannot be loaded.
        """
        ...


@runtime_checkable
class Player(Protocol):
    """Whoever plays episodes by itself, in place of a policy that is asked for actions: somebody's script."""

    @property
    def address(self) -> str:
        """What the run calls it."""
        ...

    def identity(self) -> dict[str, str]:
        """What it hangs on: name -> digest."""
        ...

    def executor(self, config: WorkerConfig, planned: Sequence[EpisodeSpec]) -> Executor:
        """What executes the episodes; ``planned`` are all of the run, those that are done among them."""
        ...
