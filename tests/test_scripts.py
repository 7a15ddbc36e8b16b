"""What set-up checks each time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "ensure-models.sh"


ALONE = SCRIPT.with_name("alone.py")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment whose ``assay words setup`` fetches one model."""
    command = tmp_path / "venv" / "bin" / "assay"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        f'[ "$1 $2 $3" = "words setup --record" ] || exit 9\necho fetched\n'
        f'echo weights > "{tmp_path}/a model"; echo "{tmp_path}/a model" > "$4"\n'
    )
    command.chmod(0o755)
    return command.parent


def ensure(environment: Path) -> str:
    command = ["sh", str(SCRIPT), str(environment)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_models_that_are_here_are_not_fetched_again(environment: Path):
    assert [ensure(environment) for _ in range(3)] == ["fetched\n", "", ""]


def test_models_that_have_gone_are_fetched_again(environment: Path, tmp_path: Path):
    ensure(environment)
    (tmp_path / "a model").unlink()
    assert [ensure(environment), ensure(environment)] == ["fetched\n", ""]


@pytest.mark.parametrize("content", ["", "other weights"])
def test_models_that_were_emptied_or_written_since_are_checked_again(
    environment: Path, tmp_path: Path, content: str
):
    ensure(environment)
    model = tmp_path / "a model"
    model.write_text(content)
    os.utime(model, (time.time() + 60, time.time() + 60))
    assert ensure(environment) == "fetched\n"


def test_what_cannot_be_fetched_is_an_error(environment: Path):
    (environment / "assay").write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(subprocess.CalledProcessError):
        ensure(environment)


def test_of_two_set_ups_at_once_one_waits_for_the_other(tmp_path: Path):
    record, lock = tmp_path / "record", tmp_path / "lock"
    work = f"echo begun >> {record}; sleep 0.5; echo ended >> {record}"
    both = [subprocess.Popen([sys.executable, str(ALONE), str(lock), "sh", "-c", work]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert record.read_text().split() == ["begun", "ended"] * 2


def test_what_was_installed_and_is_gone_is_set_up_anew(tmp_path: Path):
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / ".ready").touch()
    (venv / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (venv / "bin" / "python").chmod(0o755)
    script = SCRIPT.with_name("ensure-packages.sh")
    subprocess.run(["sh", str(script), str(venv / "bin")], check=True, capture_output=True)
    assert (venv / ".ready").exists(), "all is there"
    (venv / "bin" / "python").unlink()
    told = subprocess.run(["sh", str(script), str(venv / "bin")], check=True, capture_output=True, text=True)
    assert "setting up anew" in told.stdout and not (venv / ".ready").exists()


def test_the_python_that_is_chosen_can_make_an_environment(tmp_path: Path):
    without = tmp_path / "python3.11"
    without.write_text("#!/bin/sh\nexit 1\n")
    without.chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"
    command = ["sh", str(SCRIPT.with_name("choose-python.sh"))]
    chosen = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=True).stdout
    assert chosen != f"{without}\n"
    subprocess.run([chosen.strip(), "-c", "import ensurepip, venv"], check=True)
