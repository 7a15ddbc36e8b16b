from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.extensions.papers.libero_para.tables import pearson


def test_pearsons_correlation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    expected = stats.pearsonr(x, y)
    assert pearson(x, y) == pytest.approx((expected.statistic, expected.pvalue))
    assert pearson(x, 2 * x) == pytest.approx((1.0, 0.0), abs=1e-12)
