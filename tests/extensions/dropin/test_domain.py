from __future__ import annotations

from assay.extensions.dropin.domain import SensorClock
from assay.sim.simulation import OBSERVED_SUBSTEP


def test_sensors_are_read_as_in_the_engine_after_a_reset_and_a_state():
    clock = SensorClock()
    clock.reset()
    clock.force()
    assert [clock.step() for _ in range(400)] == [OBSERVED_SUBSTEP] * 400


def test_each_forced_reading_advances_the_clock():
    clock = SensorClock()
    clock.reset()
    assert clock.step() == OBSERVED_SUBSTEP + 1
    clock.force()
    assert clock.step() == OBSERVED_SUBSTEP
