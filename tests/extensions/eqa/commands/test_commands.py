"""From a recorded data set to a report, with a server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.support.llm.protocols import KEY_VARIABLE

from ...eqa.asking.conftest import Vision, chat

Run = Callable[..., Any]
KEY = "sk-not-for-anybodys-eyes"


@pytest.fixture(scope="module")
def folder(exo_set: Path) -> Path:
    return exo_set


@pytest.fixture
def vision(folder: Path) -> Iterator[Vision]:
    server = Vision(folder)
    yield server
    server.close()


def test_build_ask_kill_resume_score_and_report(
    collected: Path, assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    folder, out = tmp_path / "questions", tmp_path / "answers.jsonl"
    said = assay("eqa", "build", "--source", collected, "--out", folder, "--per-kind", "6", "--views", "exo")
    assert said.status == 1 and "only 0 of 6 H-AI questions built; each needs four instructions" in said.err
    assert "read with the schema 'libero'" in said.err and said.out.startswith(f"{folder}: ")
    said = assay("eqa", "sheet", folder, "--out", tmp_path / "sheet.png", "--kinds", "L-AI", "--count", "2")
    assert said.status == 0 and (tmp_path / "sheet.png").stat().st_size > 10_000
    count = len((folder / "questions.jsonl").read_text().splitlines())
    assert count >= 8
    vision = Vision(folder)
    vision.pause = lambda: time.sleep(0.05)
    command = ["eqa", "ask", folder, "--model", "openai:tiny", "--endpoint", vision.url, "--out", out]
    command = [str(word) for word in (*command, "--at-once", 1, "--per-minute", 1e6)]
    first = subprocess.Popen([sys.executable, "-m", "assay", *command], env=os.environ)
    try:
        while len(vision.asked) < count // 2:
            assert first.poll() is None
            time.sleep(0.005)
    finally:
        first.kill()
        first.wait()
    assert not out.exists()
    before = len(vision.asked)
    said = assay(*command)
    vision.close()
    assert said.status == 0, said.err
    assert f"{count} answered" in said.out and "cached replies" in said.out
    assert len(vision.asked) - before <= count - before + 1, "only the interrupted request is repeated"
    assay("eqa", "ask", folder, "--model", "geometry", "--out", tmp_path / "geometry.jsonl")
    answers, results = (out, tmp_path / "geometry.jsonl"), tmp_path / "score.json"
    said = assay("eqa", "score", folder, *answers, "--out", tmp_path / "report", "--json", results)
    assert said.status == 0, said.err
    models = json.loads(results.read_text())["models"]
    for name in ("openai:tiny (direct)", "geometry"):
        assert models[name]["standing"]["means"]["overall"]["share"] == 1.0
    assert "<th>openai:tiny (direct)</th><td>100.0" in (tmp_path / "report/index.html").read_text()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in path.read_bytes() for path in files) and KEY not in said.out + said.err


def test_failures_are_reported_and_change_the_exit_status(
    assay: Run, folder: Path, vision: Vision, tmp_path: Path
):
    reply = b'{"choices": [{"message": {"content": "B?"}}]}'
    vision.faults = {0: (400, {}, b"too large"), 1: (200, {}, reply)}
    ask = ("eqa", "ask", folder, "--model", "openai:tiny", "--endpoint", vision.url)
    said = assay(*ask, "--out", tmp_path / "a.jsonl", "--at-once", "1", "--per-minute", "1e6")
    assert said.status == 1 and "10 answered, 1 unanswered, 1 unparsed" in said.out
    assert "status 400: too large" in said.err and "1 replies without a token count" in said.out
    assert "1 x unparsed: a letter with other characters" in said.err
    said = assay("eqa", "score", folder, tmp_path / "a.jsonl")
    assert said.status == 0 and "1 question unanswered by the endpoint" in said.err


def test_answers_replace_only_answers_of_the_same_model(assay: Run, folder: Path, tmp_path: Path):
    ask = ("eqa", "ask", folder, "--model", "random", "--out")
    questions = (folder / "questions.jsonl").read_bytes()
    for own in ("questions.jsonl", "metadata.jsonl", "build.json"):
        said = assay(*ask, folder / own)
        assert said.status == 2 and "part of the question set" in said.err
    assert (folder / "questions.jsonl").read_bytes() == questions
    (tmp_path / "notes").write_text("my notes")
    said = assay(*ask, tmp_path / "notes")
    assert said.status == 2 and "was not overwritten" in said.err
    assert assay(*ask, tmp_path / "a").status == 0 and assay(*ask, tmp_path / "a").status == 0
    said = assay("eqa", "ask", folder, "--model", "longest", "--out", tmp_path / "a")
    assert said.status == 2 and "contains answers from random" in said.err
    said = assay(*ask, tmp_path / "notes" / "a")
    assert said.status == 2 and "cannot be written" in said.err


def test_a_judge_categorises_a_sample_of_wrong_answers(
    assay: Run, folder: Path, vision: Vision, tmp_path: Path
):
    assay("eqa", "ask", folder, "--model", "random", "--out", tmp_path / "a")
    judge: tuple = ("eqa", "judge", folder, tmp_path / "a", "--model", "openai:x", "--endpoint", vision.url)
    judge = (*judge, "--per-kind", "1", "--annotations", tmp_path / "marks", "--per-minute", "1e6")
    vision.faults[-1] = chat("<answer>temporal</answer>")
    said = assay(*judge, "--no-temperature", "--most-tokens", "99")
    count = len(vision.asked)
    assert 2 <= count <= 6 and f"{count} of {count} wrong answers categorised" in said.out
    assert said.status == 0 and f"{count * 900:,} input tokens" in said.out
    assert "temperature" not in vision.asked[0] and vision.asked[0]["max_completion_tokens"] == 99


def test_invalid_arguments_are_reported(
    assay: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    build = ("build", "--source", "demo", "--out", "set")
    for arguments, words in (
        (("ask", folder, "--model", "geometri", "--out", "a"), "did you mean 'geometry'?"),
        (("ask", folder, "--model", "random", "--prompt", "cot", "--out", "a"), "choose from direct, steps"),
        (
            ("ask", folder, "--model", "openai:x", "--endpoint", "there", "--out", "a"),
            "must be a URL such as",
        ),
        (("score", folder), "no question in this folder has an answer"),
        (("score", folder, "none.jsonl"), "file not found"),
        (("judge", folder, "none.jsonl", "--model", "random"), "not the baseline 'random'"),
        (("sheet", tmp_path, "--out", "x.png"), "create one with assay eqa build"),
        ((*build, "--kinds", "H-IA"), "did you mean 'H-AI'?"),
        ((*build, "--views", "wrist"), "choose from exo, exo2"),
        ((*build, "--turning", "euler"), "'euler' is not one of"),
        ((*build, "--options", "ours"), "'ours' is not one of"),
        ((*build, "--gripper", "1"), "CLOSED,OPEN"),
        ((*build, "--schema", "droid"), "apply only to data sets"),
        ((*build, "--distractors", "random"), "not the baseline 'random'"),
    ):
        said = assay("eqa", *arguments)
        assert said.status == 2 and words in said.err, arguments


def test_missing_packages_are_reported(assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.tfrecord-00000-of-00001").touch()
    for package in ("sklearn", "tfrecord"):
        monkeypatch.setitem(sys.modules, package, None)
    for command in (("leak", tmp_path), ("build", "--source", tmp_path, "--out", tmp_path / "set")):
        said = assay("eqa", *command)
        assert said.status == 2 and "pip install 'assay-robotics[eqa]'" in said.err
