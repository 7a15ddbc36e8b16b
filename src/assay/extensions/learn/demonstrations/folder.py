"""A dataset's folder that grows, and can be left at any moment.

    .staged/NAME/    one attempt, whole: a small dataset of its own
    .next/           the whole dataset, being written
    .ready/          the whole dataset, to take the place of the old one; whoever comes next finishes that
    meta/ data/ videos/

Each of these appears by a renaming. What is staged goes into the dataset in the order of tasks and seeds, so
the result does not depend on how often the work was interrupted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.demonstration import Demonstrations, Episode, LeftOut
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.extensions.learn.demonstrations.recipe import PLAIN, Recipe
from assay.policies.remote.pictures import Orientation
from assay.support.files import locked
from assay.tasks import short_name

_PARTS = ("data", "videos", "meta")
_OURS = (".staged", ".next", ".ready", ".scratch", ".lock")


class Folder:
    """Demonstrations on disk: what is there, and more of it."""

    def __init__(
        self,
        root: Path,
        pack: str,
        size: int,
        recipe: Recipe = PLAIN,
        orientation: Orientation = Orientation.ROTATED,
    ) -> None:
        self.root = root
        self._staged, self._next, self._ready = root / ".staged", root / ".next", root / ".ready"
        if self._ready.exists():
            self._exchange()
        _remove(self._next)
        _remove(self.scratch)
        there = [root] if (root / dataset.OURS).exists() else []
        if not there and root.is_dir() and any(each.name not in _OURS for each in root.iterdir()):
            raise DemonstrationError(
                f"{root} holds files that assay collect did not write; name another folder"
            )
        there += sorted(self._staged.iterdir()) if self._staged.exists() else []
        parts = [dataset.read(place) for place in there]
        for part in parts:
            if part.recipe != recipe:
                raise DemonstrationError(
                    f"{root} holds demonstrations with {part.recipe}; those with {recipe} need another folder"
                )
            if (part.pack, part.size) != (pack, size):
                raise DemonstrationError(
                    f"{root} holds demonstrations on '{part.pack}' with pictures of {part.size} pixels; "
                    f"'{pack}' with {size} does not go with them: "
                    f"use --assets {part.pack} --size {part.size}, or name another folder"
                )
            if part.orientation is not orientation:
                raise DemonstrationError(
                    f"{root} holds demonstrations with {part.orientation} images, {orientation} ones do not go with "
                    f"them: use --orientation {part.orientation}, or name another folder"
                )
        empty = Demonstrations(pack, size, recipe=recipe, orientation=orientation)
        self.demonstrations = empty.and_also(parts)
        """All that is there, staged or not."""

    @property
    def scratch(self) -> Path:
        """A place for files on their way; emptied by and by."""
        return self.root / ".scratch"

    def add(self, attempt: Episode | LeftOut) -> None:
        """Stage one attempt: from here on it is safe."""
        there = self.demonstrations
        if isinstance(attempt, Episode):
            part = replace(there, episodes=(attempt,), left_out=())
        else:
            part = replace(there, episodes=(), left_out=(attempt,))
        place = self._staged / f"{short_name(attempt.task)}_{attempt.seed}"
        dataset.write(self.scratch / "staging", part)
        self._staged.mkdir(exist_ok=True)
        (self.scratch / "staging").rename(place)
        _remove(self.scratch)
        self.demonstrations = there.and_also([dataset.read(place)])

    def finish(self) -> None:
        """Put what is staged into the dataset."""
        if self._staged.exists():
            dataset.write(self._next, self.demonstrations)
            self._next.rename(self._ready)
            self._exchange()

    def _exchange(self) -> None:
        """Put the new dataset into the place of the old one; may be interrupted and repeated."""
        if (self._ready / "meta").exists():
            _remove(self.root / "meta")  # first out and last in: half an exchange is not taken for a dataset
        for name in _PARTS:
            if (self._ready / name).exists():
                _remove(self.root / name)
                (self._ready / name).rename(self.root / name)
        _remove(self._staged)
        self._ready.rmdir()


@contextmanager
def opened(
    root: Path,
    pack: str,
    size: int,
    recipe: Recipe = PLAIN,
    orientation: Orientation = Orientation.ROTATED,
) -> Iterator[Folder]:
    """A folder for one process alone; made if there is none."""
    root.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(locked(root / ".lock"))
        except BlockingIOError:
            raise DemonstrationError(f"{root} is in use: another process collects into it") from None
        yield Folder(root, pack, size, recipe, orientation)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
