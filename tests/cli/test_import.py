from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from assay.cli.import_ import app


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
