from __future__ import annotations

from assay.web.difference import Piece, difference


def test_words_that_went_and_came_are_told_from_those_that_stayed():
    assert difference("put the bowl on the stove", "Put the basin on the stove") == (
        Piece("same", "Put the"),
        Piece("gone", "bowl"),
        Piece("new", "basin"),
        Piece("same", "on the stove"),
    )


def test_the_same_words_are_one_piece():
    assert difference("turn it on", "turn it on") == (Piece("same", "turn it on"),)


def test_endless_texts_are_not_compared():
    assert [piece.kind for piece in difference("a " * 10_000, "b " * 10_000)] == ["gone", "new"]
