"""A disk that becomes full while files are written: a small file system in a namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.runs_on_disk import write_run

RUN = """
import os, sys
from pathlib import Path
import numpy as np
from assay.episodes import Episode, EpisodeSpec, Outcome, Trajectory
from assay.errors import RunError
from assay.runs.store import Store

path = Path(sys.argv[1], "run.assay")
values = np.random.default_rng(0).random((200, 7)).astype("f4")
episode = Episode(Outcome.SUCCESS, 200, Trajectory(np.zeros((201, 3), "f4"), np.zeros(201, "f4"), values))
count = 0
try:
    with Store.writing(path) as store:
        store.plan(EpisodeSpec("libero_goal/1", seed) for seed in range(int(sys.argv[2])))
        for waiting in store.todo():
            store.append(waiting.number, episode)
            count += 1
except RunError as error:
    print(error)
print(*sorted(os.listdir(path.parent)))
with Store.reading(path) as store:
    print(count, store.done, len(list(store.trajectories())))
"""
FULL = "the disk is full; free some space and run the command again"


@pytest.fixture
def small(tmp_path: Path):
    """Function that runs a shell command with a small file system at ``$DISK``; return its output."""
    disk = tmp_path / "disk"
    disk.mkdir()
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(disk)]
    try:
        subprocess.run(probe, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted: {error}")

    def run(kilobytes: int, command: str, *arguments: str | Path) -> str:
        script = f"mount -t tmpfs -o size={kilobytes}k none {disk} && DISK={disk}; {command}"
        words = ["unshare", "-rm", "sh", "-c", script, "sh", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    return run


@pytest.mark.parametrize("kilobytes", [700, 850])
def test_a_run_on_a_full_disk_stays_whole_without_its_log(small, kilobytes: int):
    lines = small(kilobytes, '"$1" -c "$2" $DISK 100', sys.executable, RUN).splitlines()
    count, done, paths = map(int, lines[2].split())
    assert lines[0].endswith(f"run.assay: {FULL}") and lines[1] == "run.assay"
    assert done == paths == count > 0


def test_a_plan_that_does_not_fit_leaves_no_log(small):
    lines = small(1500, '"$1" -c "$2" $DISK 2000', sys.executable, RUN).splitlines()
    assert lines[0].endswith(f"run.assay: {FULL}") and lines[1:] == ["run.assay", "0 0 0"]


def test_commands_name_the_file_that_does_not_fit(small, tmp_path: Path):
    run = write_run(tmp_path / "a.assay", {"control": [True] * 9})
    assay = Path(sys.executable).with_name("assay")
    forms = [f"export $2 --{form} $DISK/a.{form}" for form in ("csv", "json", "parquet")]
    commands = (*forms, "runs merge $2 --out $DISK/b.assay")
    calls = "; ".join(f'"$1" {command} 2>&1' for command in commands)
    fill = "dd if=/dev/zero of=$DISK/fill bs=1k 2>/dev/null"
    lines = small(100, f"{fill}; {calls}; ls -A $DISK", assay, run).splitlines()
    for line, form in zip(lines, ("csv", "json", "parquet"), strict=False):
        assert line.endswith(f"a.{form} cannot be written: no space left on device")
    assert lines[3].endswith(f"b.assay: {FULL}") and lines[4:] == ["fill"]
