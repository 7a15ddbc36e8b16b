from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.errors import DemonstrationError
from assay.extensions.tabletop.networks.dataset import (
    UNKNOWN_SLOTS,
    Dataset,
    NetworkInput,
    PromptVocabulary,
    make_batch,
    to_bins,
)
from assay.extensions.tabletop.networks.demos import (
    FIRST_SEED,
    Job,
    Teacher,
    paraphrase_most,
    record,
    record_job,
    slip,
)
from assay.extensions.tabletop.networks.tokens import TokenForm, tokenize_observation, tokenize_prompt
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.simulation import TableSimulation, action


def test_a_dataset_holds_the_prompts_observations_and_actions_of_the_teacher(recorded: Path):
    for form in TokenForm:
        dataset = Dataset.read(recorded, form)
        assert dataset.episodes == {"T1": 3, "T3": 2, "T15": 1} and dataset.paraphrased
        assert len(dataset.examples) == 7
        example, task = dataset.examples[1], paraphrase_most(make(Setting("T1", FIRST_SEED + 1)))
        table = tokenize_observation(TableSimulation(task.scene).observe(), form)
        assert (example.history.seen[-1].crops == table.crops).all()
        assert (example.history.seen[-1].boxes == table.boxes).all() and not len(example.history.done)
        assert np.allclose(example.bins, to_bins(play(task, Teacher()).actions)[0])
        for got, true in zip(example.prompt, tokenize_prompt(task.prompt, form), strict=True):
            assert got == true if isinstance(true, str) else (got.crops == true.crops).all()  # type: ignore[union-attr]


def test_only_missing_demonstrations_are_recorded(tmp_path: Path, drawing: str):
    job, more = (Job(tmp_path, "T1", range(FIRST_SEED, FIRST_SEED + n)) for n in (1, 2))
    assert list(record(tmp_path, ["T1"], 1, 2)) == [(job, 1)]
    before = job.file.stat().st_mtime_ns
    assert list(record(tmp_path, ["T1"], 1, 2)) == [(job, 1)] and job.file.stat().st_mtime_ns == before
    assert list(record(tmp_path, ["T1"], 2, 2)) == [(more, 2)] and Dataset.read(
        tmp_path, TokenForm.OBJECTS
    ).episodes == {"T1": 2}


def test_missing_and_damaged_demonstrations_are_refused(recorded: Path, tmp_path: Path):
    with pytest.raises(DemonstrationError, match="assay tabletop demos --out"):
        Dataset.read(tmp_path, TokenForm.OBJECTS)
    whole = (recorded / f"T3_{FIRST_SEED}.npz").read_bytes()
    (tmp_path / "T3_1.npz").write_bytes(whole[:1000])
    with pytest.raises(DemonstrationError, match=r"T3_1\.npz was not written by assay tabletop demos"):
        Dataset.read(tmp_path, TokenForm.OBJECTS)


def test_a_slip_misses_at_one_end_and_is_not_an_example(tmp_path: Path, drawing: str):
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
    assert len(Dataset.read(tmp_path, TokenForm.OBJECTS).examples) == (~slips).sum()


def test_known_words_have_their_own_numbers_and_unknown_ones_share_some(recorded: Path):
    example = Dataset.read(recorded, TokenForm.OBJECTS).examples[0]
    vocabulary = PromptVocabulary((".", "into", "it", "put"))
    prompts = ((("put", "xyzzy", "it"), 0), ((), 0), (example.prompt, 1))
    batch = make_batch([NetworkInput(prompt, example.history, tool) for prompt, tool in prompts], vocabulary)
    assert batch.words[0, [0, 2]].tolist() == [4, 3]
    assert 5 <= batch.words[0, 1] < 5 + UNKNOWN_SLOTS == vocabulary.size
    assert (batch.words[1] == 0).all() and (batch.shown[1] == 0).all()
    slots = batch.shown[2][batch.shown[2] > 0]
    pictures = [part for part in example.prompt if not isinstance(part, str)]
    assert (batch.images.crops[slots - 1] == np.concatenate([picture.crops for picture in pictures])).all()
    assert batch.tools.tolist() == [0, 0, 1]


@pytest.mark.parametrize("task", ["T1", "T3", "T4", "T7", "T15"])
def test_the_teacher_makes_no_mistakes(drawing: str, task: str):
    drawn = [make(Setting(task, seed)) for seed in (1, 2)]
    assert all(play(each, Teacher(), most=each.best).success for each in drawn)
