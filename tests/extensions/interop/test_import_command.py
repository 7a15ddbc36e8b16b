from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from assay.cli.runs import app as runs
from assay.extensions.interop.commands import app


def test_files_can_be_given_without_a_command_name(tmp_path: Path):
    file, out = tmp_path / "mine.csv", tmp_path / "run.assay"
    file.write_text("task,success\nlibero_goal/7,1\nlibero_goal/7,error\n")
    ended = CliRunner().invoke(app, [str(file), "--policy", "mine", "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    assert "2 episodes of mine (CSV; 1 task; 2 controls; 0 with trajectories) written to" in ended.stdout
    assert "excluded from rates: 1 error" in ended.stderr
    assert "note: no episode is perturbed" in ended.stderr
    shown = CliRunner().invoke(runs, ["show", str(out)])
    assert shown.exit_code == 0 and "control" in shown.stdout
