from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.errors import TaskError
from assay.policies.demonstrations.errors import DemonstrationError
from assay.policies.learned.tabletop.bins import to_bins
from assay.policies.learned.tabletop.dataset import STRANGE, Vocabulary, batched, load
from assay.policies.learned.tabletop.demos import FIRST_SEED, Job, jobs, record, told, write
from assay.policies.learned.tabletop.teacher import Teacher
from assay.policies.learned.tabletop.tokens import Form, seen, segments
from assay.tabletop import TableSimulation, play


def test_what_is_read_is_what_the_teacher_was_told_saw_and_did(recorded: Path):
    for form in Form:
        dataset = load(recorded, form)
        assert dataset.episodes == {"T1": 3, "T3": 2, "T15": 1} and dataset.paraphrased
        assert len(dataset.examples) == 7
        example, task = dataset.examples[1], told("T1", FIRST_SEED + 1, paraphrase=True)
        table = seen(TableSimulation(task.scene).observe(), form)
        assert (example.table.crops == table.crops).all() and (example.table.boxes == table.boxes).all()
        assert np.allclose(example.bins, to_bins(play(task, Teacher()).actions)[0])
        for got, true in zip(example.prompt, segments(task.prompt, form), strict=True):
            assert got == true if isinstance(true, str) else (got.crops == true.crops).all()  # type: ignore[union-attr]


def test_training_prompts_are_in_many_wordings_and_seeds_are_not_those_of_evaluation():
    for task in ("T1", "T15"):
        own = [told(task, FIRST_SEED + i, paraphrase=False).prompt.text for i in range(20)]
        many = [told(task, FIRST_SEED + i, paraphrase=True).prompt.text for i in range(20)]
        assert len(set(own)) == 1 and len(set(many)) >= 6 and 0 < many.count(own[0]) < 10
    assert FIRST_SEED >= 1_000_000


def test_jobs_cut_the_seeds_up_and_refuse_what_is_not_for_training(tmp_path: Path):
    cut = jobs(tmp_path, ("T1", "T3"), 70, paraphrase=True)
    assert [(job.task, len(job.seeds)) for job in cut] == [("T1", 50), ("T3", 50), ("T1", 20), ("T3", 20)]
    for task, reason in (("T99", "there is no tabletop task 'T99'"), ("T10", "for evaluation only")):
        with pytest.raises(TaskError, match=reason):
            jobs(tmp_path, (task,), 1, paraphrase=True)


def test_what_is_there_is_not_recorded_again_and_what_is_not_is_added(tmp_path: Path, drawing: str):
    job, more = (Job(tmp_path, "T1", range(FIRST_SEED, FIRST_SEED + n), paraphrase=True) for n in (1, 2))
    assert list(record([job], 2)) == [(job, 1)]
    before = job.file.stat().st_mtime_ns
    assert list(record([job], 2)) == [(job, 1)] and job.file.stat().st_mtime_ns == before
    assert list(record([more], 2)) == [(more, 2)] and load(tmp_path, Form.OBJECTS).episodes == {"T1": 2}


def test_a_folder_of_something_else_is_refused_in_one_line(recorded: Path, tmp_path: Path):
    with pytest.raises(DemonstrationError, match="assay tabletop demos --out"):
        load(tmp_path, Form.OBJECTS)
    whole = (recorded / f"T3_{FIRST_SEED}.npz").read_bytes()
    (tmp_path / "T3_1.npz").write_bytes(whole[:1000])
    with pytest.raises(DemonstrationError, match=r"T3_1\.npz is not what assay tabletop demos wrote"):
        load(tmp_path, Form.OBJECTS)
    (tmp_path / "T3_1.npz").write_bytes(whole)
    write(Job(tmp_path, "T3", range(FIRST_SEED + 9, FIRST_SEED + 10), paraphrase=False))
    with pytest.raises(DemonstrationError, match="in other and in their own words"):
        load(tmp_path, Form.OBJECTS)


def test_known_words_have_numbers_of_their_own_and_others_share_some(recorded: Path):
    example = load(recorded, Form.OBJECTS).examples[0]
    vocabulary = Vocabulary.of(["Put it into it."])
    batch = batched([("put", "xyzzy", "it"), (), example.prompt], [example.table] * 3, [0, 0, 1], vocabulary)
    assert vocabulary.known == (".", "into", "it", "put")
    assert (
        batch.words[0, [0, 2]].tolist() == [4, 3] and 5 <= batch.words[0, 1] < 5 + STRANGE == vocabulary.size
    )
    assert (batch.words[1] == 0).all() and (batch.shown[1] == 0).all()
    slots = batch.shown[2][batch.shown[2] > 0]
    pictures = [part for part in example.prompt if not isinstance(part, str)]
    assert (batch.sight.crops[slots - 1] == np.concatenate([each.crops for each in pictures])).all()
    assert batch.tools.tolist() == [0, 0, 1]
