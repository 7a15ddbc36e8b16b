from __future__ import annotations

from assay.extensions.eqa.asking.answers import parse_leniently, parse_letter
from assay.extensions.eqa.asking.prompts import Style
from assay.support.llm.protocols import Reply

DIRECT, STEPS = Style.DIRECT, Style.STEPS
STRICT = {
    ("B", ""): [("B", DIRECT), (" B\n", DIRECT), ("<answer>B</answer>", DIRECT), ("B", STEPS)],
    ("A", ""): [
        ("It turns left. <answer> A </answer>", STEPS),
        ("<answer>A</answer> so <answer>A</answer>", STEPS),
    ],
    ("", "not one of the letters"): [
        *(("b", DIRECT), ("E", DIRECT), ("7", STEPS)),
        *(("<answer>E</answer>", STEPS), ("<answer>AB</answer>", STEPS)),
    ],
    ("", "a letter with other characters"): [("B.", DIRECT), ("**(c)**", STEPS)],
    ("", "more than a letter"): [("The answer is B", DIRECT), ("AB", DIRECT), ("<html>A</html>", DIRECT)],
    ("", "different answers"): [("<answer>A</answer><answer>B</answer>", STEPS)],
    ("", "no answer tag"): [
        *(("The answer is B", STEPS), ("<answer>B", STEPS)),
        *(("A" * 5_000_000, STEPS), ("<answer>" * 100_000, STEPS)),
    ],
    ("", "empty"): [("", DIRECT)],
}
LENIENT = {
    "A": ["$\\boxed{\\text{A}}$", "The answer would be option A."],
    "B": [
        *("B", "b", "B.", "**B**", "B) open the drawer", "Answer: B", "Final Answer: B"),
        *("<answer>B.</answer>", "<answer>(B)</answer>", "<answer>B: open the drawer</answer>"),
        *("<answer><|begin_of_box|>B<|end_of_box|></answer>", "<think>A or C? No.</think>B"),
        *("It moves left. The answer is B.", "The answer is B. A and C turn the wrong way."),
    ],
    "C": ["(c)", "so \\boxed{C}", "ANSWER = C", "**Answer:** (C)"],
    "D": [
        *("<think>A?</think>\n<answer>D</answer>", "Final answer: **D**"),
        "The best option is (D), as it turns.",
    ],
    "": [
        *("I would rule out option D.", "I would rule out answer D.", "The answer is A or B"),
        "The answer is C. Or rather, the answer is (A) or (B).",
        *("The answer is a drawer", "", "A man opens the drawer", "A or B", "I cannot say", "E"),
        *("A. is wrong\nB. is right", "<answer>A</answer><answer>B</answer>"),
        *("<think>A" * 50_000, "\\boxed{" * 50_000),
    ],
}


def test_strict_parsing_never_guesses_a_letter():
    for expected, cases in STRICT.items():
        for text, style in cases:
            assert parse_letter(Reply(text, False), style) == expected, text[:80]


def test_lenient_parsing_ignores_the_form_but_never_guesses():
    for expected, texts in LENIENT.items():
        for text in texts:
            assert parse_leniently(text) == expected, text[:80]


def test_truncated_and_blocked_replies_are_reported_as_such():
    assert parse_letter(Reply("First I look at", True), STEPS) == ("", "cut off")
    assert parse_letter(Reply("", True), DIRECT) == ("", "cut off")
    assert parse_letter(Reply("<answer>A</answer> and fur", True), STEPS) == ("A", "")
    assert parse_letter(Reply("", False, blocked="SAFETY"), DIRECT) == ("", "blocked")
