from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.support.files import file_lock, is_locked

HOLD = """
import sys, time
from pathlib import Path
from assay.support.files import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_holds_it_and_the_file_is_gone_afterwards(tmp_path: Path):
    file = tmp_path / ".lock"
    assert not is_locked(file) and not file.exists(), "asking makes none"
    with file_lock(file):
        assert is_locked(file)
        with pytest.raises(BlockingIOError), file_lock(file):
            raise AssertionError("held twice")
        assert is_locked(file)
    assert not is_locked(file) and not file.exists()


def test_a_process_that_is_killed_holds_nothing_but_leaves_its_file(tmp_path: Path):
    file = tmp_path / ".lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    assert is_locked(file)
    with pytest.raises(BlockingIOError), file_lock(file):
        raise AssertionError("taken from another process")
    process.kill()
    process.wait()
    assert file.exists() and not is_locked(file)
    with file_lock(file):
        assert is_locked(file)


def test_asking_keeps_nobody_from_holding_it(tmp_path: Path):
    file = tmp_path / ".lock"
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            is_locked(file)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(100):
            with file_lock(file):
                pass
    finally:
        over.set()
        asking.join()


def test_a_lock_that_cannot_be_made_is_no_lock_that_is_held(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as refused, file_lock(tmp_path / "file" / ".lock"):
        raise AssertionError("held")
    assert not isinstance(refused.value, BlockingIOError)
