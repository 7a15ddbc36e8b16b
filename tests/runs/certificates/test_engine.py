from __future__ import annotations

import shutil
from pathlib import Path

import assay
from assay.runs.certificates.cache import SOURCES, engine_digest, sources_digest


def test_another_demonstrator_or_scene_has_another_digest_and_another_report_has_not(tmp_path: Path):
    package = Path(assay.__file__).parent
    copy = tmp_path / "assay"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert sources_digest(copy) == sources_digest(package)
    with (copy / "report" / "sheet.py").open("a") as file:
        file.write("# changed\n")
    assert sources_digest(copy) == sources_digest(package)
    with (copy / "policies" / "oracle" / "skills.py").open("a") as file:
        file.write("# changed\n")
    assert sources_digest(copy) != sources_digest(package)


def test_every_source_of_the_digest_exists():
    package = Path(assay.__file__).parent
    assert [source for source in SOURCES if not (package / source).exists()] == []


def test_the_digest_is_the_same_each_time():
    assert len(engine_digest("libero", "primitives")) == 12 and engine_digest(
        "libero", "primitives"
    ) == engine_digest("libero", "primitives")
