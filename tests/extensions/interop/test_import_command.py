from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from assay.cli.runs import app as runs
from assay.extensions.interop.commands import app


def test_import_reports_counts_and_mismatches(shared: Path, tmp_path: Path):
    folder, out = shared / "libero_para", tmp_path / "run.assay"
    few = tmp_path / "metadata.csv"
    few.write_text("".join((folder / "metadata.csv").read_text().splitlines(keepends=True)[:-10]))
    ended = CliRunner().invoke(
        app, ["libero-para", str(folder / "logs"), "--metadata", str(few), "--out", str(out)]
    )
    assert ended.exit_code == 0 and out.exists()
    assert "2,021 episodes (seeds 7; 0 controls; 0 with trajectories) written to" in ended.stdout
    assert "10 episodes have wordings that are not in the metadata" in ended.stderr
    assert "2,071 of the 4,092 episodes of the evaluation are missing" in ended.stderr


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
