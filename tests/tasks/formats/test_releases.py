from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay import tasks
from assay.perturb.words.grid.cells import CELLS
from assay.tasks import Instruction, bddl
from assay.tasks.formats import ReleaseError, ReleaseWording
from assay.tasks.formats import libero_para as para
from assay.tasks.formats import libero_plus as plus
from assay.tasks.formats import libero_pro as pro
from assay.tasks.formats import libero_x as x


def read_metadata(folder: Path) -> tuple[para.PublishedParaphrase, ...]:
    return para.read_metadata(folder / "metadata.csv")


READERS: dict[str, Callable[[Path], object]] = {
    "para tasks": para.read_tasks,
    "pro": pro.wordings,
    "x": x.read,
    "plus": plus.wordings,
    "plus classification": plus.read_classification,
}


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def language_file(file: Path, id: str, text: str) -> Path:
    task = tasks.load(id)
    return write(file, bddl.write(replace(task, instruction=Instruction(text))))


def test_the_metadata_of_libero_para_is_read(shared: Path):
    found = read_metadata(shared / "libero_para")
    assert len(found) == 2021
    assert {each.types for each in found} == {
        (str(cell.object_type), str(cell.action_type)) for cell in CELLS
    }
    assert found[0].new_instruction == "gently open the middle drawer of the cabinet"
    assert found[0].structural_similarity == pytest.approx(14 / 15)


def test_the_language_table_of_libero_pro_is_read(shared: Path):
    found = pro.wordings(shared / "libero_pro")
    assert Counter(each.task for each in found) == dict.fromkeys(tasks.all_ids(), 3)
    assert ReleaseWording("libero_goal/7", "switch on the stove", {"number": 0}) in found
    # Written without quotation marks, so that YAML takes it for a mapping.
    assert "set mugs: white on left plate, yellow-white on right plate" in {each.text for each in found}


def test_level_5_of_libero_x_is_read(shared: Path):
    found = x.read(shared / "libero_x").wordings
    assert Counter(each.labels["form"] for each in found) == dict.fromkeys(x.FORMS.values(), 60)
    assert found[0] == ReleaseWording(
        "libero_x/1/A1",
        "lay down the pink soup bowl over the serving plate",
        {"form": "synonym", "number": 1, "file": None},
    )
    files = {each.task: each.labels["file"] for each in found if each.labels["file"]}
    assert files == {
        "libero_x/11/A1": "EXTENSION_KITCHEN_SCENE2_LEVEL4__T11__A1_place_the_teal_bowl_on_the_plate"
    }
    assert all(each.text == each.text.strip() for each in found)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{}", "task_desc: field required"),
        (b'{"task_desc": "x", "variant": "B", "task_id": "1"}', "variant: input should be '', 'A1' or 'A2'"),
        (b"\xff\xfe\x00\x01" * 50, "is not a UTF-8 text file"),
    ],
)
def test_rewordings_of_libero_x_that_cannot_be_read_are_kept_apart(
    content: bytes, reason: str, shared: Path, tmp_path: Path
):
    for name in ("bddl", "LEVEL5"):
        shutil.copytree(shared / "libero_x" / name, tmp_path / name)
    (tmp_path / "LEVEL5" / "L5-1.jsonl").write_bytes(content)
    found = x.read(tmp_path)
    assert len(found.wordings) == 4 * 60
    (bad,) = found.unreadable
    assert bad.level == 5 and "L5-1.jsonl" in bad.what and bad.reason.startswith(reason)


def test_the_classification_of_libero_plus_is_read(shared: Path):
    found = plus.read_classification(shared / "libero_plus")
    assert len(found) == 240 and sum(each.language is not None for each in found) == 49
    assert all((each.category == plus.LANGUAGE) == (each.language is not None) for each in found)
    first = found[0]
    assert (first.task, first.suffix, first.difficulty) == ("libero_spatial/0", "_table_17", 1)


def test_the_language_files_of_libero_plus_are_read_and_no_suffix_leaks(shared: Path):
    wordings = plus.wordings(shared / "libero_plus")
    assert Counter(each.task for each in wordings) == {
        "libero_spatial/0": 1,
        "libero_spatial/7": 1,
        "libero_goal/4": 1,
    }
    assert {each.labels["number"] for each in wordings} == {19, 31, 32}
    for text in (each.text for each in wordings):
        assert "_" not in text and not any(character.isdigit() for character in text)


def test_a_checkout_of_libero_para_has_its_files_in_place(tmp_path: Path):
    folder = tmp_path / "libero" / "libero" / "bddl_files" / "libero_para"
    language_file(folder / "act_pragmatical_hint_eval0_ver3.bddl", "libero_goal/0", "the drawer is shut")
    name = "comp_lexical+structural_same_polarity_habitual+coordination_eval4_ver12.bddl"
    language_file(folder / name, "libero_goal/1", "take the basin and put it on the range")
    assert para.read_tasks(tmp_path) == (
        ReleaseWording(
            "libero_goal/0",
            "the drawer is shut",
            {"object_type": "none", "action_type": "hint", "number": 3},
        ),
        ReleaseWording(
            "libero_goal/1",
            "take the basin and put it on the range",
            {"object_type": "habitual", "action_type": "coordination", "number": 12},
        ),
    )


def test_a_checkout_of_libero_plus_has_its_files_in_place(tmp_path: Path):
    name = "turn_on_the_stove_language_4"
    entry = {"id": 1, "name": f"{name}_view_0_0_100_0_0_initstate_0", "category": plus.LANGUAGE}
    content = {"libero_goal": [entry | {"difficulty_level": 4}]}
    write(tmp_path / "libero" / "libero" / "benchmark" / "task_classification.json", content)
    files = tmp_path / "libero" / "libero" / "bddl_files"
    for suite in ("libero_goal", "libero_mix"):  # said twice, read once
        language_file(files / suite / f"{name}.bddl", "libero_goal/7", "Fire up the stove")
    found = plus.wordings(tmp_path)
    assert found == (ReleaseWording("libero_goal/7", "Fire up the stove", {"number": 4, "difficulty": 4}),)


def test_checkouts_of_libero_pro_and_libero_x_have_their_files_in_place(shared: Path, tmp_path: Path):
    write(tmp_path / "libero_ood" / "ood_language.yaml", "libero_goal:\n  turn_on_the_stove: [heat it]")
    assert pro.wordings(tmp_path) == (ReleaseWording("libero_goal/7", "heat it", {"number": 0}),)
    for number in range(1, 6):
        line = {"task_desc": f" form  {number} ", "variant": "", "task_id": "007"}
        write(tmp_path / "libero" / "libero_x" / "LEVEL5" / f"L5-{number}.jsonl", json.dumps(line) + "\n\n")
    write(tmp_path / "libero" / "libero_x" / "bddl" / "LEVEL4" / "KITCHEN_SCENE1_LEVEL4__T7_open_it.bddl", "")
    level1 = tmp_path / "libero" / "libero_x" / "bddl" / "LEVEL1" / "KITCHEN_SCENE1_open_it.bddl"
    level1.parent.mkdir()
    level1.write_bytes(next((shared / "libero_x" / "bddl" / "LEVEL1").glob("*.bddl")).read_bytes())
    found = x.read(tmp_path).wordings
    assert [each.text for each in found] == [f"form {number}" for number in range(1, 6)]
    assert {(each.task, each.labels["file"]) for each in found} == {
        ("libero_x/7", "KITCHEN_SCENE1_LEVEL4__T7_open_it")
    }


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_folder_without_the_release_is_rejected_with_what_was_looked_for(reader, tmp_path: Path):
    for folder in (tmp_path, tmp_path / "nowhere", write(tmp_path / "file", "")):
        with pytest.raises(ReleaseError, match="does not contain the LIBERO-") as caught:
            reader(folder)
        assert str(folder) in str(caught.value)


HEADER = ",".join(para.COLUMNS)
ROW = "act,lexical,addition_deletion,0,0,gently turn on the stove,turn on the stove,1.0,1.0"


@pytest.mark.parametrize(
    ("reader", "file", "content", "words"),
    [
        (read_metadata, "metadata.csv", "a,b\n1,2", "lacks the columns batch_idx, eval"),
        (read_metadata, "metadata.csv", f"{HEADER}\n{ROW.replace('1.0', 'much')}", "metadata.csv:2"),
        (read_metadata, "metadata.csv", f"{HEADER}\n{ROW.replace('lexical', 'sung')}", "no type act, sung"),
        (para.read_tasks, "libero_para/act_x_eval0_ver0.bddl", "", "does not contain the type"),
        (pro.wordings, "ood_language.yaml", "- 1", "input should be a valid dictionary"),
        (pro.wordings, "ood_language.yaml", "libero_gaol: {}", "did you mean 'libero_goal'?"),
        (plus.read_classification, "task_classification.json", "{", "invalid JSON"),
        (
            plus.read_classification,
            "task_classification.json",
            '{"libero_goal": [1]}',
            "libero_goal.0: input",
        ),
        (
            plus.read_classification,
            "task_classification.json",
            '{"libero_10": [{"id": 1, "name": "turn_on_the_stove_light_1", "category": "x"}]}',
            "does not begin with the name of a task in 'libero_10'",
        ),
    ],
)
def test_a_file_that_is_invalid_is_rejected_with_its_place(
    reader, file: str, content: str, words: str, tmp_path: Path
):
    write(tmp_path / file, content)
    with pytest.raises(ReleaseError) as caught:
        reader(tmp_path)
    assert words in str(caught.value) and len(str(caught.value)) < 600
