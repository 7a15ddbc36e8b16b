"""A dataset folder that can be extended and survives interruption at any time.

    .staged/NAME/    one complete attempt: a small dataset
    .next/           the complete dataset while it is being written
    .ready/          the complete dataset that replaces the old one; the next process completes an interrupted exchange
    meta/ data/ videos/

Each folder is created atomically by renaming. Staged attempts are merged in the order of tasks and seeds, so the
result does not depend on how often the work was interrupted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assay.errors import DemonstrationError
from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.dataset import Demonstrations, FailedAttempt
from assay.support.files import file_lock
from assay.tasks import short_name
from assay.tasks.formats.lerobot_writer import RecordedEpisode

_PARTS = ("data", "videos", "meta")
_OURS = (".staged", ".next", ".ready", ".scratch", ".lock")


class DemonstrationFolder:
    """A dataset folder to which attempts are added."""

    def __init__(self, root: Path, kind: Demonstrations) -> None:
        """Open a dataset folder.

        ``kind``: demonstrations without episodes that specify the pack, image size, orientation and recipe.
        """
        self.root = root
        self._staged, self._next, self._ready = root / ".staged", root / ".next", root / ".ready"
        if self._ready.exists():
            self._exchange()
        _remove(self._next)
        _remove(self.scratch)
        places = [root] if (root / dataset.OURS).exists() else []
        if not places and root.is_dir() and any(path.name not in _OURS for path in root.iterdir()):
            raise DemonstrationError(
                f"{root} contains files not written by assay collect; choose another folder"
            )
        places += sorted(self._staged.iterdir()) if self._staged.exists() else []
        parts = [dataset.read(place) for place in places]
        for part in parts:
            if str(part) != str(kind):
                raise DemonstrationError(
                    f"{root} contains demonstrations with {part}, not {kind}; use these options or another folder"
                )
        self.demonstrations = kind.merge(parts)
        """All attempts in the folder, staged or merged."""

    @property
    def scratch(self) -> Path:
        """A folder for temporary files."""
        return self.root / ".scratch"

    def add(self, attempt: RecordedEpisode | FailedAttempt) -> None:
        """Stage one attempt, which is on disk when this method returns."""
        demonstrations = self.demonstrations
        if isinstance(attempt, RecordedEpisode):
            part = replace(demonstrations, episodes=(attempt,), left_out=())
        else:
            part = replace(demonstrations, episodes=(), left_out=(attempt,))
        place = self._staged / f"{short_name(attempt.task)}_{attempt.seed}"
        dataset.write(self.scratch / "staging", part)
        self._staged.mkdir(exist_ok=True)
        (self.scratch / "staging").rename(place)
        _remove(self.scratch)
        self.demonstrations = demonstrations.merge([dataset.read(place)])

    def finish(self) -> None:
        """Merge the staged attempts into the dataset."""
        if self._staged.exists():
            dataset.write(self._next, self.demonstrations)
            self._next.rename(self._ready)
            self._exchange()

    def _exchange(self) -> None:
        """Replace the old dataset with the new one. Safe to interrupt and repeat."""
        if (self._ready / "meta").exists():
            _remove(self.root / "meta")  # first out and last in: half an exchange is not taken for a dataset
        for name in _PARTS:
            if (self._ready / name).exists():
                _remove(self.root / name)
                (self._ready / name).rename(self.root / name)
        _remove(self._staged)
        self._ready.rmdir()


@contextmanager
def open_folder(root: Path, kind: Demonstrations) -> Iterator[DemonstrationFolder]:
    """Lock a folder for exclusive use by this process, creating it if necessary."""
    root.mkdir(parents=True, exist_ok=True)
    try:
        with file_lock(root / ".lock"):
            yield DemonstrationFolder(root, kind)
    except BlockingIOError:
        raise DemonstrationError(f"{root} is in use by another process") from None


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
