from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.perturb.words.distance.baselines import baselines, meteor
from assay.perturb.words.distance.models import ModelError, minilm_files
from assay.perturb.words.stems import stem

pytestmark = pytest.mark.usefixtures("models")


@pytest.mark.parametrize(
    ("original", "paraphrase", "published"),
    [
        ("Put the cream cheese in the bowl", "carefully put the cream cheese in the bowl", 0.02),
        ("Put the cream cheese in the bowl", "put the cheese spread in the vessel", 0.36),
        ("Put the cream cheese in the bowl", "Is the spread supposed to go in the container?", 0.65),
        ("Turn on the stove", "carefully turn on the stove", 0.03),
        ("Turn on the stove", "turn on the range", 0.26),
        ("Turn on the stove", "Is the range hot yet?", 0.88),
    ],
)
def test_meteor_is_the_one_of_the_paper(original: str, paraphrase: str, published: float):
    assert 1 - meteor(original, paraphrase) == pytest.approx(published, abs=0.006)


def test_of_alignments_with_the_most_matches_that_with_the_fewest_chunks_counts():
    assert meteor("the rack and the bowl", "the bowl") > meteor("the rack and a the of bowl", "the bowl")


def test_words_of_one_stem_match_and_others_do_not():
    assert meteor("open the drawer", "opening the drawers") > meteor("open the drawer", "shutting the doors")
    assert meteor("turn on the stove", "xyz") == 0 == meteor("turn on the stove", "...")


def test_stems_are_those_of_porter():
    words = "caresses ponies agreed conflated hopping falling filing happy relational electrical adoption rate roll"
    stems = "caress poni agre conflat hop fall file happi relat electr adopt rate roll"
    assert [stem(word) for word in words.split()] == stems.split()


@pytest.mark.parametrize(
    ("original", "paraphrase", "published"),
    [
        ("Put the cream cheese in the bowl", "carefully put the cream cheese in the bowl", 0.16),
        ("Put the cream cheese in the bowl", "put the cheese spread in the vessel", 0.80),
        ("Turn on the stove", "turn on the range", 0.41),
        ("Turn on the stove", "Is the range hot yet?", 0.92),
    ],
)
def test_bleu_is_the_one_of_the_paper(original: str, paraphrase: str, published: float):
    (found,) = baselines([(original, paraphrase)])
    assert 1 - found["bleu"] == pytest.approx(published, abs=0.006)


def test_bert_score_says_its_model_and_takes_one_s_own(tmp_path: Path):
    for name, content in minilm_files().items():
        (tmp_path / name).write_bytes(content)
    config = {"model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 6, "hidden_act": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    pair = [("turn on the stove", "turn on the range")]
    (usual,), (own,), (lower,) = (
        baselines(pair, *name) for name in ((), (str(tmp_path),), (f"{tmp_path}/3",))
    )
    own_score = own[f"bert_score[{tmp_path}]"]
    assert usual["bert_score[all-MiniLM-L6-v2]"] == own_score != lower[f"bert_score[{tmp_path}/3]"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "config.json cannot be read"),
        (
            {"model_type": "t5", "num_attention_heads": 1, "num_hidden_layers": 1},
            "type 't5': expected bert or roberta",
        ),
        ({"model_type": "bert"}, "not the configuration of a BERT model"),
    ],
)
def test_a_folder_that_is_not_a_bert_model_is_rejected(
    tmp_path: Path, config: dict[str, object] | None, message: str
):
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"")
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message):
        baselines([("a", "b")], str(tmp_path))


def test_a_model_that_is_not_here_is_named():
    with pytest.raises(ModelError, match="the model 'no-such-model' is not installed"):
        baselines([("a", "b")], "no-such-model")
