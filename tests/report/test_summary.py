from __future__ import annotations

from pathlib import Path

from assay.measures import profile
from assay.report.summary import key_numbers, sentences
from assay.runs.store import Store


def measured(path: Path):
    with Store.reading(path) as store:
        return profile(store)


def test_sentences_and_key_numbers_are_the_measured_ones(everything: Path):
    found = measured(everything)
    text = " ".join(sentences(found))
    rate, memory = found.success_rate, found.memorisation.overall
    assert f"It succeeds in {rate.successes} of {rate.count} episodes" in text
    assert f"In {memory.alike} of {memory.count} episodes whose change calls for another path" in text
    assert f"{found.failures.far['max']} (" in text and "PRIDE" in text
    assert [each.name for each in key_numbers(found)] == [
        "success, perturbed",
        "success, control",
        "PRIDE",
        "overestimation",
        "memorisation index",
        "far failures",
    ]


def test_a_certain_loss_is_a_cost_and_an_uncertain_one_is_not(tmp_path: Path, write, made):
    episodes = [made(True, seed=seed) for seed in range(20)]
    episodes += [made(False, "lost", {"axis": "words"}, seed=seed) for seed in range(20)]
    episodes += [made(seed > 0, "kept", {"axis": "world"}, seed=seed) for seed in range(20)]
    text = " ".join(sentences(measured(write(tmp_path / "run.assay", episodes))))
    assert "Changes of the words cost it 100.0 points" in text
    assert "Changes of the world show no certain effect" in text
    assert "It loses most under lost (100 % to 0 %)." in text


def test_an_unperturbed_run_is_not_called_perturbed(tmp_path: Path, write, made):
    (sentence, *_) = sentences(measured(write(tmp_path / "run.assay", [made(True), made(False, seed=1)])))
    assert sentence.startswith("It succeeds in 1 of 2 episodes, none of them perturbed")
