from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import assay
from assay.runs.certificates.engine import SOURCES, engine_digest, sources_digest


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


@pytest.mark.parametrize(
    "source",
    [
        "perturb/words/rewordings/other_task.py",
        "episodes/rollout.py",
        "perturb/releases/values.py",
        "perturb/releases/senses.py",
        "runs/certificates/claim.py",
        "runs/certificates/verdict.py",
        "sim/trace.py",
    ],
)
def test_whatever_decides_about_a_claim_is_in_the_digest(source: str):
    assert (Path(assay.__file__).parent / source).is_file()
    assert any(source == known or source.startswith(f"{known}/") for known in SOURCES)


def test_the_digest_is_the_same_each_time():
    assert len(engine_digest("libero", "primitives")) == 12 and engine_digest(
        "libero", "primitives"
    ) == engine_digest("libero", "primitives")
