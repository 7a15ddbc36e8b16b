from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.extensions.tabletop.networks.dataset import (
    BINS,
    Batch,
    Dataset,
    Example,
    History,
    make_batch,
)
from assay.extensions.tabletop.networks.tokens import TokenForm

torch = pytest.importorskip(
    "torch", reason="learned policies need torch: pip install 'assay-robotics[learn]'"
)

from assay.extensions.tabletop.networks.training import (  # noqa: E402  # noqa: E402
    PromptNetwork,
    distinct,
    score_held_out,
    train,
    train_step,
)
from assay.support.training import Schedule, count_parameters  # noqa: E402


def _batch(dataset: Dataset, *examples: Example) -> Batch:
    return make_batch(examples, dataset.vocabulary)


def _network(dataset: Dataset, *, cross: bool) -> PromptNetwork:
    """A network that gives something else than nothing."""
    torch.manual_seed(0)
    network = PromptNetwork(dataset.vocabulary.size, cross=cross, form=dataset.form).eval()
    for head in network.heads:
        torch.nn.init.normal_(head.straight.weight, std=0.1)
    return network


@pytest.mark.parametrize("form", list(TokenForm))
@pytest.mark.parametrize("cross", [True, False])
def test_logits_of_an_example_are_independent_of_its_batch(recorded: Path, form: TokenForm, cross: bool):
    dataset = Dataset.read(recorded, form)
    network = _network(dataset, cross=cross)
    assert count_parameters(network) < 3_000_000
    bare = replace(dataset.examples[0], prompt=())  # the whole instruction is masked
    with torch.inference_mode():
        logits, bins = network(_batch(dataset, *dataset.examples[:4], bare))
        assert [tuple(each.shape) for each in logits] == [(5, count) for count in BINS]
        assert bins.shape == (5, 5) and all(torch.isfinite(each).all() for each in logits)
        for index, each in ((0, dataset.examples[0]), (4, bare)):
            alone, _ = network(_batch(dataset, each))
            assert torch.allclose(alone[0][0], logits[0][index], atol=1e-3) and alone[0].std() > 0.1


def test_equal_crops_are_encoded_once():
    crops = np.random.default_rng(0).integers(256, size=(3, 4, 4, 3), dtype=np.uint8)[[1, 0, 1, 2, 0]]
    first, which = distinct(crops)
    assert first.tolist() == [0, 1, 3]
    assert (crops[first][which.numpy()] == crops).all()


def test_order_words_and_history_change_the_output(recorded: Path):
    dataset = Dataset.read(recorded, TokenForm.OBJECTS)
    first, second = dataset.examples[0], dataset.examples[-1]
    now = replace(first.history.seen[-1], places=first.history.seen[-1].places[::-1].copy())
    reordered = replace(first, history=History((now,), first.history.done))
    mute = replace(first, prompt=tuple(part for part in first.prompt if not isinstance(part, str)))
    first_seen, now = second.history.seen
    forgotten = replace(second, history=History((now,), second.history.done[:0]))
    otherwise = replace(second, history=History((first_seen, now), second.history.done + 10.0))
    network = _network(dataset, cross=True)
    for example, *changed in ((first, reordered, mute), (second, forgotten, otherwise)):
        with torch.inference_mode():
            logits, _ = network(_batch(dataset, example, *changed))
        assert not any(torch.allclose(logits[0][0], logits[0][place], atol=1e-3) for place in (1, 2))


def test_a_network_overfits_a_few_examples(recorded: Path):
    dataset = Dataset.read(recorded, TokenForm.OBJECTS)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = PromptNetwork(dataset.vocabulary.size, cross=True, form=dataset.form)
    optimizer, schedule = torch.optim.AdamW(network.parameters()), Schedule(steps=40)
    losses = [
        train_step(
            network, optimizer, dataset.examples, dataset.vocabulary, schedule.rate_at(step / schedule.steps)
        )
        for step in range(schedule.steps)
    ]
    assert losses[-1] < 1.4 < 3 < losses[0]
    held_out = score_held_out(network.eval(), dataset.examples, dataset.vocabulary)
    assert held_out == dict.fromkeys(("T1", "T3", "T15"), 1.0)


def test_the_same_seed_trains_the_same_network_and_permuting_another(recorded: Path):
    dataset = Dataset.read(recorded, TokenForm.OBJECTS)

    def weights(seed: int, *, permute: bool = False) -> np.ndarray:
        schedule = Schedule(steps=3, batch=4)
        network, record = train(dataset, "concat-objects", schedule, seed=seed, permute=permute)
        assert record.steps == 3
        return network.heads[0].straight.weight.detach().numpy()

    assert (weights(0) == weights(0)).all()
    assert (weights(0) != weights(1)).any() and (weights(0) != weights(0, permute=True)).any()
