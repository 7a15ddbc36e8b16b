from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.errors import FileError
from assay.extensions.eqa.build import PROGRESS, build
from assay.extensions.eqa.episode import EPISODES_FOUND, SourceEpisode, Tally
from assay.extensions.eqa.leak import BASELINES, geometry
from assay.extensions.eqa.progress import Progress
from assay.extensions.eqa.question import QuestionError, QuestionKind, load
from assay.extensions.eqa.views import CameraView

from .conftest import Drawn, Invented

VIEWS = [CameraView.parse("both"), CameraView.parse("ego")]


def changing(change: Callable[[SourceEpisode], SourceEpisode]) -> Invented:
    """The invented source with changed episodes."""

    class Changed(Invented):
        def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
            for episode in super().episodes(tally):
                tally.add(EPISODES_FOUND)
                yield change(episode)

    return Changed()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("questions") / "set"
    settings = {"sources": ["x"], "size": 64}
    result = build(out, [Invented()], dict.fromkeys(QuestionKind, 12), VIEWS, settings=settings)
    assert result.questions == 6 * 12 * 2
    assert result.counts["invented"] == dict.fromkeys(map(str, QuestionKind), 12)
    return out


def test_every_view_asks_the_same_items_with_images_of_its_size(folder: Path):
    questions = load(folder)
    assert len({question.id for question in questions}) == len(questions)
    by_view = [{q.item: (q.answer, q.options) for q in questions if q.view == str(view)} for view in VIEWS]
    assert by_view[0] == by_view[1] and len(by_view[0]) == 72
    names = {name for q in questions for name in (*q.pictures, *q.option_pictures)}
    assert names == {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    for question in questions:
        for name in (*question.pictures, *question.option_pictures):
            with Image.open(folder / name) as image:
                assert image.size == (128 if question.view == "both" else 64, 64)
        assert len(question.pictures) == (1 if question.kind.predicts else 2)
        assert len(question.options) + len(question.option_pictures) == 4


def test_the_same_build_gives_the_same_bytes(folder: Path, tmp_path: Path):
    settings = {"sources": ["x"], "size": 64}
    build(tmp_path / "again", [Invented()], dict.fromkeys(QuestionKind, 12), VIEWS, settings=settings)
    for path in sorted(folder.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(folder)).read_bytes(), path


def test_metadata_and_build_information_are_stored(folder: Path):
    lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [question.id for question in load(folder)]
    assert all((folder / name).is_file() for line in lines for name in line["pictures_file_names"])
    assert not {"states", "actions", "moments", "achieved"} & set(lines[0])
    info = json.loads((folder / "build.json").read_text())
    assert info["tally"]["invented"]["pair: trivial motion"]["count"] > 0 and len(info["hash"]) == 64
    assert info["sources"] == ["x"] and info["plan"]["L-AI"] == 12 and info["version"]


def test_only_geometry_is_always_right_and_it_refuses_ambiguous_questions(folder: Path):
    questions = load(folder)
    share = {name: np.mean([answer(q) == q.answer for q in questions]) for name, answer in BASELINES.items()}
    assert share.pop("geometry") == 1.0 and all(value < 0.4 for value in share.values())
    by_kind = {question.kind: question for question in questions}
    low, high = by_kind[QuestionKind.L_AI], by_kind[QuestionKind.H_AI]
    with pytest.raises(QuestionError, match="4 options match the action equally well"):
        geometry(low.model_copy(update={"actions": (low.actions[low.right],) * 4}))
    assert geometry(high) == high.answer and geometry(high.model_copy(update={"achieved": ()})) == ""


DAMAGE: list[tuple[Callable[[str], str], str]] = [
    (lambda line: "{}", "not a question: id"),
    (lambda line: line[:-5], "not a question"),
    (lambda line: "", "contains no"),
    *[(lambda line, answer=answer: changed(line, answer=answer), "answer: ") for answer in ("E", "BC", "")],
    (lambda line: changed(line, pictures=[]), "expected one image"),
    (lambda line: changed(line, option_pictures=["a", "b", "c"]), "expected four different options"),
    (lambda line: changed(line, option_pictures=["a", "b", "c", "c"]), "expected four different options"),
    (lambda line: changed(line, options=["a", "b", "c", "d"]), "expected four different options"),
    (lambda line: changed(line, answer="ABCD"[-1 - "ABCD".index(json.loads(line)["answer"])]), "altered"),
    (lambda line: f"{line}\n{line}", "duplicate"),
]


def changed(line: str, **fields: object) -> str:
    return json.dumps(json.loads(line) | fields)


def test_a_damaged_or_incomplete_set_is_refused(folder: Path, tmp_path: Path):
    lines = (folder / "questions.jsonl").read_text().splitlines(keepends=True)
    for damage, words in DAMAGE:
        (tmp_path / "questions.jsonl").write_text(damage(lines[0].strip()))
        with pytest.raises(QuestionError, match=words):
            load(tmp_path)
    (tmp_path / "questions.jsonl").write_text("".join(lines[:-1]))
    assert len(load(tmp_path)) == len(lines) - 1
    (tmp_path / "build.json").write_text((folder / "build.json").read_text())
    with pytest.raises(QuestionError, match="does not match the hash"):
        load(tmp_path)


def test_an_interrupted_build_is_resumed_and_ends_with_the_same_bytes(folder: Path, tmp_path: Path):
    reads: list[str] = []

    class Failing(Invented):
        episodes_left = 3

        def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
            for episode in islice(super().episodes(tally), self.episodes_left):
                yield replace(episode, egocentric=Counted(episode.states, episode.id))
            raise QuestionError("broken")

    class Counted(Drawn):
        def __init__(self, states: np.ndarray, name: str) -> None:
            super().__init__(states)
            self.name = name

        def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
            reads.extend(self.name * grey)
            return super().read(frames, grey=grey)

    out, part, plan = tmp_path / "set", tmp_path / "set.part", dict.fromkeys(QuestionKind, 12)
    settings = {"sources": ["x"], "size": 64}
    for episodes, read in ((3, "012"), (5, "34")):
        reads.clear()
        Failing.episodes_left = episodes
        with pytest.raises(QuestionError, match="broken"):
            build(out, [Failing()], plan, VIEWS, settings=settings)
        assert "".join(reads) == read, "stored episodes are not prepared again"
        (part / "pictures").mkdir(exist_ok=True)
        (part / "pictures" / "half.png").touch()  # left by a killed build
    build(out, [Invented()], plan, VIEWS, settings=settings)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    for path in sorted(
        {*folder.rglob("*.*"), *(folder / file.relative_to(out) for file in out.rglob("*.*"))}
    ):
        assert path.read_bytes() == (out / path.relative_to(folder)).read_bytes(), path
    with pytest.raises(FileError, match="is not empty"):
        build(out, [Failing()], plan, VIEWS)


def test_results_for_other_settings_or_in_a_damaged_file_are_not_used(tmp_path: Path):
    file = tmp_path / PROGRESS
    for settings, number, recalled in (("a", 1, 1), ("b", 2, 2), ("a", 3, 1)):
        arrays = {"x": np.array(number)}
        with closing(Progress(file, settings)) as progress:
            assert (progress.recall("key", partial(dict, arrays)) or {})["x"] == recalled
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as archive, archive.open("x.npy", "w") as member:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
        np.lib.format.write_array_header_1_0(member, header)
    for content in (b"", b"PK\x03\x04junk", huge.getvalue(), "text"):
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE results SET content = ?", (content,))
        refused = pytest.raises(QuestionError, match=r"delete .* to start over")
        with closing(Progress(file, "a")) as progress, refused:
            progress.recall("key", dict)
    file.write_bytes(b"half of it")
    with pytest.raises(QuestionError, match=r"delete .* to start over"):
        Progress(file, "a")


def test_an_empty_build_reports_reasons_with_an_example(tmp_path: Path):
    blind = changing(lambda episode: replace(episode, egocentric=None))
    reason = r"invented: 16 x episodes found, 16 x episode: missing camera \(0: no wrist camera\)"
    with pytest.raises(QuestionError, match=reason):
        build(tmp_path / "set", [blind], {QuestionKind.L_AI: 2}, VIEWS)


def test_questions_with_identical_options_are_skipped(tmp_path: Path):
    class Hidden(Drawn):
        def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
            return super().read([frame // 8 * 8 for frame in frames], grey=grey)

    source = changing(lambda episode: replace(episode, exocentric=(Hidden(episode.states),)))
    plan = {QuestionKind.L_SP: 40, QuestionKind.L_AI: 2}
    result = build(tmp_path / "set", [source], plan, [CameraView.parse("exo")])
    assert result.tallies["invented"].counts["pair: images are nearly identical"] > 0
    assert all(len(set(q.option_pictures)) == len(q.option_pictures) for q in load(tmp_path / "set"))
