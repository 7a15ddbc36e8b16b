from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assay.perturb.words.distance.pride import scorer

if TYPE_CHECKING:
    from assay.perturb.words.distance.scorer import Scorer


@pytest.fixture(scope="session")
def models() -> Scorer:
    """Both language models, which `make setup` fetches."""
    return scorer()
