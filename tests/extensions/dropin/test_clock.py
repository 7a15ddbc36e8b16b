from __future__ import annotations

from assay.extensions.dropin.clock import SensorClock
from assay.sim.simulation import OBSERVED_SUBSTEP


def test_after_a_reset_and_a_state_sensors_are_read_where_the_engine_reads_them():
    clock = SensorClock()
    clock.reset()
    clock.force()
    assert [clock.step() for _ in range(400)] == [OBSERVED_SUBSTEP] * 400


def test_each_forced_reading_is_a_substep():
    clock = SensorClock()
    clock.reset()
    assert clock.step() == OBSERVED_SUBSTEP + 1
    clock.force()
    assert clock.step() == OBSERVED_SUBSTEP
