from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.errors import RunError
from assay.runs.certificates import Certificate, CertificateCache, ClaimVerdict, cache_file, claim

CLAIM = claim(EpisodeSpec("libero_goal/1", 0))
CERTIFICATE = Certificate(ClaimVerdict.FAILED, 0, "not reached: On a b")


def test_a_certificate_outlives_the_process_that_made_it(tmp_path: Path):
    file = tmp_path / "new" / "certificates.sqlite"
    with CertificateCache(file) as cache:
        assert cache.get(CLAIM) is None
        cache.add(CLAIM, CERTIFICATE)
    with CertificateCache(file) as cache:
        assert cache.get(CLAIM) == CERTIFICATE
        assert (
            cache.get(replace(CLAIM, seed=1)) is None
            and cache.get(replace(CLAIM, task="libero_goal/2")) is None
        )


def test_two_may_write_at_once(tmp_path: Path):
    file = tmp_path / "certificates.sqlite"
    with CertificateCache(file) as one, CertificateCache(file) as two:
        one.add(CLAIM, CERTIFICATE)
        two.add(replace(CLAIM, seed=1), CERTIFICATE)
        assert two.get(CLAIM) == one.get(replace(CLAIM, seed=1)) == CERTIFICATE


def test_what_is_no_cache_is_one_line(tmp_path: Path):
    file = tmp_path / "certificates.sqlite"
    file.write_text("something else, and long enough that it is clear at once")
    with pytest.raises(RunError, match="not a file of certificates") as caught:
        CertificateCache(file)
    assert "\n" not in str(caught.value) and "ASSAY_CACHE" in str(caught.value)


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    assert cache_file() == tmp_path / "cache" / "assay" / "certificates.sqlite"
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "mine"))
    assert cache_file() == tmp_path / "mine" / "certificates.sqlite"


def test_a_task_file_that_changes_has_no_certificate_any_more(tmp_path: Path):
    file = tmp_path / "task.json"
    for number, task in enumerate(("libero_goal/7", "libero_goal/8")):
        tasks.save(tasks.load(task), file)
        with CertificateCache(tmp_path / "certificates.sqlite") as cache:
            spec = EpisodeSpec(str(file), 0)
            assert cache.get(spec) is None, f"content number {number}"
            cache.add(spec, CERTIFICATE)
            assert cache.get(spec) is not None
