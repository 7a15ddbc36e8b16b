from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.networks.teacher import Teacher
from assay.extensions.tabletop.tasks import Setting, make
from assay.extensions.tabletop.world import play

pytestmark = pytest.mark.usefixtures("drawing")


@pytest.mark.parametrize("task", ["T1", "T3", "T4", "T7", "T15"])
def test_the_teacher_makes_no_mistakes(task: str):
    drawn = [make(Setting(task, seed)) for seed in (1, 2)]
    assert all(play(each, Teacher(), most=each.best).success for each in drawn)


def test_it_turns_things_only_where_that_matters():
    assert play(make(Setting("T1", 4)), Teacher()).actions[0, 11] == 0
    assert abs(play(make(Setting("T3", 4)), Teacher()).actions[0, 11]) > np.sin(np.radians(14))
