"""Scoring: 300,000 answers: those of 34 models to about as many questions as ActionEQA has (8,795)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from assay.extensions.eqa.asking.answers import Answer, AnswerState, write
from assay.extensions.eqa.question import LETTERS, Question, QuestionKind
from bench.figure import Figure

QUESTIONS, MODELS, EPISODES = 8_824, 34, 2_629

_SCORE = """
import json, sys, time
from pathlib import Path
from assay.extensions.eqa.question import load
from assay.extensions.eqa.scoring.score import Score
from assay.extensions.eqa.scoring.answer_sheet import AnswerSheet

start = time.perf_counter()
folder = Path(sys.argv[1])
found = Score.of(AnswerSheet.read(load(folder), sorted(folder.glob("*.answers"))))
json.dumps(found.as_json())
assert len(found.models) == int(sys.argv[2]) and len(found.comparisons) == 561
print(time.perf_counter() - start)
"""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = [_question(number) for number in range(QUESTIONS)]
        lines = (question.model_dump_json() for question in questions)
        (folder / "questions.jsonl").write_text("".join(f"{line}\n" for line in lines))
        rng = np.random.default_rng(7)
        for model in range(MODELS):
            right = rng.random(QUESTIONS) < 0.25 + 0.02 * model
            letters = np.where(
                right, [question.answer for question in questions], rng.choice(list(LETTERS), QUESTIONS)
            )
            given = [
                Answer(
                    f"model {model}",
                    "direct",
                    question.id,
                    AnswerState.ANSWERED,
                    str(letter),
                    text=str(letter),
                )
                for question, letter in zip(questions, letters, strict=True)
            ]
            write(given, folder / f"{model:02}.answers")
        done = subprocess.run(
            [sys.executable, "-c", _SCORE, name, str(MODELS)], capture_output=True, text=True, check=True
        )
    what = f"scoring {QUESTIONS * MODELS:,} answers of {MODELS} models"
    return [Figure(what, float(done.stdout), "s", 5.0)]


def _question(number: int) -> Question:
    kind, episode = list(QuestionKind)[number % 6], number % EPISODES
    high, rng = kind.value.startswith("H"), np.random.default_rng(number)
    actions = rng.uniform(-0.4, 0.4, (1 if kind.predicts else 4, 7)).round(4) * [1, 1, 1, 90, 90, 90, 2]
    names = [f"episode {episode} frame {frame}" for frame in range(5 if kind.predicts else 2)]
    return Question.of(
        kind=str(kind),
        dataset=f"set {episode % 3}",
        episode=f"episode {episode}",
        group=f"scene {episode % 40}",
        view="exo",
        text=f"question {number}",
        pictures=[f"pictures/{number}{time}.png" for time in range(1 if kind.predicts else 2)],
        options=[] if kind.predicts else list(LETTERS),
        option_pictures=[f"pictures/{number}{letter}.png" for letter in LETTERS] if kind.predicts else [],
        answer=LETTERS[int(rng.integers(4))],
        moments=names,
        states=[],
        actions=[] if high else np.sign(actions).tolist() if kind is QuestionKind.M_AI else actions.tolist(),
        achieved=[],
        thresholds=[0.1, 0.1, 0.1, 18.0, 18.0, 18.0, 0.2],
        turning="wrapped",
    )


if __name__ == "__main__":
    print(json.dumps([figure.as_json() for figure in measure()], indent=1))
