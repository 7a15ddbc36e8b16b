from __future__ import annotations

import pytest

from assay.perturb.words.distance.errors import ModelError
from assay.perturb.words.distance.pride import scorer
from assay.perturb.words.distance.scorer import Scorer


@pytest.fixture(scope="session")
def models() -> Scorer:
    """Both language models; tests that need them are skipped where they are absent."""
    try:
        return scorer()
    except ModelError as error:
        pytest.skip(str(error))
