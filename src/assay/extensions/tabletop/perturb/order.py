"""The order in which a policy gets to see the objects on the table."""

from __future__ import annotations

from dataclasses import dataclass

from assay.episodes import perturbation
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.extensions.tabletop.observation import TableObservation


@perturbation
@dataclass(frozen=True, slots=True)
class PermutedObjects(Sense):
    """On the table: objects, and labels of segmentations, come in an order drawn anew at every observation.

    It is the same in both views. Pictures, patches and the prompt stay as they are.
    """

    kind = "senses/permuted_objects"
    world = "tabletop"

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _Permuting(key)


class _Permuting(Filter):
    def __init__(self, key: Key) -> None:
        self._key = key

    def observe(self, observation: TableObservation) -> TableObservation:
        drawn = Chance(self._key, observation.step).now().permutation(observation.count)
        return observation.ordered(drawn)
