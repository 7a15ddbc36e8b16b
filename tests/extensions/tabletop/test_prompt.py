from __future__ import annotations

from dataclasses import replace

import pytest

from assay.errors import TaskError
from assay.extensions.tabletop.prompt import Picture, Prompt, portrait
from assay.extensions.tabletop.scene import Item, TableScene
from assay.tasks import Instruction

A, BOWL = Item("a", "letter A", "tiger", 0.4, 0.1), Item("b", "bowl", "blue", 0.6, 0.1)
PROMPT = Prompt("Put {a} into {b}.", (("a", portrait(A)), ("b", portrait(BOWL))))


def test_words_and_pictures_are_read_in_their_order() -> None:
    words = [part if isinstance(part, str) else part.words for part in PROMPT.segments]
    assert words == ["Put", "tiger letter A", "into", "blue bowl", "."]


def test_a_prompt_is_an_instruction_that_can_be_worded_anew() -> None:
    assert isinstance(PROMPT, Instruction)
    assert replace(PROMPT, text="{b} should hold {a}.").words == "[blue bowl] should hold [tiger letter A]."


def test_a_placeholder_without_an_object_is_refused() -> None:
    with pytest.raises(
        TaskError, match=r"placeholder '\{bas\}' that stands for no object.*did you mean 'base'"
    ):
        Prompt("Put it into {bas}.", (("base", portrait(BOWL)),))


def test_a_prompt_that_says_nothing_has_no_segments() -> None:
    assert Prompt("").segments == ()


def test_a_placeholder_with_an_empty_picture_is_refused() -> None:
    with pytest.raises(
        TaskError, match=r"placeholder '\{a\}' that stands for no object: its picture is empty"
    ):
        Prompt("Put it into {a}.", (("a", Picture("object", TableScene(()))),))


@pytest.mark.parametrize("text", ["Put {a into it.", "Put a} into it.", "Put {a {a} into it."])
def test_a_brace_without_its_partner_is_refused(text: str) -> None:
    with pytest.raises(TaskError, match="a brace without its partner"):
        replace(PROMPT, text=text)


@pytest.mark.parametrize("name", ["", "a b", "A"])
def test_a_placeholder_that_is_no_name_of_a_picture_is_refused(name: str) -> None:
    with pytest.raises(TaskError, match=rf"placeholder '\{{{name}\}}' that stands for no object"):
        replace(PROMPT, text=f"Put {{{name}}} into it.")


def test_another_text_keeps_only_the_pictures_it_shows() -> None:
    assert PROMPT.saying("Turn {a}.") == Prompt("Turn {a}.", PROMPT.pictures[:1])
    assert PROMPT.placeholders == ("a", "b")
    with pytest.raises(TaskError, match=r"placeholder '\{c\}'"):
        PROMPT.saying("Turn {c}.")
