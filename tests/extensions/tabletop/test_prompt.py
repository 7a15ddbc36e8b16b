from __future__ import annotations

from dataclasses import replace

import pytest

from assay.errors import TaskError
from assay.extensions.tabletop.prompts.prompt import Picture, Prompt, portrait
from assay.extensions.tabletop.world.scene import TableItem, TableScene

A, BOWL = TableItem("a", "letter A", "tiger", 0.4, 0.1), TableItem("b", "bowl", "blue", 0.6, 0.1)
PROMPT = Prompt("Put {a} into {b}.", (("a", portrait(A)), ("b", portrait(BOWL))))


def test_words_and_pictures_are_read_in_their_order() -> None:
    words = [part if isinstance(part, str) else part.words for part in PROMPT.segments]
    assert words == ["Put", "tiger letter A", "into", "blue bowl", "."]


def test_invalid_placeholders_are_refused() -> None:
    with pytest.raises(TaskError, match=r"'\{bas\}' that stands for no object.*did you mean 'base'"):
        Prompt("Put it into {bas}.", (("base", portrait(BOWL)),))
    with pytest.raises(TaskError, match=r"'\{a\}' that stands for no object: its picture is empty"):
        Prompt("Put it into {a}.", (("a", Picture("object", TableScene(()))),))
    for text in ("Put {a into it.", "Put a} into it.", "Put {a {a} into it."):
        with pytest.raises(TaskError, match="a brace without its partner"):
            replace(PROMPT, text=text)
    for name in ("", "a b", "A"):
        with pytest.raises(TaskError, match=rf"placeholder '\{{{name}\}}' that stands for no object"):
            replace(PROMPT, text=f"Put {{{name}}} into it.")


def test_another_text_keeps_only_the_pictures_it_shows() -> None:
    assert PROMPT.saying("Turn {a}.") == Prompt("Turn {a}.", PROMPT.pictures[:1])
    assert PROMPT.placeholders == ("a", "b")
    with pytest.raises(TaskError, match=r"placeholder '\{c\}'"):
        PROMPT.saying("Turn {c}.")
