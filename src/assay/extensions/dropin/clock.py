"""When LIBERO's sensors are read: its clock, which every forced reading puts forward, in floating point as it is."""

from __future__ import annotations

from assay.sim.simulation import CONTROL_HZ, SUBSTEPS

SAMPLING = 1.0 / CONTROL_HZ
SUBSTEP = SAMPLING / SUBSTEPS


class SensorClock:
    """Of one environment. A reset and a state that is set force a reading each; then it is substep 24 of 25."""

    def __init__(self) -> None:
        self._time = 0.0
        self._read = False

    def reset(self) -> None:
        """The environment is reset, which reads the sensors."""
        self._time = 0.0
        self.force()

    def force(self) -> None:
        """The sensors are read outside of a step."""
        self._read = False
        self._tick()

    def step(self) -> int | None:
        """A control step: the substep, from 0 on, after which the sensors are read; None where in none."""
        read = [substep for substep in range(SUBSTEPS) if self._tick()]
        return read[-1] if read else None

    def _tick(self) -> bool:
        self._time += SUBSTEP
        reads = not self._read and (self._time <= SAMPLING)
        self._read = self._read or reads
        if self._time >= SAMPLING:
            reads = reads or not self._read
            self._time %= SAMPLING
            self._read = False
        return reads
