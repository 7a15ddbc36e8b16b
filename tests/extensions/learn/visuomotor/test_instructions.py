from __future__ import annotations

import numpy as np
import pytest

from assay.errors import DemonstrationError
from assay.extensions.learn.visuomotor.instructions import embed, wordings


def test_similar_instructions_have_similar_vectors_and_an_empty_one_has_none():
    stove, on, bowl = map(embed, ("turn on the stove", "switch the stove on", "put the bowl on the plate"))
    assert stove.shape == (384,) and np.linalg.norm(stove) == pytest.approx(1, abs=1e-6)
    assert stove @ on > 0.8 > stove @ bowl and not embed("  ").any()


def test_an_episode_has_one_wording_or_its_own_and_paraphrases():
    said, ids = ["turn on the stove"] * 2, ["libero_goal/7"] * 2
    assert wordings(said, ["", ""], 0) == [["turn on the stove"]] * 2
    many = wordings(said, ids, 1)
    assert many[0] == many[1] and many[0][0] == said[0] and len(set(many[0])) == len(many[0]) > 30
    with pytest.raises(DemonstrationError, match="paraphrases need a data set of assay collect"):
        wordings(said, ["", ""], 1)
