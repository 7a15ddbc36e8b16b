"""What the process of a script is told by the command that started it: assets, folders, the plan of an experiment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from assay.errors import SpecError
from assay.support.files import cache_folder

VARIABLE = "ASSAY_LIBERO_SESSION"
"""Names the file that a session is in."""
PATH = Path(__file__).parent / "path"
"""The folder that is put first on a script's path."""


@dataclass(frozen=True, slots=True)
class Session:
    """One call of ``assay libero``."""

    pack: str = "primitives"
    """The asset pack."""
    root: str = ""
    """Where scripts find task files and initial states; the user's cache by default."""
    plan: str = ""
    """The file with the episodes of an experiment; empty where the script has LIBERO's own tasks."""
    episodes: str = ""
    """The folder that recorded episodes are put into."""
    states: str = ""
    """LIBERO's folder of initial states, where one was named."""

    @property
    def folder(self) -> Path:
        """Where scripts find task files and initial states."""
        return Path(self.root) if self.root else cache_folder() / "libero" / self.pack

    def write(self, file: Path) -> None:
        """Put it where the script's processes find it."""
        file.write_text(json.dumps(asdict(self)))


@cache
def session() -> Session:
    """The session of this process; with no command behind it, LIBERO's tasks on the built-in assets."""
    file = os.environ.get(VARIABLE)
    if not file:
        return replace(Session(), pack=os.environ.get("ASSAY_ASSETS", "primitives"))
    try:
        return Session(**json.loads(Path(file).read_text()))
    except (OSError, ValueError, TypeError):
        raise SpecError(f"{VARIABLE}={file}: is not a session of assay libero") from None
