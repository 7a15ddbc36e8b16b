from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageFilter

from assay.extensions.eqa.actions import signs
from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.pairs import PreparedEpisode, image_flaw, key_frames, prepare_episode, sharpness
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import CameraView

from .conftest import Drawn, picture, walk

OUTSIDE = CameraView.parse("exo")


def grey(shot: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(shot).convert("L"))


def test_blurred_and_badly_lit_images_are_detected():
    shot = picture(walk(0)[0])
    assert image_flaw(grey(shot), NEAR) == ""
    blurred = np.asarray(Image.fromarray(shot).filter(ImageFilter.GaussianBlur(4)))
    assert (
        sharpness(grey(blurred)) < sharpness(grey(shot)) / 10 and image_flaw(grey(blurred), NEAR) == "blurred"
    )
    assert image_flaw(grey(shot // 8), NEAR) == "badly lit"
    assert image_flaw(grey(np.full_like(shot, 250)), NEAR) == "badly lit"


def test_key_frames_follow_motion_and_include_both_ends():
    states = np.repeat(walk(1, 12), 5, axis=0)  # the hand rests four frames out of five
    frames = key_frames(states, NEAR)
    assert frames[0] == 0 and frames[-1] == len(states) - 1 and (np.diff(frames) >= 5).all()
    assert key_frames(np.repeat(walk(1)[:1], 9, axis=0), NEAR).tolist() == [0, 8], "nothing moves"


def test_a_pair_needs_two_dimensions_beyond_their_thresholds(ready: list[PreparedEpisode]):
    for each in ready:
        assert (np.count_nonzero(signs(each.actions, NEAR.thresholds), axis=1) >= 2).all()
        assert (each.pairs[:, 0] < each.pairs[:, 1]).all()
    states = walk(2)
    states[:, 1:] = states[0, 1:]
    tally = Tally()
    alone = prepare_episode(SourceEpisode("one axis", "", states, (Drawn(states),)), NEAR, OUTSIDE, tally)
    assert alone is not None and not len(alone.pairs)
    assert (
        tally.counts["pair: trivial motion"] > 0
        and "one axis frames" in tally.places["pair: trivial motion"][0]
    )


def test_invisible_frames_and_pairs_are_tallied():
    states = walk(3)

    class Flickering(Drawn):
        def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
            return [
                shot // 9 if frame == 0 else shot
                for frame, shot in zip(frames, super().read(frames, grey=grey), strict=True)
            ]

    class Averted(Drawn):
        def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
            return super().read([0] * len(frames), grey=grey)

    tally = Tally()
    dark = prepare_episode(SourceEpisode("dark", "", states, (Flickering(states),)), NEAR, OUTSIDE, tally)
    assert dark is not None and 0 not in dark.frames and not dark.whole
    assert tally.counts["frame: badly lit"] == 1 and tally.places["frame: badly lit"] == ["dark frame 0"]
    away = prepare_episode(SourceEpisode("away", "", states, (Averted(states),)), NEAR, OUTSIDE, tally)
    assert away is not None and not len(away.pairs) and tally.counts["pair: images are nearly identical"] > 0
    assert not away.whole and tally.counts["episode: first and last image are nearly identical"] == 1


STATES = walk(0)
EPISODE = SourceEpisode("one", "", STATES, (Drawn(STATES), Drawn(STATES, 32)), Drawn(STATES))


def test_cameras_are_shown_side_by_side_at_one_height():
    for name, width in (("exo", 64), ("exo2", 128), ("ego", 64), ("both", 128)):
        view = CameraView.parse(name)
        (shot,) = view.images(EPISODE, [3])
        assert str(view) == name and shot.shape == (64, width, 3) and shot.dtype == np.uint8
