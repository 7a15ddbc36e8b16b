"""Cameras that read recorded images: from a video, or from encoded stills."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from assay.errors import AssayError
from assay.extensions.eqa.question import UnreadableError
from assay.support.images import Orientation, orient
from assay.support.video import stills


@dataclass(frozen=True, slots=True)
class VideoCamera:
    """A section of a video file."""

    path: Path
    start: float
    """Start of the section, in seconds."""
    fps: float
    orientation: Orientation = Orientation.UPRIGHT
    """Orientation of the stored images; they are returned upright."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames; see `Camera`."""
        images: dict[int, np.ndarray] = {}
        try:
            for frame, picture in stills(self.path, frames, start=self.start, fps=self.fps):
                pixels = picture.to_ndarray(format="gray" if grey else "rgb24")
                images[frame] = orient(pixels, self.orientation)
        except AssayError as error:
            raise UnreadableError(str(error)) from error
        return [images[frame] for frame in frames]


@dataclass(frozen=True, slots=True)
class StillsCamera:
    """Images encoded separately as JPEG or PNG."""

    load: Callable[[], Sequence[bytes]]
    """Function that returns every encoded image of the episode."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames; see `Camera`."""
        files = self.load()
        pictures = []
        for frame in frames:
            try:
                with Image.open(io.BytesIO(files[frame])) as picture:
                    if grey:
                        picture.draft("L", None)  # skips the decoding of a JPEG's colours
                    pictures.append(np.asarray(picture.convert("L" if grey else "RGB")))
            except (OSError, SyntaxError, IndexError, ValueError, Image.DecompressionBombError) as error:
                raise UnreadableError(f"frame {frame} is not an image: {error}") from error
        return pictures
