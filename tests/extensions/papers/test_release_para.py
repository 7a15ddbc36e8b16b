from __future__ import annotations

from pathlib import Path

from assay import tasks
from assay.episodes import task_of
from assay.experiments import load_experiment
from assay.tasks import Instruction, bddl

STOVE = [tasks.load("libero_goal/7")]


def test_a_checkout_without_the_table_is_read_from_its_task_files(tmp_path: Path):
    folder = tmp_path / "libero" / "libero" / "bddl_files" / "libero_para"
    folder.mkdir(parents=True)
    for number, text in enumerate(("gently turn on the stove", "slowly turn on the stove")):
        changed = bddl.write(STOVE[0]).replace("turn on the stove", text)
        assert bddl.parse(changed, id="x").instruction == Instruction(text)
        (folder / f"act_lexical_addition_deletion_eval7_ver{number}.bddl").write_text(changed)
    design = load_experiment(f"libero-para?folder={tmp_path}")
    plan = list(design.plan(design.choose(), (0,)))
    assert [task_of(spec).instruction.text for spec in plan][1:] == [
        "gently turn on the stove",
        "slowly turn on the stove",
    ]
    assert plan[1].condition == "libero-para/obj=none,act=addition"
    assert plan[1].labels["s_k"] == 1.0 and plan[1].labels["scores"] == "computed"
