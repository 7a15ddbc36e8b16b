"""Environments with other people's real packages, which want other versions than ours: made once, in the user's cache.

``python tests/peer_environments.py`` makes those that every run of the tests uses: no test waits for a download.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from filelock import FileLock

ALWAYS = {
    "openpi-client-0.1.2": ("openpi-client==0.1.2", "typing_extensions"),
    "vla-eval-0.8.0": ("vla-eval==0.8.0",),
}
"""What the clients of the two protocols are tried against."""
FOR_SERVERS = {
    "servers": (
        "pyzmq==27.3.0",
        "msgpack-numpy==0.4.8",
        "json-numpy==2.1.1",
        "fastapi",
        "uvicorn",
        "websockets",
        "openpi-client==0.1.2",
        "typing_extensions",
    ),
}
"""What other people's servers need, but for their models: used where there are checkouts of them."""


class EnvironmentNotMadeError(Exception):
    """Why there is no such environment, in one line."""


def environment(name: str) -> Path:
    """The Python of an environment, which is made where there is none or another."""
    requirements = (ALWAYS | FOR_SERVERS)[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{name}-py{sys.version_info.major}{sys.version_info.minor}"
    python, ready, made_of = folder / "bin" / "python", folder / ".made-of", " ".join(requirements)
    with FileLock(cache / f"{name}.lock"):
        if not ready.exists() or ready.read_text() != made_of:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                venv.create(folder, symlinks=True)
                pip = [sys.executable, "-m", "pip", "--python", str(python)]  # ours: it needs none of its own
                subprocess.run(
                    [*pip, "install", "--quiet", "--disable-pip-version-check", *requirements],
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=540,
                )
            except subprocess.SubprocessError as error:
                said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
                raise EnvironmentNotMadeError(
                    f"no environment for {name}: {said[-1] if said else error}"
                ) from error
            ready.write_text(made_of)
    return python


if __name__ == "__main__":
    for each in ALWAYS:
        try:
            environment(each)
        except EnvironmentNotMadeError as why:
            print(f"{why}; the tests that need it are skipped")
