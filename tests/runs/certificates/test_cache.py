from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import assay
from assay import tasks
from assay.episodes import EpisodeSpec
from assay.errors import RunError
from assay.runs.certificates import (
    SOURCES,
    Certificate,
    CertificateCache,
    ClaimVerdict,
    claim,
    sources_digest,
)

CLAIM = claim(EpisodeSpec("libero_goal/1", 0))
CERTIFICATE = Certificate(ClaimVerdict.FAILED, 0, "not reached: On a b")


def test_certificates_are_stored_by_claim_and_shared_by_writers(tmp_path: Path):
    file = tmp_path / "new" / "certificates.sqlite"
    other = replace(CLAIM, seed=1)
    with CertificateCache(file) as one, CertificateCache(file) as two:
        assert one.get(CLAIM) is None
        one.add(CLAIM, CERTIFICATE)
        two.add(other, CERTIFICATE)
        assert two.get(CLAIM) == one.get(other) == CERTIFICATE
    with CertificateCache(file) as cache:
        assert cache.get(CLAIM) == CERTIFICATE and cache.get(replace(CLAIM, task="libero_goal/2")) is None


def test_file_that_is_no_cache_is_refused(tmp_path: Path):
    file = tmp_path / "certificates.sqlite"
    file.write_text("something else, and long enough that it is clear at once")
    with pytest.raises(RunError, match=r"not a certificate file.*ASSAY_CACHE"):
        CertificateCache(file)


def test_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    assert CertificateCache().file == tmp_path / "cache" / "assay" / "certificates.sqlite"
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "mine"))
    assert CertificateCache().file == tmp_path / "mine" / "certificates.sqlite"


def test_task_file_that_changes_has_no_certificate_any_more(tmp_path: Path):
    file = tmp_path / "task.json"
    for number, task in enumerate(("libero_goal/7", "libero_goal/8")):
        tasks.save(tasks.load(task), file)
        with CertificateCache(tmp_path / "certificates.sqlite") as cache:
            spec = EpisodeSpec(str(file), 0)
            assert cache.get(spec) is None, f"content number {number}"
            cache.add(spec, CERTIFICATE)
            assert cache.get(spec) is not None


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
