from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from assay.extensions.paraphrasing.score_table import SCORES, read_table, score_table
from assay.perturb.words.distance import distance
from assay.perturb.words.distance.pride import DistanceError

HEADER = "task,original_instruction,new_instruction,note\n"
STOVE = "turn on the stove"


def read(tmp_path: Path, content: str | bytes) -> pl.DataFrame:
    path = tmp_path / "in.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path)


def test_every_other_column_is_kept_as_it_was(models: object, tmp_path: Path):
    frame = read(tmp_path, HEADER + f'007,{STOVE},turn on the range,"1,50"\n1e3,{STOVE},{STOVE},\n')
    scored = score_table(frame)
    scored.write_csv(tmp_path / "out.csv")
    again = read_table(tmp_path / "out.csv")
    assert again.columns == [*frame.columns, *SCORES]
    assert again["task"].to_list() == ["007", "1e3"] and again["note"][0] == "1,50"
    found = distance(STOVE, "turn on the range")
    assert [float(again[name][0]) for name in ("s_k", "s_t", "pd")] == [found.s_k, found.s_t, found.pd]
    assert again["parser"][0] == found.parser


def test_a_row_without_a_score_says_why_and_the_others_have_one(models: object, tmp_path: Path):
    frame = read(tmp_path, HEADER + f"a,{STOVE},,\nb,{STOVE},{STOVE},\nc,{STOVE},打开炉子,\n")
    scored = score_table(frame, baselines=True)
    empty, same, chinese = scored.iter_rows(named=True)
    assert all(empty[name] is None for name in SCORES)
    assert empty["pd_warning"] == "the paraphrase is empty"
    assert same["pd"] == 0.0 and same["pd_warning"] is None
    for name in ("bleu", "bert_score[all-MiniLM-L6-v2]", "meteor[exact+stem]"):
        assert empty[name] is None and same[name] == pytest.approx(1.0, abs=0.01)
    assert chinese["pd"] > 0.5 and "does not appear to be English" in chinese["pd_warning"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER.encode() + b"a,caf\xe9,b,c\n", r"in.csv:2: not UTF-8 \(byte 0xE9\)"),
        (HEADER.encode() + b"a,b,c,d,e,f\n", "in.csv is not a readable CSV file"),
    ],
)
def test_a_file_that_is_not_a_table_is_rejected(content: bytes, message: str, tmp_path: Path):
    with pytest.raises(DistanceError, match=message):
        read(tmp_path, content)


def test_bleu_says_what_it_needs_before_anything_is_scored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(DistanceError, match=r"pip install 'assay-robotics\[words\]'$"):
        score_table(read(tmp_path, HEADER), baselines=True)
