"""Define a perturbation and an experiment in one script."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import assay
from assay.episodes import Change, Effect, Instruction


@assay.perturbation
class Please(assay.Perturbation):
    """Adds "please" to the instruction."""

    kind = "words/please"
    effects = frozenset({Effect.WORDS})  # physics, looks, goal and senses stay as they are
    change = Change.WORDING

    times: int = 1

    def apply(self, task, rng):
        """Return the task with a polite instruction."""
        return replace(task, instruction=Instruction(f"{'please ' * self.times}{task.instruction.text}"))


POLITENESS = assay.Experiment(
    "politeness",
    "Does a polite instruction change success?",
    variants=lambda task: [assay.Variant(f"politeness/{n}", (Please(n),), {"times": n}) for n in (1, 2)],
)


def main(out: Path, seeds: int = 2) -> None:
    """Run every condition and its control."""
    run = assay.run(
        POLITENESS, policy="keyword", tasks="libero_goal/7", seeds=seeds, steps=120, out=out, workers=0
    )
    for row in run.frame().iter_rows(named=True):
        print(f"{row['condition']:<14} seed {row['seed']}: {row['outcome']:<8} {row['instruction']!r}")


if __name__ == "__main__":
    main(Path("out/politeness.assay"), *map(int, sys.argv[1:]))
