from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import PerturbationError
from assay.perturb.words.files import replacing


def test_what_was_written_takes_the_place_at_the_end(tmp_path: Path):
    path = tmp_path / "new" / "out.csv"
    with replacing(path) as unfinished:
        unfinished.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it" and list(path.parent.iterdir()) == [path]


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), replacing(path) as unfinished:
        unfinished.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["folder", "file/out.csv"])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path, place: str):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(PerturbationError, match=f"{place} cannot be written: "), replacing(tmp_path / place):
        raise AssertionError("work was done for it")
