"""Cameras that read recorded images: from a video, or from encoded stills."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from PIL import Image

from assay.errors import AssayError
from assay.extensions.eqa.question import UnreadableError
from assay.support.images import Orientation, orient
from assay.support.video import stills

_PLANAR = ("yuv420p", "yuv422p", "yuv444p", "nv12")
"""Pixel formats that have a separate luma plane."""
_FULL_RANGE = 2
"""FFmpeg's code for luma in the range 0 to 255."""
_TO_FULL_RANGE = np.clip((np.arange(256) - 16) * 255 / 219, 0, 255).round().astype(np.uint8).tobytes()
"""Lookup table from video luma (16 to 235) to grey (0 to 255)."""


@dataclass(frozen=True, slots=True)
class VideoCamera:
    """A section of a video file."""

    path: Path
    start: float
    """Start of the section, seconds."""
    fps: float
    orientation: Orientation = Orientation.UPRIGHT
    """Orientation of the stored images; they are returned upright."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """Read frames, see `Camera`."""
        images: dict[int, np.ndarray] = {}
        try:
            for frame, picture in stills(self.path, frames, start=self.start, fps=self.fps):
                pixels = _grey(picture) if grey else picture.to_ndarray(format="rgb24")
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
        """Read frames, see `Camera`."""
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


def _grey(picture: av.VideoFrame) -> np.ndarray:
    """Return the grey values of a frame, from its luma plane: FFmpeg's conversion takes longer than decoding."""
    if picture.format.name not in _PLANAR or picture.color_range == _FULL_RANGE:
        return np.asarray(picture.to_ndarray(format="gray"))
    plane = picture.planes[0]
    grey = bytes(plane).translate(_TO_FULL_RANGE)  # several times faster than indexing an array
    return np.frombuffer(grey, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
