from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay.episodes.perturbation import kinds
from assay.errors import PerturbationError
from assay.perturb import Mask, Perturbation
from assay.perturb.catalogue import catalogue, markdown
from assay.perturb.senses.images import Brightness, Contrast
from assay.perturb.world.objects import Resize
from assay.perturb.world.position import Jitter
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, StartPose


@pytest.mark.parametrize(
    "make",
    [
        Relight,
        StartPose,
        MoveCamera,
        Orbit,
        lambda: Resize(1.0),
        lambda: Jitter(0.0),
        lambda: Brightness(1.0),
        lambda: Contrast(1.0),
    ],
)
def test_a_perturbation_without_effect_is_rejected(make: Callable[[], Perturbation]):
    with pytest.raises(
        PerturbationError, match=r"^[\w/]+: nothing is changed; choose another value for [\w ]+$"
    ):
        make()


def test_every_perturbation_is_described_with_all_its_fields():
    described = {each.kind: each for each in catalogue()}
    assert set(described) == {kind for kind in kinds() if not kind.startswith("release/")}
    jitter = described["world/jitter"]
    assert (
        jitter.fields == ("`radius` (0 to 0.2): maximum displacement, in metres",)
        and jitter.plausible == "yes"
    )
    assert "every object on the workspace" in jitter.about
    assert described["words/mask"].plausible == "no" and Mask.plausible is False
    assert described["senses/blank_pictures"].plausible == "unless no camera shows anything of the scene"
    for each in described.values():
        assert each.about and "|" not in each.about


def test_the_command_prints_the_table_of_the_reference(assay: Callable[..., Any]):
    result = assay("experiments", "perturbations", "--markdown")
    assert result.status == 0 and result.out.strip() == markdown(catalogue())
