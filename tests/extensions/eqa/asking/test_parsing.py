from __future__ import annotations

import pytest

from assay.extensions.eqa.asking.parsing import lenient, letter
from assay.extensions.eqa.asking.prompts import Style
from assay.support.llm import Reply

DIRECT, STEPS = Style.DIRECT, Style.STEPS


@pytest.mark.parametrize(
    ("text", "style", "found"),
    [
        ("B", DIRECT, ("B", "")),
        (" C\n", DIRECT, ("C", "")),
        ("<answer>D</answer>", DIRECT, ("D", "")),
        ("It turns left. <answer> A </answer>", STEPS, ("A", "")),
        ("<answer>A</answer> so <answer>A</answer>", STEPS, ("A", "")),
        ("A", STEPS, ("A", "")),
        ("b", DIRECT, ("", "not one of the letters")),
        ("E", DIRECT, ("", "not one of the letters")),
        ("7", STEPS, ("", "not one of the letters")),
        ("B.", DIRECT, ("", "a letter with something around it")),
        ("**(c)**", STEPS, ("", "a letter with something around it")),
        ("The answer is B", DIRECT, ("", "more than a letter")),
        ("The answer is B", STEPS, ("", "no answer tag")),
        ("AB", DIRECT, ("", "more than a letter")),
        ("<answer>E</answer>", STEPS, ("", "not one of the letters")),
        ("<answer>AB</answer>", STEPS, ("", "not one of the letters")),
        ("<answer>A</answer><answer>B</answer>", STEPS, ("", "different answers")),
        ("<answer>B", STEPS, ("", "no answer tag")),
        ("", DIRECT, ("", "empty")),
        ("<html>A</html>", DIRECT, ("", "more than a letter")),
        ("A" * 5_000_000, STEPS, ("", "no answer tag")),
        ("<answer>" * 100_000, STEPS, ("", "no answer tag")),
    ],
)
def test_a_letter_is_found_only_where_none_has_to_be_guessed(text: str, style: Style, found: tuple[str, str]):
    assert letter(Reply(text, False), style) == found


def test_an_answer_that_was_cut_off_is_called_so():
    assert letter(Reply("First I look at", True), Style.STEPS) == ("", "cut off")
    assert letter(Reply("", True), Style.DIRECT) == ("", "cut off")
    assert letter(Reply("<answer>A</answer> and fur", True), Style.STEPS) == ("A", "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("B", "B"),
        ("b", "B"),
        ("B.", "B"),
        ("**B**", "B"),
        ("(c)", "C"),
        ("<answer>B.</answer>", "B"),
        ("<answer>(B)</answer>", "B"),
        ("<answer><|begin_of_box|>B<|end_of_box|></answer>", "B"),
        ("<think>A or C? No.</think>B", "B"),
        ("<think>A?</think>\n<answer>D</answer>", "D"),
        ("so \\boxed{C}", "C"),
        ("$\\boxed{\\text{A}}$", "A"),
        ("B) open the drawer", "B"),
        ("<answer>B: open the drawer</answer>", "B"),
        ("It moves left. The answer is B.", "B"),
        ("Final answer: **D**", "D"),
        ("Answer: B", "B"),
        ("Final Answer: B", "B"),
        ("ANSWER = C", "C"),
        ("**Answer:** (C)", "C"),
        ("The best option is (D), as it turns.", "D"),
        ("The answer would be option A.", "A"),
        ("The answer is B. A and C turn the wrong way.", "B"),
        ("I would rule out option D.", ""),
        ("I would rule out answer D.", ""),
        ("The answer is A or B", ""),
        ("The answer is C. Or rather, the answer is (A) or (B).", ""),
        ("The answer is a drawer", ""),
        ("", ""),
        ("A man opens the drawer", ""),
        ("A or B", ""),
        ("A. is wrong\nB. is right", ""),
        ("<answer>A</answer><answer>B</answer>", ""),
        ("I cannot say", ""),
        ("E", ""),
        ("<think>A" * 50_000, ""),
        ("\\boxed{" * 50_000, ""),
    ],
)
def test_a_lenient_reader_forgives_the_form_but_does_not_guess(text: str, found: str):
    assert lenient(text) == found


def test_what_was_blocked_is_called_so():
    assert letter(Reply("", False, blocked="SAFETY"), DIRECT) == ("", "blocked")
