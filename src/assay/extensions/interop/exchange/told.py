"""Which episodes of a run a dashboard was told of: a file beside the run, with a line ``KEY OUTCOME`` for each.

By key, because episodes end in one order and are planned in another, and because a dashboard that breaks misses some.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote


class Told:
    """What one tracker was told of a run, in one of its projects."""

    def __init__(self, run: Path, tracker: str, project: str) -> None:
        self.path = run.with_name(f".{run.name}.{tracker}-{quote(project, safe='')}")
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self._known = set(lines)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, episode: tuple[str, str]) -> bool:
        """Whether it was told of an episode, (key, outcome)."""
        return " ".join(episode) in self._known

    def add(self, key: str, outcome: str) -> None:
        """It was told."""
        line = f"{key} {outcome}"
        self._known.add(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def forget(self) -> None:
        """It knows nothing."""
        self._known.clear()
        self.path.unlink(missing_ok=True)
