"""Wheels from the package registry that the user's pip knows, as data: none of their code is run."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from assay.errors import AssayError


def download(package: str, sha256: str, folder: Path, *, error: type[AssayError], retry: str) -> Path:
    """The wheel of a package, ``name==version``, in a folder, without what it depends on.

    Raises ``error`` in one line where it cannot be had, with the command ``retry`` to run then, or is another than
    it should be.
    """
    before = set(folder.glob("*.whl"))
    pip("download", package, "--dest", str(folder), error=error, retry=retry)
    wheel = next(iter(set(folder.glob("*.whl")) - before))
    with wheel.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != sha256:
        wheel.unlink()
        raise error(
            f"{wheel.name} from the package registry is refused: its SHA-256 is {found}, and must be {sha256}"
        )
    return wheel


def pip(command: str, package: str, *options: str, error: type[AssayError], retry: str) -> None:
    """Run pip for one package, without its dependencies and without running code of it."""
    harmless = ("--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20")
    result = subprocess.run(
        [sys.executable, "-m", "pip", command, package, *harmless, *options, "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        said = (line.strip() for line in reversed(result.stderr.splitlines()))
        reason = next(
            (line for line in said if line.startswith("ERROR:") or "No module named pip" in line), ""
        )
        raise error(
            f"{package} cannot be fetched from the package registry: when it can be reached, run '{retry}' "
            f"(pip: {reason.removeprefix('ERROR: ') or f'exit status {result.returncode}'})"
        )
