"""Paraphrases of a table as an experiment."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import CONTROL, task_of
from assay.errors import ExperimentError, PerturbationError
from assay.experiments import EXPERIMENTS, load_experiment
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.grid.table import write
from assay.tasks import bddl
from assay.tasks.formats import ReleaseError

HEADER = "high,mid,low,eval,batch_idx,new_instruction,original_instruction,structural_similarity,keyword_similarity"
ROWS = (
    "act,lexical,addition_deletion,7,0,gently turn on the stove,turn on the stove,0.9,1.0",
    "act,lexical,addition_deletion,7,1,gently turn on the stove,turn on the stove,0.9,1.0",
    "obj,lexical,same_polarity_habitual,7,0,turn on the range,turn on the stove,1.0,0.6",
    "act,pragmatical,hint,7,0,the stove is still off,turn on the stove,0.25,0.5",
    "act,pragmatical,hint,1,0,the bowl is not on the stove,put the bowl on the stove,0.5,0.75",
)
STOVE = [tasks.load("libero_goal/7")]


def saved(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_libero_paras_metadata_runs_with_its_cells_and_published_scores(tmp_path: Path):
    file = saved(tmp_path / "metadata.csv", HEADER, *ROWS)
    for name, address in (("para", f"para?file={file}"), ("libero-para", f"libero-para?folder={tmp_path}")):
        if name not in EXPERIMENTS:
            continue
        design = load_experiment(address)
        plan = list(design.plan(design.choose(), (7, 8)))
        assert {spec.task for spec in plan} == {"libero_goal/7", "libero_goal/1"}
        assert Counter(spec.condition for spec in plan) == {
            CONTROL: 4,
            f"{name}/obj=none,act=addition": 4,
            f"{name}/obj=habitual,act=none": 2,
            f"{name}/obj=none,act=hint": 4,
        }
        assert len({spec.key for spec in plan}) == len(plan), "a text that a cell has twice stays two"
        hint = next(spec for spec in plan if spec.condition.endswith("hint") and spec.task == "libero_goal/7")
        assert task_of(hint).instruction.text == "the stove is still off"
        assert hint.labels == {
            **{"axis": "words", "change": "wording", "plausible": True, "object": "none", "action": "hint"},
            **{"s_k": 0.5, "s_t": 0.25, "pd": 0.625, "scores": "published"},
        }


def test_a_generated_table_runs_as_para_does(tmp_path: Path):
    write(paraphrases(STOVE[0], 1, 0), tmp_path / "grid.csv")
    own = list(load_experiment("para?per_cell=1").plan(STOVE, (0,)))
    read = list(load_experiment(f"para?file={tmp_path / 'grid.csv'}").plan(STOVE, (0,)))
    said = [[(each.condition, each.perturbations, each.labels) for each in plan] for plan in (own, read)]
    assert said[0] == said[1] and len(own) == 44
    assert {each.labels["scores"] for each in read[1:]} == {"computed"}


def test_a_table_of_a_user_needs_no_cells(tmp_path: Path):
    file = saved(
        tmp_path / "mine.csv",
        "task,paraphrase",
        "libero_goal/7,fire up the stove",
        "libero_goal/7,of the the",
    )
    _, fire, nothing = load_experiment(f"para?file={file}").plan(STOVE, (0,))
    assert fire.condition == "para/no-cell" and fire.labels["scores"] == "computed"
    assert "object" not in fire.labels and 0 < float(str(fire.labels["pd"])) < 1
    assert nothing.labels["plausible"] is True


def test_rows_without_a_task_belong_to_every_task_with_their_original_instruction(tmp_path: Path):
    file = saved(
        tmp_path / "mine.csv", "original,paraphrase,s_k,s_t", "turn on the stove,light the stove,1,1"
    )
    path = tmp_path / "my_stove.bddl"
    path.write_text(bddl.write(STOVE[0]))
    design = load_experiment(f"para?file={file}")
    assert design.tasks == "libero_goal/7"
    (own,) = design.choose(str(path))
    assert [spec.task for spec in design.plan([own], (0,))] == [own.id, own.id]
    named = saved(tmp_path / "named.csv", "task,paraphrase,s_k,s_t", "my_stove,light the stove,1,1")
    assert len(list(load_experiment(f"para?file={named}").plan([own], (0,)))) == 2


def test_an_invalid_table_is_rejected_with_its_line(tmp_path: Path):
    for lines, error, words in (
        (["task,text", "libero_goal/7,x"], PerturbationError, "lacks the column paraphrase or new_instr"),
        (["task,paraphrase"], ExperimentError, "table.csv has no rows below its header"),
        (["task,paraphrase", "libero_goal/7,"], ReleaseError, "table.csv:2: an instruction must be one line"),
        (
            ["original,paraphrase", "sing,hum"],
            ExperimentError,
            "table.csv:2: no task, or more than one, has the instruction",
        ),
        (
            ["task,paraphrase", "libero_goal/1,x"],
            ExperimentError,
            "no paraphrase of libero_goal/7; choose one of li",
        ),
    ):
        file = saved(tmp_path / "table.csv", *lines)
        with pytest.raises(error, match=re.escape(words)):
            list(load_experiment(f"para?file={file}").plan(STOVE, (0,)))


def test_a_missing_table_is_rejected(tmp_path: Path):
    with pytest.raises(PerturbationError, match="cannot be read: No such file"):
        load_experiment(f"para?file={tmp_path / 'none.csv'}")
