from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from assay.runs.ray_guard import RayGuard, belonging

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no guard")

# A driver with a server called as one of Ray's, whose worker does not end by itself, and with a process of its own.
DRIVER = """
import os, subprocess, sys, time
from assay.runs.ray_guard import RayGuard

guard = RayGuard()
worker = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
raylet = subprocess.Popen([sys.argv[1], "-c", worker])
own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with guard.starting():  # its parent, which Ray's workers lose first, is another
    late = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
if sys.argv[2] == "dismissed":
    time.sleep(1.5)
    guard.dismiss()
print(raylet.pid, own.pid, late.pid, flush=True)
time.sleep(60)
"""


def named_raylet(folder: Path) -> str:
    """A Python whose process is called raylet."""
    (folder / "bin").mkdir()
    link = folder / "bin" / "raylet"
    link.symlink_to(Path(sys.executable).resolve())
    return str(link)


@pytest.mark.parametrize("ending", ["killed", "dismissed"])
def test_rays_processes_end_with_a_driver_that_is_killed_and_others_do_not(tmp_path: Path, ending: str):
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(DRIVER))
    driver = subprocess.Popen(
        [sys.executable, str(script), named_raylet(tmp_path), ending], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    raylet, own, late = (psutil.Process(int(each)) for each in driver.stdout.readline().split())
    until = time.monotonic() + 20
    while not (workers := raylet.children()) and time.monotonic() < until:
        time.sleep(0.05)
    assert {number for number, _ in belonging(driver.pid, set())} == {raylet.pid, workers[0].pid}
    time.sleep(1.2)  # two looks
    driver.kill()
    driver.wait()
    ended = ending == "killed"
    gone, alive = psutil.wait_procs([raylet, late, *workers], timeout=5 if ended else 1.5)
    try:
        assert (gone if ended else alive) and not (alive if ended else gone) and own.is_running()
    finally:
        for each in (raylet, *workers, own, late):
            if each.is_running():
                each.kill()


def test_a_guard_that_was_killed_is_dismissed_all_the_same():
    guard = RayGuard()
    assert guard._guard is not None
    os.kill(guard._guard.pid, signal.SIGKILL)
    guard.dismiss()
    guard.dismiss()
