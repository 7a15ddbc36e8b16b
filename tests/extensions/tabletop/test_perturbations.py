from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from assay import tasks
from assay.episodes import Senses
from assay.errors import PerturbationError, TaskError
from assay.extensions.tabletop.prompts.perturbations import (
    Gobbledygook,
    OtherInstruction,
    PermutedObjects,
    PromptMask,
    PromptParaphrase,
    PromptPart,
    TablePerturbation,
    TextReferents,
    Unit,
    capitalise,
    read_fields,
)
from assay.extensions.tabletop.prompts.prompt import OPEN, TEMPLATES, WORDS, Picture, Prompt, portrait
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Difficulty, Level, Setting, TableTask
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.goals import PutGoal
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.perturb import Perturbation, Say, apply_perturbations
from assay.perturb.senses.images import Fog
from assay.perturb.words.rewordings.corrupted import sub_words, token_count

SYNONYMS = {
    "put": "put place set lay drop deposit insert stow store stick move bring carry transfer take lift pick grab",
    "rotate": "rotate turn spin pivot swivel twist revolve twirl degrees angle clockwise",
    "arrange": "arrange rearrange reposition reorder reorganize organise match recreate copy layout setup scene",
    "restore": "restore return undo reverse revert back original initial",
    "follow": "follow copy imitate repeat motion movement move guide",
    "stack": "stack pile tower build construct order sequence",
    "sweep": "sweep brush push shove move exceed cross touch contact limit boundary",
    "same": "same identical similar matching texture pattern look profile shape form outline",
    "first": "first then finally before previously next north south east west",
}
COMMANDS = {
    "T1": "put", "T2": "put", "T3": "rotate", "T4": "arrange", "T5": "arrange restore", "T6": "put", "T7": "put",
    "T8": "put", "T9": "rotate", "T10": "follow", "T11": "stack", "T12": "sweep", "T13": "sweep", "T14": "put same",
    "T15": "put same", "T16": "put first", "T17": "put restore first",
}  # fmt: skip
PROMPTS = 300
MIN_WORDINGS = 6


def words_of(text: str) -> list[str]:
    return [word for word in text.split() if "{" not in word]


def pictures_of(text: str) -> list[str]:
    return [word for word in text.split() if "{" in word]


def task_of(kind: str) -> TableTask:
    return make(Setting(kind, 0, KINDS[kind].levels[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_keeps_lengths_and_pictures_and_no_synonym_of_the_command(kind: str):
    """A synonym survives neither as a word nor as a sub-word, nor does any word of the prompt itself."""
    task = task_of(kind)
    before = task.prompt.text
    after = apply_perturbations(task, Gobbledygook(Unit.WORDS), seed=3).prompt.text
    assert Counter(map(len, words_of(before))) == Counter(map(len, words_of(after)))
    assert ["{" in word for word in before.split()] == ["{" in word for word in after.split()]
    assert pictures_of(before) == pictures_of(after) and re.fullmatch("[A-Za-z]+", "".join(words_of(after)))
    forbidden = {word for command in COMMANDS[kind].split() for word in SYNONYMS[command].split()}
    own_words = re.findall("[a-z]+", " ".join(words_of(before)).lower())
    forbidden |= {word for word in own_words if len(word) > 1}
    drawn = set()
    for seed in range(PROMPTS):
        text = apply_perturbations(task, Gobbledygook(Unit.TOKENS), seed=seed).prompt.text
        words = words_of(text)
        assert not forbidden.intersection(words), text
        assert not forbidden.intersection(sub_words(" ".join(words))), text
        drawn.update(words)
    assert len(drawn) > PROMPTS  # words come from a large vocabulary, not from a few
    assert sum(map(token_count, words_of(before))) == sum(map(token_count, words))
    assert pictures_of(before) == pictures_of(text) and len(words) >= len(words_of(before))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_leaves_the_other_modality_in_its_order(kind: str):
    task = task_of(kind)
    silent, blind = (
        apply_perturbations(task, PromptMask(part), seed=0).prompt
        for part in (PromptPart.LANGUAGE, PromptPart.VISUAL)
    )
    assert silent.segments == tuple(part for part in task.prompt.segments if isinstance(part, Picture))
    assert not blind.pictures and not blind.placeholders
    spoken = " ".join(part for part in task.prompt.segments if isinstance(part, str)).split()
    left = [word for word in (word.strip(".,:;") for word in spoken) if word]
    assert [word.strip(".,:;") for word in blind.text.split()] == left


def test_masked_prompts_read_well_and_ask_for_nothing():
    for kind, part, words in (
        ("T1", PromptPart.VISUAL, "Put the into the."),
        ("T11", PromptPart.VISUAL, "Stack objects in this order."),
        ("T6", PromptPart.INSTRUCTION, ""),
    ):
        changed = apply_perturbations(task_of(kind), PromptMask(part), seed=0)
        assert changed.prompt.words == words and changed.asked is None


TASK = make(Setting("T1", 0, difficulty=Difficulty.DISTRACTING))
COUNT = len(TASK.scene.items)


@pytest.fixture(scope="module")
def seen(drawing: str) -> list[TableObservation]:
    """Five observations of a table on which nothing happens."""
    world = TableSimulation(TASK.scene)
    observations = [world.observe()]
    for _ in range(4):
        world.step(action((0.5, 0.0), (0.5, 0.0)))
        observations.append(world.observe())
    return observations


def orders(seen: list[TableObservation], *, seed: int = 0, task: str = TASK.id) -> list[list[int]]:
    senses = Senses((PromptParaphrase(), PermutedObjects()), task=task, seed=seed)
    return [senses.observe(observation).objects("top").items.tolist() for observation in seen]


def test_the_order_of_objects_depends_on_seed_task_and_step_only(seen: list[TableObservation]):
    drawn = orders(seen)
    assert all(sorted(order) == list(range(COUNT)) for order in drawn)
    assert len({tuple(order) for order in drawn}) == len(drawn)
    assert orders(seen[::-1]) == drawn[::-1]
    assert orders(seen, seed=1) != drawn != orders(seen, task="tabletop/T2/L1")


def test_both_views_have_the_same_order_and_the_images_stay(seen: list[TableObservation]):
    permuted = Senses((PermutedObjects(),), task=TASK.id, seed=0).observe(seen[0])
    top, front, own = permuted.objects("top"), permuted.objects("front"), seen[0].objects("top")
    assert top.visible.all() and front.visible.all()
    assert top.items.tolist() == front.items.tolist() == list(permuted.order or ())
    assert own.items.tolist() == list(range(COUNT))
    assert np.array_equal(top.crops, own.crops[top.items]) and np.array_equal(top.boxes, own.boxes[top.items])
    assert np.array_equal(permuted.image("top"), seen[0].image("top"))


def with_other_instruction(kind: str, seed: int, level: Level = Level.L1) -> TableTask:
    return apply_perturbations(make(Setting(kind, seed, level)), OtherInstruction(), seed=seed)


def test_the_oracle_follows_another_instruction_about_the_same_object_and_then_stops():
    task = with_other_instruction("T1", 0)
    piece = task.scene.item("dragged_obj")
    assert task.prompt.text.startswith("Rotate the {dragged_obj} ")
    assert [name for name, _ in task.prompt.pictures] == ["dragged_obj"] and isinstance(task.asked, PutGoal)
    ((put,),) = task.asked.stages
    assert (put.item, put.x, put.y, put.turned) == ("dragged_obj", piece.x, piece.y, True)
    played = play(task, TableOracle())
    first, *rest = played.env.held
    assert not played.success and first == "dragged_obj" and not any(rest)


def test_another_instruction_about_a_sweep_keeps_the_count():
    own, task = make(Setting("T13", 0, Level.L4)), with_other_instruction("T13", 0, Level.L4)
    (count,) = read_fields(own)["count"]
    text = f"Sweep {count} {{swept_obj}} into {{bounds}} without exceeding {{constraint}}."
    assert task.prompt.text == text and task.asked is None


def test_objects_are_gathered_by_their_profile():
    goals = []
    for seed in range(12):
        task = with_other_instruction("T14", seed, Level.L4)
        assert task.prompt.text == "Put all objects with the same profile as {base_obj} into it."
        base = task.scene.item("base_obj").solid.profile
        movable = {item.name: item.solid.profile for item in task.scene.items if not item.fixed}
        alike = {name for name, profile in movable.items() if profile == base}
        if task.asked is None:
            assert not alike or not base
        else:
            assert isinstance(task.asked, PutGoal)
            assert {put.item for put in task.asked.stages[0]} == alike
            assert {*task.asked.bystanders, *alike} == set(movable)
            goals.append((task, alike))
    task, alike = next((task, alike) for task, alike in goals if task.asked != task.goal)
    played = play(task, TableOracle())
    assert not played.success and {name for name in played.env.held if name} == alike


def list_wordings(task: TableTask) -> Iterator[str]:
    """Every paraphrase of a task."""

    def fill(text: str) -> Iterator[str]:
        place = OPEN.search(text)
        for option in fields[place[1]] if place else ():
            yield from fill(text.replace(place[0], option))
        if place is None and (text := capitalise(text)) != task.prompt.text:
            yield text

    fields = {**WORDS, **read_fields(task)}
    for template in TEMPLATES[task.setting.task]:
        yield from fill(template)


@pytest.mark.parametrize("kind", KINDS)
def test_wordings_are_well_formed_and_keep_pictures_and_values(kind: str):
    for number, difficulty in enumerate((Difficulty.DEFAULT, Difficulty.EXTREME)):
        task = make(Setting(kind, number, KINDS[kind].levels[0], difficulty))
        values = [value for (value,) in read_fields(task).values()]
        wordings = list(list_wordings(task))
        assert len(set(wordings)) == len(wordings) >= MIN_WORDINGS and task.prompt.text not in wordings
        for text in wordings:
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", task.prompt.text)), text
            assert all(re.search(rf"\b{re.escape(value)}\b", text) for value in values), text
            assert re.fullmatch(r"[A-Z{][^<>]*\.", text), text
            assert not re.search(r"\s\s|\s[.,:;]|[.,:;][.,:;]|\. [a-z]|\b(\w+) \1\b", text), text


@pytest.mark.parametrize("kind", KINDS)
def test_a_paraphrase_depends_on_the_seed_and_keeps_the_goal(kind: str):
    task = task_of(kind)
    first, again = (
        [apply_perturbations(task, PromptParaphrase(), seed=seed) for seed in range(40)] for _ in range(2)
    )
    texts = [changed.prompt.text for changed in first]
    assert texts == [changed.prompt.text for changed in again]
    assert len(set(texts)) >= MIN_WORDINGS and set(texts) <= set(list_wordings(task))
    assert {changed.asked for changed in first} == {task.goal}
    assert {changed.prompt.pictures for changed in first} == {task.prompt.pictures}


def test_nonsense_cannot_be_paraphrased():
    task = apply_perturbations(make(Setting("T1", 0)), Gobbledygook(Unit.WORDS), seed=0)
    with pytest.raises(PerturbationError, match="tabletop/T1/L1: the prompt is not in its original wording"):
        apply_perturbations(task, PromptParaphrase(), seed=0)


@pytest.mark.parametrize("kind", TextReferents.only)
@pytest.mark.parametrize("reworded", [False, True])
def test_text_referents_name_every_object_and_show_none(kind: str, reworded: bool):
    level = Level.L4 if kind in ("T13", "T14") else Level.L1
    for seed in range(12):
        task = make(Setting(kind, seed, level, Difficulty.EXTREME if seed % 2 else Difficulty.DEFAULT))
        task = apply_perturbations(task, PromptParaphrase(), seed=seed) if reworded else task
        changed = apply_perturbations(task, TextReferents(), seed=seed)
        assert changed.asked == task.goal and not changed.prompt.pictures
        text = changed.prompt.words
        assert re.fullmatch(r"[A-Z][^{}\[\]]*\.", text), text
        assert not re.search(r"\b(\w+) \1\b|\. [a-z]|grey", text), text
        for _, picture in task.prompt.pictures:
            assert picture.scene.items[0].shape in text, text


def test_text_referents_have_articles_and_plurals():
    task = make(Setting("T16", 0))
    first, base = task.scene.item("dragged_obj").words, task.scene.item("base_obj").words
    text = apply_perturbations(task, TextReferents(), seed=0).prompt.text
    assert text.startswith(f"First put the {first} into the {base} then put the object ")
    assert text.endswith(f" into the same {base}.")
    pieces = portrait(TableItem("x", "cross", "red", 0.5, 0.0))
    for count, name in (("one", "one red cross"), ("two", "two red crosses"), ("all", "all red crosses")):
        task = make(Setting("T12", 0))
        pictures = {**dict(task.prompt.pictures), "swept_obj": pieces}
        sweep = re.sub(r"^Sweep \w+", f"Sweep {count}", task.prompt.text)
        object.__setattr__(task, "prompt", Prompt(sweep, tuple(pictures.items())))
        assert f"Sweep {name} into the " in apply_perturbations(task, TextReferents(), seed=0).prompt.text


PROMPT_CHANGES: tuple[TablePerturbation, ...] = (
    PromptParaphrase(),
    *(Gobbledygook(unit) for unit in Unit),
    *(PromptMask(part) for part in PromptPart),
    TextReferents(),
    OtherInstruction(),
)


@pytest.mark.parametrize("value", [*PROMPT_CHANGES, PermutedObjects(), Say("put it there"), Fog(3)], ids=repr)
def test_a_perturbation_of_another_world_is_rejected(value: Perturbation):
    table = value.world == "tabletop"
    task = tasks.load("libero_goal/0") if table else task_of("T1")
    with pytest.raises(
        PerturbationError, match=rf"^{value.kind} applies to tasks of the world '{value.world}'.*{task.id}"
    ):
        apply_perturbations(task, value, seed=0)


@pytest.mark.parametrize("value", PROMPT_CHANGES, ids=repr)
def test_scene_and_goal_stay_and_unsupported_tasks_are_rejected(value: TablePerturbation):
    for task in map(task_of, KINDS):
        if value.concerns(task.setting.task):
            changed = apply_perturbations(task, value, seed=0)
            assert (changed.scene, changed.goal, changed.setting) == (task.scene, task.goal, task.setting)
            assert changed == apply_perturbations(task, value, seed=0)
        else:
            with pytest.raises(
                PerturbationError, match=rf"^{value.kind} applies only to T1, .*not to {task.id}"
            ):
                apply_perturbations(task, value, seed=0)


@pytest.mark.parametrize(
    "value", [*(each for each in PROMPT_CHANGES if each.concerns("T3")), PermutedObjects()], ids=repr
)
def test_the_oracle_acts_if_and_only_if_the_task_is_still_specified(value: Perturbation):
    task = task_of("T3")
    played = play(apply_perturbations(task, value, seed=0), TableOracle(), perturbations=(value,))
    if value.plausible:
        assert played.flawless
    else:
        assert not played.success and not any(played.env.held)


A, BOWL = TableItem("a", "letter A", "tiger", 0.4, 0.1), TableItem("b", "bowl", "blue", 0.6, 0.1)
PROMPT = Prompt("Put {a} into {b}.", (("a", portrait(A)), ("b", portrait(BOWL))))


def test_invalid_placeholders_are_refused() -> None:
    with pytest.raises(TaskError, match=r"'\{bas\}' without an image.*did you mean 'base'"):
        Prompt("Put it into {bas}.", (("base", portrait(BOWL)),))
    with pytest.raises(TaskError, match=r"'\{a\}' without an image: expected an image"):
        Prompt("Put it into {a}.", (("a", Picture("object", TableScene(()))),))
    for text in ("Put {a into it.", "Put a} into it.", "Put {a {a} into it."):
        with pytest.raises(TaskError, match="an unmatched brace"):
            replace(PROMPT, text=text)
    for name in ("", "a b", "A"):
        with pytest.raises(TaskError, match=rf"placeholder '\{{{name}\}}' without an image"):
            replace(PROMPT, text=f"Put {{{name}}} into it.")


def test_another_text_keeps_only_the_pictures_it_shows() -> None:
    assert PROMPT.saying("Turn {a}.") == Prompt("Turn {a}.", PROMPT.pictures[:1])
    assert PROMPT.placeholders == ("a", "b")
    with pytest.raises(TaskError, match=r"placeholder '\{c\}'"):
        PROMPT.saying("Turn {c}.")
