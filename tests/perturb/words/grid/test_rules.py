from __future__ import annotations

import pytest

from assay import tasks
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow


def rules(id: str, types: str, text: str, original: str | None = None) -> set[str]:
    """The rules that a paraphrase breaks, with the reasons."""
    object_type, action_type = types.split()
    said = tasks.load(id).instruction.text if original is None else original
    row = GridRow(2, id, object_type, action_type, said, text)
    return {f"{fault.rule}: {fault.reason}" for fault in verify([row])}


@pytest.mark.parametrize(
    ("id", "types", "text"),
    [
        ("libero_goal/1", "habitual none", "put the bowl on the range"),
        ("libero_goal/1", "none addition", "put the bowl on the stove cheerfully"),
        ("libero_goal/1", "none habitual", "plonk the bowl down on the stove"),
        ("libero_goal/1", "none question", "can the bowl be put on the stove?"),
        ("libero_goal/9", "addition none", "put the wine bottle on the wine rack"),
        ("libero_goal/7", "none embedded", "Can you turn the stove on?"),
        ("libero_goal/1", "contextual none", "put the container on the cooking surface"),
        ("libero_goal/1", "none contextual", "place the bowl on the stove"),
        ("libero_goal/1", "none hint", "The stove surface is now clear for the bowl."),
        ("libero_goal/1", "none permission", "Would it be possible for me to have the bowl on the stove?"),
        ("libero_goal/0", "none question", "Can you tell me what is in the middle drawer of the cabinet?"),
        ("libero_goal/3", "none need", "My requirement is for the bowl to be inside the open top drawer"),
        ("libero_goal/3", "habitual none", "open the top receptacle and put the basin inside"),
        ("libero_goal/2", "addition none", "put the bottle on top of the cabinet"),
        ("libero_goal/6", "none contextual", "add the cream cheese to the bowl"),
        ("libero_object/7", "habitual none", "pick up the milk carton and place it in the basket"),
    ],
)
def test_good_paraphrases_pass_although_the_generator_never_said_them(id: str, types: str, text: str) -> None:
    assert rules(id, types, text) == set()


@pytest.mark.parametrize(
    ("id", "types", "text", "fault"),
    [
        ("libero_goal/8", "habitual none", "put the dish on the plate", "scene: 'dish' could mean the bowl"),
        ("libero_goal/2", "contextual none", "put the vessel on top of the cabinet", "scene: 'vessel'"),
        ("libero_goal/1", "none habitual", "place the basin on the stove", "object: 'bowl' is missing"),
        ("libero_goal/1", "habitual none", "put the mixing bowl on the stove", "object: 'mixing' qualifies"),
        ("libero_goal/1", "addition none", "put the small bowl on the stove", "object: 'small' is a visual"),
        ("libero_goal/1", "addition hint", "the bowl is not on the stove yet", "object: no name has changed"),
        ("libero_goal/1", "habitual none", "put the bowl on the burner", "object: 'burner' is a contextual"),
        ("libero_goal/1", "habitual none", "place the basin on the stove", "action: more than the names"),
        ("libero_goal/1", "none addition", "place the bowl on the stove", "action: it contains no manner"),
        ("libero_goal/1", "none habitual", "position the bowl on the stove", "action: 'position' is a"),
        ("libero_goal/1", "habitual habitual", "put the basin on the stove", "action: no verb has changed"),
        ("libero_goal/1", "none coordination", "put the bowl on the stove now", "action: it contains no"),
        ("libero_goal/1", "habitual subordination", "put the bowl on the range", "action: it contains no"),
        ("libero_goal/1", "none need", "the bowl is not on the stove yet", "action: it does not express a"),
        ("libero_goal/1", "none embedded", "is the bowl put on the stove?", "action: it does not ask the"),
        ("libero_goal/1", "none permission", "could you put the bowl on the stove?", "action: it does not"),
        ("libero_goal/1", "none question", "could you put the bowl on the stove?", "action: it requests the"),
        ("libero_goal/1", "none hint", "place the bowl on the stove", "action: it is a command"),
        ("libero_goal/1", "none hint", "there is an spot for the bowl on the stove", "grammar: 'an spot'"),
        ("libero_10/8", "habitual none", "put both coffee maker on the stove", "number: 'coffee maker' is"),
        ("libero_goal/0", "none need", "I need the drawer of the cabinet open", "reference: 'middle', which"),
        ("libero_goal/1", "none hint", " ", "text: it is empty"),
        (
            "libero_goal/1",
            "none hint",
            "the bowl\tis not on the stove",
            "text: it contains control characters",
        ),
        ("libero_goal/1", "none hint", "the bowl is not on the stove " * 50, "text: it has 14"),
        (
            "libero_goal/1",
            "none habitual",
            "Put the bowl on the stove.",
            "text: it is the same as the original",
        ),
        ("libero_goal/1", "none hnt", "the bowl is not on the stove", "cell: there is no action type 'hnt'"),
    ],
)
def test_a_broken_rule_is_named(id: str, types: str, text: str, fault: str) -> None:
    found = rules(id, types, text)
    assert any(each.startswith(fault) for each in found), found


def test_a_row_of_an_unknown_task_or_another_original_is_rejected() -> None:
    found = rules("libero_goal/1", "none hint", "x", original="put the bowl on the plate")
    assert found == {
        "task: the original of libero_goal/1 is 'put the bowl on the stove', not 'put the bowl on the plate'"
    }
    row = GridRow(2, "libero_goal/99", "none", "hint", "x", "y")
    (fault,) = verify([row])
    assert fault.rule == "task" and "libero_goal/0 to libero_goal/9" in fault.reason


def test_a_text_that_comes_twice_is_found_whatever_its_case() -> None:
    texts = ("the bowl goes on the stove", "The bowl goes  on the stove")
    rows = [
        GridRow(number, "libero_goal/1", "none", "hint", "put the bowl on the stove", text)
        for number, text in enumerate(texts, start=2)
    ]
    assert ("unique", "it is also on line 2") in {(each.rule, each.reason) for each in verify(rows)}
