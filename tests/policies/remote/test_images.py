from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.support.images import Orientation, letterbox, orient
from assay.support.streams import stream

UPRIGHT = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def test_a_rotated_raw_image_is_the_mirror_image_of_an_upright_one():
    raw = UPRIGHT[::-1]
    assert np.array_equal(orient(UPRIGHT, Orientation.RAW), raw)
    assert np.array_equal(orient(UPRIGHT, Orientation.ROTATED), np.rot90(raw, 2))
    assert np.array_equal(orient(UPRIGHT, Orientation.UPRIGHT), UPRIGHT)


def theirs_and_ours(
    raw: dict[str, np.ndarray], size: int, python: Path, peer: Callable[..., str], folder: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    np.savez(folder / "raw.npz", **raw)
    peer(python, "openpi_peer.py", "resize", folder / "raw.npz", folder / "theirs.npz", str(size))
    theirs = np.load(folder / "theirs.npz")
    return [
        (theirs[name], letterbox(orient(picture[::-1], Orientation.ROTATED), size, size))
        for name, picture in raw.items()
    ]


def test_a_server_sees_the_pixels_that_the_real_openpi_client_would_send(
    openpi_python: Path, peer: Callable[..., str], tmp_path: Path
):
    draws = stream(0, "pictures")
    sizes = ((256, 256), (224, 224), (128, 128), (480, 640), (90, 31))
    raw = {f"p{h}x{w}": draws.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in sizes}
    for theirs, ours in theirs_and_ours(raw, 224, openpi_python, peer, tmp_path):
        assert theirs.shape == (224, 224, 3) and np.array_equal(theirs, ours)


def test_scaling_keeps_the_aspect_ratio():
    framed = letterbox(np.full((50, 100, 3), 200, dtype=np.uint8), 80, 80)
    assert framed.shape == (80, 80, 3)
    assert (framed[20:60] == 200).all() and (framed[:20] == 0).all() and (framed[60:] == 0).all()
