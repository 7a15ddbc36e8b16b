from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import PerturbationError
from assay.perturb.words.grid.table import GridWording, grid_stats, read_wordings, thing_names

HEADER = "task,object_type,action_type,original,paraphrase,s_k,s_t\n"
STOVE = "turn on the stove"
ROWS = (
    f"libero_goal/7,habitual,none,{STOVE},turn on the range,0.6,1.0\n"
    f"libero_goal/7,habitual,none,{STOVE},turn on the cooker,0.8,0.8\n"
    f"libero_goal/7,none,hint,{STOVE},the stove is off,,\n"
)
OFFICIAL = (
    "high,mid,low,eval,batch_idx,new_instruction,original_instruction,structural_similarity,keyword_similarity\n"
    f"obj,lexical,same_polarity_habitual,7,0,turn on the range,{STOVE},1.0,0.6\n"
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def test_cells_and_originals_are_counted_and_distances_averaged(tmp_path: Path):
    found = grid_stats(read_wordings(written(tmp_path, HEADER + ROWS)))
    renamed, hint = found.cells["habitual", "none"], found.cells["none", "hint"]
    assert (renamed.count, renamed.scored, hint.count, hint.scored) == (2, 2, 1, 0)
    assert (renamed.keyword_distance, renamed.structural_distance) == pytest.approx((0.3, 0.1))
    assert renamed.pd == pytest.approx(0.2) and hint.pd is None
    assert (
        found.originals == {STOVE: 3}
        and found.total(object="habitual") == 2
        and found.total(action="hint") == 1
    )


def test_the_release_s_columns_are_read_as_ours_are(tmp_path: Path):
    (row,) = read_wordings(written(tmp_path, OFFICIAL))
    assert row == GridWording(STOVE, "habitual", "none", "turn on the range", 0.6, 1.0)
    assert row.pd == pytest.approx(0.2)


def test_libero_goal_has_one_name_for_each_thing():
    found = {each.noun: each.names for each in thing_names([STOVE, "put the bowl on the stove"])}
    assert found["stove"].keys() == {"stove"} and len(found["stove"]["stove"]) == 2
    assert found["bowl"].keys() == {"bowl"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,original\n", "lacks the columns object_type or high"),
        (HEADER + f"libero_goal/7,spelling,none,{STOVE},x,,\n", "table.csv:2: there is no object type"),
        (HEADER + f"libero_goal/7,habitual,none,{STOVE},x,near,1\n", "table.csv:2: s_k: 'near'"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(PerturbationError, match=message):
        read_wordings(written(tmp_path, text))
