"""What can be known about the options of a question without seeing what it is about.

Of each option: its text's length, words and figures, how near it is to the other options, and how it compares
with them; and the question's own words and figures. Not where it stands: letters are dealt in equal numbers,
so that those that were right less often where a probe learns are right more often elsewhere. Of an option
that is a picture: how bright, how sharp, how large a file, how unlike the others, and how unlike the picture
before: the last moment of an episode is the farthest from the first. But then nothing of the question's text,
for to match words with pictures is what is asked, and no leak.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image

from assay.extensions.eqa.quality import sharpness
from assay.extensions.eqa.question import LETTERS, Question

MOST_WORDS = 150
MOST_FIGURES = 8
_FIGURE = re.compile(r"[-+]?\d+(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+")


def clues(questions: Sequence[Question], folder: Path) -> np.ndarray:
    """Features of every option of every question, (questions, 4, n)."""
    vocabulary = _vocabulary(questions)
    return np.stack([_of_question(question, folder, vocabulary) for question in questions])


def _of_question(question: Question, folder: Path, vocabulary: Sequence[str]) -> np.ndarray:
    if question.option_pictures:
        own = np.array([_seen(folder / name) for name in question.option_pictures])
        small = np.array([_thumbnail(folder / name).ravel() for name in question.option_pictures])
    else:
        own = np.array([_read(option, vocabulary) for option in question.options])
        small = own
    gaps = np.linalg.norm(small[:, None] - small[None], axis=-1)
    nearness = np.column_stack([gaps.sum(axis=1), (gaps + np.diag([np.inf] * len(LETTERS))).min(axis=1)])
    mine = np.column_stack([own, nearness])
    if question.option_pictures:
        before = _thumbnail(folder / question.pictures[0]).ravel()
        mine = np.column_stack([mine, np.linalg.norm(small - before, axis=1)])
    against = mine - mine.mean(axis=0)
    order = np.argsort(np.argsort(mine, axis=0, kind="stable"), axis=0)
    known = [mine, against, order]
    if not question.option_pictures:
        known.append(np.tile(_read(question.text, vocabulary), (len(LETTERS), 1)))
    return np.column_stack(known)


def _read(text: str, vocabulary: Sequence[str]) -> np.ndarray:
    """Length, words and figures of a text."""
    words = Counter(_words(text))
    figures = [float(each) for each in _FIGURE.findall(text)][:MOST_FIGURES]
    figures += [0.0] * (MOST_FIGURES - len(figures))
    sizes = np.abs(figures)
    counts = [
        len(text),
        sum(words.values()),
        sum(value < 0 for value in figures),
        sum(value == 0 for value in figures),
    ]
    return np.array(
        [*counts, *figures, *sizes, sizes.sum(), sizes.max(), *(words[word] for word in vocabulary)]
    )


def _vocabulary(questions: Sequence[Question]) -> list[str]:
    """The words and pairs of words that occur in more than one question, the most frequent."""
    seen = Counter(
        word for question in questions for word in set(_words(" ".join((*question.options, question.text))))
    )
    everywhere = len(questions)
    found = [word for word, count in seen.most_common() if 1 < count < everywhere]
    return sorted(found[:MOST_WORDS])


def _words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return words + [f"{one} {two}" for one, two in pairwise(words)]


@lru_cache(maxsize=50_000)
def _seen(path: Path) -> tuple[float, ...]:
    """Brightness, contrast, sharpness and size of a picture's file."""
    grey = np.asarray(Image.open(path).convert("L"))
    return float(grey.mean()), float(grey.std()), sharpness(grey), float(path.stat().st_size)


@lru_cache(maxsize=50_000)
def _thumbnail(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L").resize((16, 8)), dtype=np.float64)
