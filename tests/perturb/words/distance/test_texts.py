from __future__ import annotations

import pytest

from assay.perturb.words.distance.pride import DistanceError
from assay.perturb.words.distance.scorer import MOST_CHARACTERS, check_text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the paraphrase is empty"),
        (" \t\n", "the paraphrase is empty"),
        (None, "must be text, not NoneType"),
        ("x" * 10_000, "has 10000 characters: at most 2000"),
        ("turn on\x00 the stove", r"a control character \(U\+0000\) at place 8"),
        ("turn on\nthe stove", r"a control character \(U\+000A\) at place 8"),
        ("\x1b[31mturn on", r"\(U\+001B\) at place 1"),
        ("turn on the st\u200bove", r"an invisible character \(U\+200B\) at place 15"),
        ("turn on \ud83d", r"half a surrogate pair \(U\+D83D\) at place 9"),
    ],
)
def test_what_cannot_be_parsed_is_refused_in_one_line(text: object, message: str):
    with pytest.raises(DistanceError, match=message) as refused:
        check_text(text, "the paraphrase")
    assert "\n" not in str(refused.value) and str(refused.value).isprintable()


@pytest.mark.parametrize("text", ["turn on the stove", "l'étagère", "打开炉子", "🤖", "x" * MOST_CHARACTERS])
def test_other_text_passes(text: str):
    check_text(text, "the paraphrase")
