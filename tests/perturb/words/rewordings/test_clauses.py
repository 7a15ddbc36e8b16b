from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.rewordings.clauses import Step, parse, pronoun, said, that_is
from assay.perturb.words.rewordings.verbs import VERBS
from assay.tasks import bddl


@pytest.mark.parametrize("id", tasks.all_ids())
def test_every_built_in_instruction_is_read_and_said_again(id: str):
    text = tasks.load(id).instruction.text
    assert said(parse(text)) == text


def test_it_is_spelled_out():
    stove, pot = parse("turn on the stove and put the moka pot on it")
    assert stove == Step(VERBS["turn on"], "the stove")
    assert pot == Step(VERBS["put"], "the moka pot", "on", "the stove", again=True)
    _, close = parse("put the mug in the microwave and close it")
    assert close.thing == "the microwave"
    (book,) = parse("pick up the book and place it in the caddy")
    assert book == Step(VERBS["place"], "the book", "in", "the caddy", fetch=VERBS["pick up"], again=True)
    assert parse("open the top drawer and put the bowl inside")[1].target == "the top drawer"


def test_things_may_be_joined_by_and():
    (both,) = parse("put both the soup and the tomato sauce in the basket")
    assert both.thing == "both the soup and the tomato sauce" and pronoun(both.thing) == "them"
    assert pronoun("the bowl between the plate and the mug") == "it"


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Turn the stove on.", "turn on the stove"),
        ("pick the mug up", "pick up the mug"),
        (
            "close the drawer, then put the bowl on the plate",
            "close the drawer and put the bowl on the plate",
        ),
        ("place the book upright on top of the shelf", "place the book upright on top of the shelf"),
    ],
)
def test_other_ways_to_say_it_are_understood(text: str, again: str):
    assert said(parse(text)) == again


def test_the_instructions_of_other_benchmarks_are_read(shared: Path):
    files = sorted((shared / "libero_x" / "bddl").glob("LEVEL*/*.bddl"))
    assert len(files) == 32
    for file in files:
        text = bddl.read(file).instruction.text
        assert said(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stelle die Schüssel auf den Herd", "begins with none of the verbs it knows: put, place"),
        ("put the bowl", "does not say where to put it"),
        ("put the bowl on", "does not say where to put it"),
        ("put", "begins with none"),
        ("x" * 10_000, "begins with none"),
    ],
)
def test_what_is_no_request_is_refused_in_one_line(text: str, words: str):
    with pytest.raises(PerturbationError) as caught:
        parse(text)
    assert words in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_place_becomes_a_clause_unless_it_is_where_from():
    assert that_is("the bowl on the stove") == "the bowl that is on the stove"
    assert that_is("the bowl from table center") == "the bowl from table center"
    assert that_is("the bowl") == "the bowl"
