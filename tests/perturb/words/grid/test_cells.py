from __future__ import annotations

import pytest

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import cell_of


def test_wrong_names_are_rejected_with_the_nearest() -> None:
    with pytest.raises(PerturbationError, match="no object type 'habitul': did you mean 'habitual'"):
        cell_of("habitul", "none")
    with pytest.raises(PerturbationError, match="no action type 'hnt': did you mean 'hint'"):
        cell_of("none", "hnt")
    with pytest.raises(PerturbationError, match="is the original"):
        cell_of("none", "none")
