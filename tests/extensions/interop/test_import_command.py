from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from assay.cli.runs import app as runs
from assay.extensions.interop.import_command import app


def test_import_says_what_it_read_and_what_does_not_match(shared: Path, tmp_path: Path):
    folder, out = shared / "libero_para", tmp_path / "run.assay"
    few = tmp_path / "metadata.csv"
    few.write_text("".join((folder / "metadata.csv").read_text().splitlines(keepends=True)[:-10]))
    ended = CliRunner().invoke(
        app, ["libero-para", str(folder / "logs"), "--metadata", str(few), "--out", str(out)]
    )
    assert ended.exit_code == 0 and out.exists()
    assert "2,021 episodes (seeds 7; 0 controls; 0 with trajectories) written to" in ended.stdout
    assert "10 episodes have wordings that the metadata lacks" in ended.stderr
    assert "2,071 of the 4,092 episodes of the evaluation are not there" in ended.stderr


def test_files_stand_where_a_command_may_and_what_cannot_be_said_is_said(tmp_path: Path):
    file, out = tmp_path / "mine.csv", tmp_path / "run.assay"
    file.write_text("task,success\nlibero_goal/7,1\nlibero_goal/7,error\n")
    ended = CliRunner().invoke(app, [str(file), "--policy", "mine", "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    assert "2 episodes of mine (CSV; 1 task; 2 controls; 0 with trajectories) written to" in ended.stdout
    assert "1 episode broke: neither success nor failure, counted apart" in ended.stderr
    assert "note: nothing is changed in any episode" in ended.stderr
    shown = CliRunner().invoke(runs, ["show", str(out)])
    assert shown.exit_code == 0 and "control" in shown.stdout


def test_a_file_of_another_kind_is_one_line_with_what_is_valid(assay, tmp_path: Path):
    (tmp_path / "notes.md").write_text("# nothing")
    said = assay("import", tmp_path / "notes.md", "--out", tmp_path / "run.assay")
    assert said.status == 2 and said.err.count("\n") == 1 and "valid: vla-eval's recording" in said.err
    said = assay("import", tmp_path / "nowhere.csv", "--out", tmp_path / "run.assay")
    assert said.status == 2 and "cannot be read: No such file" in said.err
