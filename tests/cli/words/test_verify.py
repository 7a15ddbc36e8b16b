from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Said

COLUMNS = "task,object_type,action_type,original,paraphrase\n"


def test_faults_are_printed_by_row_with_a_summary(assay: Callable[..., Said], tmp_path: Path) -> None:
    file = tmp_path / "grid.csv"
    file.write_text(
        f"{COLUMNS}libero_goal/8,habitual,none,put the bowl on the plate,put the dish on the plate\n"
        "libero_goal/8,habitual,none,put the bowl on the plate,put the basin on the plate\n"
    )
    said = assay("words", "verify", file)
    assert said.status == 1
    assert f"{file}:2: scene: 'dish' could be the bowl or the plate: put the dish on the plate" in said.out
    assert "2 rows, 1 with faults" in said.err
    summary = assay("words", "verify", file, "--summary")
    assert summary.out.splitlines() == [
        "2 rows, 1 with faults",
        "scene          1 row: 1 x 'dish' could be the bowl or the plate",
    ]


def test_a_file_without_the_columns_is_refused_in_one_line(
    assay: Callable[..., Said], tmp_path: Path
) -> None:
    (tmp_path / "grid.csv").write_text("task,text\n")
    said = assay("words", "verify", tmp_path / "grid.csv")
    assert said.status == 2 and "lacks the columns object_type or high" in said.err


def test_nothing_to_verify_is_no_success(assay: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "grid.csv").write_text(COLUMNS)
    said = assay("words", "verify", tmp_path / "grid.csv")
    assert said.status == 2 and "grid.csv has no rows" in said.err and said.err.count("\n") == 1
    assert assay("words", "verify", tmp_path / "none.csv").status == 2


def test_the_published_table_is_read_by_its_own_columns(assay: Callable[..., Said], tmp_path: Path) -> None:
    file = tmp_path / "metadata.csv"
    file.write_text(
        "high,mid,low,eval,batch_idx,new_instruction,original_instruction\n"
        "obj,lexical,same_polarity_contextual,8,0,put the serving dish on the plate,put the bowl on the plate\n"
        "act,pragmatical,hint,8,1,The bowl belongs on the plate,Put the bowl on the plate\n"
    )
    said = assay("words", "verify", file)
    assert (
        said.status == 1
        and said.out.startswith(f"{file}:2: scene: 'serving dish' could be")
        and said.out.count("\n") == 1
    )


def test_libero_paras_column_names_are_read_as_they_are(assay: Callable[..., Said], tmp_path: Path) -> None:
    file = tmp_path / "metadata.csv"
    file.write_text(
        "high,mid,low,eval,batch_idx,new_instruction,original_instruction\n"
        "obj,lexical,same_polarity_habitual,8,0,put the dish on the plate,put the bowl on the plate\n"
        "obj,lexical,same_polarity_habitual,8,1,put the basin on the plate,put the bowl on the plate\n"
        "obj,lexical,sung,8,2,put the basin on the plate,put the bowl on the plate\n"
    )
    said = assay("words", "verify", file)
    assert said.status == 1 and f"{file}:2: scene: 'dish' could be" in said.out
    assert f"{file}:4: cell: there is no object type 'obj, lexical, sung'" in said.out
    assert "3 rows, 2 with faults" in said.err
    exported = assay("words", "agree", file, "--share", "1", "--export", tmp_path / "sheet.csv")
    assert exported.status == 0, exported.err
    sheet = (tmp_path / "sheet.csv").read_text()
    assert sheet.count("libero_goal/8,") == sheet.count(",put the bowl on the plate,") == 3
