from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from assay.support.streams import stream


def test_equal_keys_give_equal_numbers_in_another_process():
    script = "from assay.support.streams import stream; print(*stream(7, 'layout', 'plate_1').bytes(16))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [str(each) for each in stream(7, "layout", "plate_1").bytes(16)]


def test_the_numbers_are_those_of_all_versions():
    # A change here changes every sampled layout of every suite: never do it quietly.
    assert stream(7, "layout", "plate_1").random() == 0.7624016320937236


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("ab",)),
        (("a", "b"), ("b", "a")),
        (("a",), ("a", "")),
        ((), ("",)),
        ((1,), ("1",)),
        ((1, 2), (12,)),
        ((1,), (-1,)),
        ((0,), (2**64,)),
        (("i:1",), (1,)),
        (("s:1",), ("1",)),
        (("a", "b"), ("a\x1fs:b",)),
    ],
)
def test_different_keys_give_different_numbers(one: tuple[str | int, ...], other: tuple[str | int, ...]):
    assert stream(*one).bytes(16) != stream(*other).bytes(16)


def test_a_seed_from_an_array_is_the_same_number():
    assert stream(np.int64(7), "layout").random() == stream(7, "layout").random()  # type: ignore[arg-type]


def test_a_stream_does_not_depend_on_others_or_on_global_state():
    expected = stream(3, "x").random(4)
    np.random.seed(0)  # noqa: NPY002
    first, second = stream(3, "x"), stream(4, "x")
    interleaved = [(first.random(), second.random())[0] for _ in range(4)]
    assert interleaved == expected.tolist()


def test_first_numbers_of_neighbouring_seeds_are_uniform_and_unrelated():
    draws = np.array([stream(seed, "layout", name).random() for seed in range(400) for name in "ab"])
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    pairs = draws.reshape(-1, 2)
    for one, other in itertools.pairwise((*pairs.T, pairs[1:, 0])):
        size = min(len(one), len(other))
        assert abs(np.corrcoef(one[:size], other[:size])[0, 1]) < 0.2
