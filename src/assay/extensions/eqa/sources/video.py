"""Pictures from a video, a folder's table or memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from PIL import Image

from assay.errors import AssayError
from assay.extensions.eqa.errors import UnreadableError
from assay.support.images import Orientation, orient
from assay.support.video import stills

_PLANAR = ("yuv420p", "yuv422p", "yuv444p", "nv12")
"""Formats in which luma has a plane of its own."""
_FULL_RANGE = 2
"""FFmpeg's number for luma that runs from 0 to 255."""
_FULL = np.clip((np.arange(256) - 16) * 255 / 219, 0, 255).round().astype(np.uint8).tobytes()
"""Luma as videos have it, from 16 to 235, to grey from 0 to 255."""


@dataclass(frozen=True, slots=True)
class VideoCamera:
    """A run of pictures in a video file."""

    path: Path
    start: float
    """When it begins, seconds."""
    fps: float
    orientation: Orientation = Orientation.UPRIGHT
    """Which way up its pictures lie; they are read upright."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """See `Camera`."""
        found: dict[int, np.ndarray] = {}
        try:
            for frame, picture in stills(self.path, frames, start=self.start, fps=self.fps):
                shown = _grey(picture) if grey else picture.to_ndarray(format="rgb24")
                found[frame] = orient(shown, self.orientation)
        except AssayError as error:
            raise UnreadableError(str(error)) from error
        return [found[frame] for frame in frames]


@dataclass(frozen=True, slots=True)
class StillsCamera:
    """Pictures that are each a JPEG or PNG file of their own, wherever it lies."""

    load: Callable[[], Sequence[bytes]]
    """Gives every picture of the episode, encoded."""

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        """See `Camera`."""
        files = self.load()
        pictures = []
        for frame in frames:
            try:
                with Image.open(io.BytesIO(files[frame])) as picture:
                    if grey:
                        picture.draft("L", None)  # a JPEG's colours are then never decoded
                    pictures.append(np.asarray(picture.convert("L" if grey else "RGB")))
            except (OSError, SyntaxError, IndexError, ValueError, Image.DecompressionBombError) as error:
                raise UnreadableError(f"frame {frame} is not a picture: {error}") from error
        return pictures


def _grey(picture: av.VideoFrame) -> np.ndarray:
    """A picture without its colours. To have FFmpeg convert it would cost more than to decode it."""
    if picture.format.name not in _PLANAR or picture.color_range == _FULL_RANGE:
        return np.asarray(picture.to_ndarray(format="gray"))
    plane = picture.planes[0]
    grey = bytes(plane).translate(_FULL)  # several times quicker than to index with an array
    return np.frombuffer(grey, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
