from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.extensions.dropin import session


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's cache is a folder of the tests; no command has started this process."""
    folder = tmp_path_factory.getbasetemp() / "libero-cache"
    monkeypatch.setenv("ASSAY_CACHE", str(folder))
    monkeypatch.delenv(session.VARIABLE, raising=False)
    for kept in (session.session, session.plan):
        kept.cache_clear()
    yield folder
    for kept in (session.session, session.plan):
        kept.cache_clear()
