"""MP4 videos (H.264), written frame by frame or spliced from other videos without re-encoding.

A file gets its final name only once it is complete, so a killed run leaves no partial videos. Equal frames give equal
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assay.errors import AssayError
from assay.support.extras import require
from assay.support.files import replacing

if TYPE_CHECKING:
    import av
    from av.container import InputContainer, OutputContainer
    from av.video.stream import VideoStream

FPS = 20
"""Default frame rate: one frame per control step."""
JUMP = 48
"""Number of frames above which seeking is faster than decoding the frames in between."""
ENCODER = {
    "crf": "18",  # mean error of rendered scenes: 2 of 255, at 4 kB per frame of 256 x 256
    "bf": "0",  # frames are stored in temporal order, so that packets can be counted
    "threads": "1",  # the output of the encoder depends on their number
    "x264-params": "mbtree=0",  # the macroblock tree is not deterministic; without it, files are a fifth larger
}

QUICK = {"preset": "veryfast", "crf": "23"}
"""Encoder options for temporary preview videos."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A sequence of frames in a video."""

    path: Path
    first: int
    """Index of the first frame, from 0. Must be a key frame."""
    count: int


class VideoWriter:
    """Writer for frames of one size; a context manager.

    Every ``keyframes``-th frame is a key frame: small values make seeking fast, large values make files small. An
    odd width or height, which the format does not support, is padded by one pixel. ``quick`` encodes in a third of
    the time, for previews.
    """

    def __init__(
        self, path: Path, *, fps: int | Fraction = FPS, keyframes: int = FPS, quick: bool = False
    ) -> None:
        self._path = path
        self._fps = fps
        self._quick = quick
        self._keyframes = keyframes
        self._shape: tuple[int, ...] = ()
        self._file = ExitStack()
        self._container: OutputContainer
        self._stream: VideoStream

    def add(self, picture: np.ndarray) -> None:
        """Add the next frame: uint8, shape (height, width, 3), top row first."""
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise ValueError(
                f"expected a uint8 frame of shape (height, width, 3), got {picture.dtype} {picture.shape}"
            )
        if not self._shape:
            self._shape = picture.shape
            self._container = self._file.enter_context(_growing(self._path))
            options = ENCODER | {"g": str(self._keyframes)} | (QUICK if self._quick else {})
            self._stream = self._container.add_stream("libx264", rate=self._fps, options=options)
            self._stream.height, self._stream.width = (size + size % 2 for size in picture.shape[:2])
            self._stream.pix_fmt = "yuv420p"
        elif picture.shape != self._shape:
            raise ValueError(f"expected a frame of shape {self._shape}, got {picture.shape}")
        odd = [(0, size % 2) for size in picture.shape[:2]]
        frame = _av().VideoFrame.from_ndarray(np.pad(picture, [*odd, (0, 0)], mode="edge"), format="rgb24")
        self._container.mux(self._stream.encode(frame))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._shape:
            self._container.mux(self._stream.encode(None))
        self._file.__exit__(kind, error, trace)


def splice(clips: Iterable[Clip], path: Path, *, fps: int = FPS) -> None:
    """Concatenate clips into a new video. All clips must have the same size and frame rate."""
    tick = Fraction(1, fps)
    with _growing(path) as target:
        spliced: VideoStream | None = None
        written = 0
        for clip in clips:
            try:
                source: InputContainer = _open(clip.path)
            except _av().FFmpegError as error:
                raise AssayError(f"{clip.path} cannot be read as a video: {error.strerror}") from error
            with source:
                stream = source.streams.video[0]
                if spliced is None:
                    header = stream.codec_context.extradata
                    spliced = target.add_stream_from_template(stream, time_base=tick)
                elif stream.codec_context.extradata != header:
                    raise AssayError(f"{clip.path}: its encoding differs from that of the other clips")
                assert stream.time_base is not None
                start, end = clip.first * tick, written + clip.count
                source.seek(int(start / stream.time_base), stream=stream)
                for packet in source.demux(stream):
                    if packet.pts is None or packet.pts * stream.time_base < start:
                        continue
                    if written == end:
                        break
                    packet.stream, packet.time_base = spliced, tick
                    packet.pts = packet.dts = written
                    packet.duration = 1
                    target.mux_one(packet)
                    written += 1
                if written != end:
                    raise AssayError(f"{clip.path} ends before frame {clip.first + clip.count - 1}")


def stills(
    path: Path, frames: Sequence[int], *, start: float, fps: float
) -> Iterator[tuple[int, av.VideoFrame]]:
    """Yield the given frames of a video in order, with their numbers, counted from ``start`` seconds.

    Raises AssayError if a frame does not exist.
    """
    try:
        with _open(path) as file:
            stream = file.streams.video[0]
            stream.thread_type = "NONE"  # callers read several episodes in parallel
            tick = stream.time_base
            assert tick is not None
            zero = float((stream.start_time or 0) * tick)
            last = -JUMP - 1
            for frame in sorted(set(frames)):
                time = zero + start + frame / fps
                if frame - last > JUMP:
                    file.seek(int(time / tick), stream=stream)
                    pictures = file.decode(stream)
                for picture in pictures:
                    if picture.time is not None and picture.time > time - 0.5 / fps:
                        break
                else:
                    raise AssayError(f"{path.name} ends before frame {frame}")
                if picture.time > time + 0.5 / fps:
                    raise AssayError(f"frame {frame} is missing from {path.name}")
                last = frame
                yield frame, picture
    except (_av().FFmpegError, OSError, IndexError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AssayError(f"{path.name}: {reason}") from error


def _av() -> Any:
    """Return PyAV, imported on first use, because codecs load slowly and most commands do not need them."""
    require("video", "videos need PyAV")
    import av

    return av


def _open(path: Path) -> Any:
    # Tags that are not UTF-8 must not fail; from PyAV 19 on they never do, and the option is gone.
    av = _av()
    options = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
    return av.open(str(path), **options)


@contextmanager
def _growing(path: Path) -> Iterator[OutputContainer]:
    """Open a new file that gets its final name once it is complete, and is removed on failure."""
    # The index goes to the front, so that a browser can start playing at once. The bit rate is omitted: it would be
    # that of the first clip's file, and equal frames would not give equal files.
    options = {"movflags": "faststart", "write_btrt": "0"}
    with (
        replacing(path) as part,
        _av().open(str(part), "w", format="mp4", container_options=options) as container,
    ):
        yield container
