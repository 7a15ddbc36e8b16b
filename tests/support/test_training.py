from __future__ import annotations

from assay.support.training import Schedule, TrainingProgress


def test_training_ends_when_its_steps_or_its_minutes_are_used_up():
    assert Schedule(steps=10).share(5, 1e9) == 0.5 and Schedule(minutes=2).share(10**9, 60) == 0.5
    assert Schedule(steps=10, minutes=2).share(1, 119) > 0.99 and Schedule(steps=10).share(11, 0) == 1


def test_the_rate_rises_and_falls_and_the_loss_is_averaged():
    rates = [Schedule(rate=1.0).rate_at(share) for share in (0.0, 0.03, 0.5, 1.0)]
    assert rates[0] < 0.1 < rates[2] < rates[1] == 1.0 and rates[3] < 1e-9
    late = TrainingProgress().advance(0.1, 2.0)
    assert late.loss == 2.0 and 1.0 < late.advance(0.2, 1.0).loss < 2.0 and late.step == 1
