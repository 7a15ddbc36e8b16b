from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.question import QuestionError
from assay.extensions.eqa.sources import open_source
from assay.extensions.eqa.sources.rlds import RldsSource

from ..conftest import bridge_episode, droid_episode, picture, rt1_episode, walk

Write = Callable[..., Path]


def read(folder: Path, **options: object) -> tuple[RldsSource, list[SourceEpisode], Tally]:
    source, tally = open_source(str(folder), **options), Tally()  # type: ignore[arg-type]
    assert isinstance(source, RldsSource)
    return source, list(source.episodes(tally)), tally


@pytest.mark.parametrize(
    ("name", "make", "cameras", "hand"),
    [
        ("bridge_dataset", bridge_episode, 2, False),
        ("droid", droid_episode, 2, True),
        ("fractal", rt1_episode, 1, False),
    ],
)
def test_states_images_and_instructions_are_read(
    tfds: Write, name: str, make: Callable[..., dict[str, list]], cameras: int, hand: bool
):
    walks = [walk(seed, 6 + seed) for seed in range(3)]
    source, episodes, tally = read(tfds(name, [make(each, f"do {n}") for n, each in enumerate(walks)]))
    assert source.name == name and tally.counts == {"episodes found": 3}
    for number, (episode, states) in enumerate(zip(episodes, walks, strict=True)):
        assert episode.instruction == f"do {number}"
        assert np.allclose(episode.states, states, atol=1e-3)
        assert len(episode.exocentric) == cameras and (episode.egocentric is not None) == hand
        colour, grey = episode.exocentric[0].read([4, 1]), episode.exocentric[0].read([4], grey=True)
        assert np.abs(colour[0].astype(int) - picture(states[4])).mean() < 6 and grey[0].shape == (64, 64)
    assert (source.rules.levels == (ActionLevel.HIGH,)) == (name == "fractal")
    assert source.rules.thresholds[0] == (0.18 if name == "droid" else 0.1)


def test_bad_episodes_are_tallied_and_the_rest_is_read(tfds: Write):
    good, missing, short, wild = walk(0, 6), walk(1, 6), walk(2, 1), walk(3, 6)
    missing[2, 1] = np.nan
    wild[:, 6] *= 255
    ragged = bridge_episode(good, "ragged")
    ragged["steps/observation/state"].pop()
    made = [bridge_episode(each, "x") for each in (good, missing, short, wild, good)]
    _, episodes, tally = read(tfds("bridge", [*made, ragged]))
    assert len(episodes) == 2 and tally.counts == {
        "episodes found": 6,
        "episode: non-finite states": 1,
        "episode: fewer than two frames": 1,
        "episode: gripper values outside the data set's range": 1,
        "episode: cannot be read": 1,
    }
    assert "41 numbers cannot be divided into 6 steps" in tally.places["episode: cannot be read"][0]


def test_alternative_instructions_replace_an_empty_first_one(tfds: Write):
    made = [droid_episode(walk(seed, 4), text) for seed, text in enumerate(("one", "", "", ""))]
    for place, number, text in ((0, 2, b"not me"), (1, 2, b"two"), (2, 3, b"three")):
        made[place][f"steps/language_instruction_{number}"] = [text] * 4
    _, episodes, _ = read(tfds("droid", made))
    assert [each.instruction for each in episodes] == ["one", "two", "three", ""]


def test_the_gripper_scale_can_be_given(tfds: Write):
    states = walk(0, 6)
    loud = states.copy()
    loud[:, 6] *= 255
    _, episodes, _ = read(tfds("bridge", [bridge_episode(loud, "x")] * 2), gripper=(0.0, 255.0))
    assert len(episodes) == 2 and np.allclose(episodes[0].states, states, atol=1e-3)


def test_damage_is_found_by_checksums(tfds: Write):
    folder = tfds("bridge", [bridge_episode(walk(seed, 4), "x") for seed in range(6)])
    first, second = sorted(folder.rglob("*.tfrecord*"))
    content = bytearray(first.read_bytes())
    length = int.from_bytes(content[:8], "little") + 16
    content[length + 500] ^= 1  # in the second episode
    first.write_bytes(content)
    second.write_bytes(second.read_bytes()[:-100])  # the last one is cut off
    _, episodes, tally = read(folder)
    assert [episode.id.split("#")[1] for episode in episodes] == ["0", "2", "0", "1"]
    assert "is damaged" in tally.places["episode: cannot be read"][0]
    assert "ends in the middle" in tally.places["episode: cannot be read"][1]
    content[0] ^= 1
    first.write_bytes(content)
    with pytest.raises(QuestionError, match="not the beginning of an episode"):
        read(folder)


def test_unknown_data_sets_are_refused(tfds: Write, tmp_path: Path):
    folder = tfds("other", [{"steps/observation/pose": [1.0, 2.0]}] * 2)
    for path, options, words in (
        (folder, {}, "no schema matches the features"),
        (folder, {"schema": "droyd"}, "did you mean 'droid'"),
        (folder, {"schema": "rt1"}, "which the schema 'rt1' needs"),
        (tmp_path / "nothing", {}, "not a source; expected demo"),
    ):
        with pytest.raises(QuestionError, match=words):
            open_source(str(path), **options)
