from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.perturb import senses as package
from assay.perturb.senses import Senses, pictures_at, senses_at
from assay.sim import Observation

SEVERITIES = (1, 4, 7, 10)


def test_it_has_all_of_them():
    kinds = {each.kind for each in senses_at(3).values()}
    exported = [getattr(package, name) for name in package.__all__]
    assert kinds == {each.kind for each in exported if hasattr(each, "kind")}


@pytest.mark.usefixtures("drawing")
def test_every_severity_changes_the_image(seen: list[Observation], senses: Callable[..., Senses]):
    for name in pictures_at(1):
        pictures = [seen[-1].image("agentview", 128)]
        for severity in SEVERITIES:
            episode = senses(pictures_at(severity)[name])
            pictures.append([episode.observe(each) for each in seen][-1].image("agentview", 128))
        assert not any(np.array_equal(pictures[0], each) for each in pictures[1:]), name
