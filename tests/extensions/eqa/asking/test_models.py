"""A tiny model of ``transformers`` with random weights; skipped where transformers or torch is absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.extensions.eqa.asking.answers import AnswerState
from assay.extensions.eqa.asking.models import open_model
from assay.extensions.eqa.asking.prompts import Prompting, Style
from assay.extensions.eqa.asking.session import ask
from assay.extensions.eqa.asking.settings import ModelSettings
from assay.support.llm.client import Cache
from assay.support.llm.protocols import LLMError

pytest.importorskip("torch", reason="torch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

TEMPLATE = (
    "{% for message in messages %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }} {% endif %}"
    "{% endfor %}{% endfor %}"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LLaVA, a few thousand weights."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<unk>", "<image>", "</s>", *"ABCD", *(f"w{number}" for number in range(20))]
    plain = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessor(
            size={"height": 28, "width": 28}, crop_size={"height": 28, "width": 28}
        ),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**small, image_size=28, patch_size=14),
        text_config=transformers.LlamaConfig(
            **small, vocab_size=len(words), max_position_embeddings=4096, eos_token_id=2, pad_token_id=2
        ),
        image_token_index=1,
    )
    folder = tmp_path_factory.mktemp("tiny")
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_a_local_model_answers_and_is_cached(tiny: Path, folder, questions, tmp_path: Path):
    cache = Cache(tmp_path / "said")
    texts = []
    for _ in range(2):
        answering = open_model(f"local:{tiny}", ModelSettings(most_tokens=3), cache)
        found = ask(questions[:3], folder, answering, Prompting.of(Style.DIRECT))
        assert all(each.state is not AnswerState.UNANSWERED for each in found.answers), found.answers
        texts.append([each.text for each in found.answers])
    cache.close()
    assert texts[0] == texts[1] and answering.ledger.cached == 3 and answering.ledger.requests == 0


def test_a_missing_local_model_is_reported(tmp_path: Path):
    cache = Cache(tmp_path / "said")
    with pytest.raises(LLMError, match="local:"):
        open_model(f"local:{tmp_path / 'none'}", ModelSettings(), cache)
    cache.close()
