from __future__ import annotations

import os
from pathlib import Path

from assay.web.memo import Memo


def test_what_is_known_is_asked_again_when_the_file_changes_but_not_all_the_time(tmp_path: Path):
    path, asked, seconds = tmp_path / "a.assay", [], [0.0]
    path.write_text("1")

    def slow(file: Path) -> str:
        asked.append(file)
        seconds[0] += 2.0
        return file.read_text()

    kept = Memo(slow, most=2, clock=lambda: seconds[0])
    assert [kept(path), kept(path)] == ["1", "1"] and len(asked) == 1
    path.write_text("22")
    seconds[0] += 9.9 * 2.0
    assert kept(path) == "1"  # so soon after what took so long, the old will do
    seconds[0] += 0.2 * 2.0
    assert kept(path) == "22" and len(asked) == 2
    for name in "bc":
        (tmp_path / name).write_text(name)
        kept(tmp_path / name)
    os.utime(path)
    assert kept(path) == "22" and len(asked) == 5  # the oldest was forgotten
