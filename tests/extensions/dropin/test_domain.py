from __future__ import annotations

from assay.extensions.dropin.domain import SensorClock
from assay.sim.simulation import SEEN


def test_sensors_are_read_as_in_the_engine_after_a_reset_and_a_state():
    clock = SensorClock()
    clock.reset()
    clock.force()
    assert [clock.step() for _ in range(400)] == [SEEN] * 400


def test_each_forced_reading_advances_the_clock():
    clock = SensorClock()
    clock.reset()
    assert clock.step() == SEEN + 1
    clock.force()
    assert clock.step() == SEEN
