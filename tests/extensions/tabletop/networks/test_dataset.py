from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.errors import DemonstrationError
from assay.extensions.tabletop.networks.bins import to_bins
from assay.extensions.tabletop.networks.dataset import (
    LATEST,
    STRANGE,
    History,
    PromptVocabulary,
    make_batch,
    read_dataset,
)
from assay.extensions.tabletop.networks.demos import (
    FIRST_SEED,
    Job,
    Teacher,
    paraphrase_most,
    record_job,
    record_missing,
    slip,
)
from assay.extensions.tabletop.networks.tokens import TokenForm, tokenize_observation, tokenize_prompt
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.simulation import TableSimulation, action


def test_what_is_read_is_what_the_teacher_was_told_saw_and_did(recorded: Path):
    for form in TokenForm:
        dataset = read_dataset(recorded, form)
        assert dataset.episodes == {"T1": 3, "T3": 2, "T15": 1} and dataset.paraphrased
        assert len(dataset.examples) == 7
        example, task = dataset.examples[1], paraphrase_most(make(Setting("T1", FIRST_SEED + 1)))
        table = tokenize_observation(TableSimulation(task.scene).observe(), form)
        assert (example.history.now.crops == table.crops).all()
        assert (example.history.now.boxes == table.boxes).all() and not len(example.history.done)
        assert np.allclose(example.bins, to_bins(play(task, Teacher()).actions)[0])
        for got, true in zip(example.prompt, tokenize_prompt(task.prompt, form), strict=True):
            assert got == true if isinstance(true, str) else (got.crops == true.crops).all()  # type: ignore[union-attr]


def test_training_prompts_are_in_many_wordings_and_seeds_are_not_those_of_evaluation():
    for task in ("T1", "T15"):
        drawn = [make(Setting(task, FIRST_SEED + i)) for i in range(20)]
        own, many = (
            [each.prompt.text for each in drawn],
            [paraphrase_most(each).prompt.text for each in drawn],
        )
        assert len(set(own)) == 1 and len(set(many)) >= 6 and 0 < many.count(own[0]) < 10
    assert FIRST_SEED >= 1_000_000


def test_what_is_there_is_not_recorded_again_and_what_is_not_is_added(tmp_path: Path, drawing: str):
    job, more = (Job(tmp_path, "T1", range(FIRST_SEED, FIRST_SEED + n)) for n in (1, 2))
    assert list(record_missing([job], 2)) == [(job, 1)]
    before = job.file.stat().st_mtime_ns
    assert list(record_missing([job], 2)) == [(job, 1)] and job.file.stat().st_mtime_ns == before
    assert list(record_missing([more], 2)) == [(more, 2)] and read_dataset(
        tmp_path, TokenForm.OBJECTS
    ).episodes == {"T1": 2}


def test_a_folder_of_something_else_is_refused_in_one_line(recorded: Path, tmp_path: Path):
    with pytest.raises(DemonstrationError, match="assay tabletop demos --out"):
        read_dataset(tmp_path, TokenForm.OBJECTS)
    whole = (recorded / f"T3_{FIRST_SEED}.npz").read_bytes()
    (tmp_path / "T3_1.npz").write_bytes(whole[:1000])
    with pytest.raises(DemonstrationError, match=r"T3_1\.npz is not what assay tabletop demos wrote"):
        read_dataset(tmp_path, TokenForm.OBJECTS)


def test_an_example_has_all_that_came_before_it(recorded: Path):
    second = read_dataset(recorded, TokenForm.OBJECTS).examples[-1]
    assert second.task == "T15" and len(second.history.seen) == 2 and second.history.done.shape == (1, 5)
    moved = second.history.translate(np.array([0.02, -0.01]))
    assert (moved.done != second.history.done).any()
    assert all(
        (new.boxes != old.boxes).any() for new, old in zip(moved.seen, second.history.seen, strict=True)
    )
    long = History((*second.history.seen * 3,), np.zeros((5, 5)))
    assert [age for age, _ in long.iter_remembered()] == [*range(LATEST), 5]


def test_a_slip_is_off_at_one_end_and_is_not_learnt(tmp_path: Path, drawing: str):
    rng = np.random.default_rng(0)
    chosen = action((0.5, 0.0), (0.5, 0.1))[None]
    for _ in range(20):
        off = slip(chosen, rng) - chosen
        ends = [np.hypot(*off[0, first : first + 2]) for first in (0, 6)]
        assert min(ends) == 0 and 0.11 < max(ends) < 0.21
    job = Job(tmp_path, "T1", range(FIRST_SEED, FIRST_SEED + 20))
    record_job(job)
    with np.load(job.file) as arrays:
        slips = arrays["slips"]
    assert 0 < slips.sum() < 10
    assert len(read_dataset(tmp_path, TokenForm.OBJECTS).examples) == (~slips).sum()


def test_known_words_have_numbers_of_their_own_and_others_share_some(recorded: Path):
    example = read_dataset(recorded, TokenForm.OBJECTS).examples[0]
    vocabulary = PromptVocabulary.of(["Put it into it."])
    batch = make_batch(
        [("put", "xyzzy", "it"), (), example.prompt], [example.history] * 3, [0, 0, 1], vocabulary
    )
    assert vocabulary.known == (".", "into", "it", "put")
    assert (
        batch.words[0, [0, 2]].tolist() == [4, 3] and 5 <= batch.words[0, 1] < 5 + STRANGE == vocabulary.size
    )
    assert (batch.words[1] == 0).all() and (batch.shown[1] == 0).all()
    slots = batch.shown[2][batch.shown[2] > 0]
    pictures = [part for part in example.prompt if not isinstance(part, str)]
    assert (batch.sight.crops[slots - 1] == np.concatenate([each.crops for each in pictures])).all()
    assert batch.tools.tolist() == [0, 0, 1]


@pytest.mark.parametrize("task", ["T1", "T3", "T4", "T7", "T15"])
def test_the_teacher_makes_no_mistakes(drawing: str, task: str):
    drawn = [make(Setting(task, seed)) for seed in (1, 2)]
    assert all(play(each, Teacher(), most=each.best).success for each in drawn)
