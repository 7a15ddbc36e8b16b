"""What set-up checks each time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "ensure-models.sh"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment whose ``assay words setup`` fetches one model."""
    command = tmp_path / "venv" / "bin" / "assay"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        f'[ "$1 $2 $3" = "words setup --record" ] || exit 9\necho fetched\n'
        f'touch "{tmp_path}/a model"; echo "{tmp_path}/a model" > "$4"\n'
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


def test_what_cannot_be_fetched_is_an_error(environment: Path):
    (environment / "assay").write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(subprocess.CalledProcessError):
        ensure(environment)
