from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

CONFTEST = """
from tests.forked import Forked

def pytest_configure(config):
    config.pluginmanager.register(Forked(2, lambda folder: None))
"""
PASSING = """
def test_it_has_a_folder_of_its_process(tmp_path):
    assert "process-" in str(tmp_path)
"""
FAILING = """
import os, signal, warnings
import pytest

def test_fails():
    print("said before")
    assert 1 + 1 == 3

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_goes_on_in_another_process():
    warnings.warn("look here")

def test_warns_with_a_class_that_nobody_else_can_import(tmp_path, monkeypatch):
    (tmp_path / "own_warnings.py").write_text("class Own(UserWarning): pass")
    monkeypatch.syspath_prepend(tmp_path)
    import own_warnings
    warnings.warn("not told", own_warnings.Own)

def test_is_skipped():
    pytest.skip("why not")
"""


TEARDOWN = """
import subprocess
import pytest

@pytest.fixture(scope="session")
def server():
    yield
    raise RuntimeError("cannot be closed")

def test_uses_it(server):
    subprocess.Popen(["sleep", "30"])
"""
DESCENDANT = """
import os, signal, time

def test_dies_and_leaves_a_child():
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(folder: Path, *options: str, conftest: str = CONFTEST) -> tuple[int, str]:
    """Exit status and output of pytest on a folder, in two processes."""
    (folder / "conftest.py").write_text(conftest)
    file = (folder / "said").open("w")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", *options, str(folder)],
        cwd=Path(__file__).parents[1],
        stdout=file,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, (folder / "said").read_text()


def test_each_process_reports_and_one_that_dies_fails_its_test_alone(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(PASSING)
    (tmp_path / "test_failing.py").write_text(FAILING)
    status, said = run(tmp_path)
    assert status == 1, said
    assert "2 failed, 4 passed, 1 skipped, 1 warning" in said
    assert "assert (1 + 1) == 3" in said and "said before" in said
    assert "its process died: SIGKILL" in said and "look here" in said and "why not" in said


def test_it_stops_at_the_first_failure_where_that_is_wanted(tmp_path: Path):
    (tmp_path / "test_failing.py").write_text(FAILING)
    status, said = run(tmp_path, "-x")
    assert status == 1 and "stopping after 1 failures" in said and "SIGKILL" not in said


def test_what_breaks_between_tests_is_told_and_the_others_run(tmp_path: Path):
    (tmp_path / "test_a.py").write_text(TEARDOWN)
    (tmp_path / "test_b.py").write_text(DESCENDANT)
    for name in ("c", "d"):
        (tmp_path / f"test_{name}.py").write_text(PASSING)
    begun = time.monotonic()
    status, said = run(tmp_path)
    assert status == 1 and time.monotonic() - begun < 30, (
        said
    )  # a child's child that goes on is in nobody's way
    assert "2 failed, 3 passed" in said and "died between tests: exit status 1" in said
    assert "cannot be closed" in said and "its process died: SIGKILL" in said


def test_a_process_that_cannot_begin_says_why(tmp_path: Path):
    (tmp_path / "test_a.py").write_text(PASSING)
    broken = CONFTEST.replace("lambda folder: None", "lambda folder: 1 / 0")
    status, said = run(tmp_path, conftest=broken)
    assert status == 1 and "ZeroDivisionError" in said and "its process died: exit status 1" in said
