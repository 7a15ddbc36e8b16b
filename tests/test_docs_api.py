"""The examples of docs/api.md run as they are, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.perturb.words.distance.pride import scorer

DOCUMENT = Path(__file__).parents[1] / "docs" / "api.md"


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    try:
        scorer()
    except AssayError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    _, *examples = re.findall(
        r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL
    )  # the first is an overview
    names: dict[str, object] = {"__name__": "documented"}
    exec("import assay", names)
    for example in examples:
        exec(compile(example, str(DOCUMENT), "exec"), names)
    said = capsys.readouterr().out
    assert "['success', 'success']" in said and "please turn on the stove" in said
    assert "did you mean" in said or "libero_goal" in said
