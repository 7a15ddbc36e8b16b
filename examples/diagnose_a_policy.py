"""Run your own policy through an experiment and diagnose it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

import assay
from assay.policies.oracle.policy import Oracle
from assay.tasks import Goal


class Habit:
    """A policy that performs the trained task with the oracle's skills and ignores the instruction."""

    def __init__(self) -> None:
        self._oracle = _Deaf()

    def attach(self, env) -> None:  # only policies that may see the simulator's state have this
        self._oracle.attach(env)

    def reset(self, instruction, spec) -> None:  # instruction.text; spec.task, spec.seed
        self._oracle.reset(instruction, spec)

    def act(self, observation) -> np.ndarray:  # the next k actions, (k, 7): translation, rotation, gripper
        return self._oracle.act(observation)


class _Deaf(Oracle):
    def goal(self, instruction, spec) -> Goal:
        return assay.load_task(spec.task).goal


def main(out: Path, seeds: int = 5) -> None:
    """Run the experiment, print success rates and findings, and write the report."""
    run = assay.run("corruption", policy=Habit(), tasks="libero_goal/7", seeds=seeds, steps=120)
    rates = run.frame().group_by("condition", maintain_order=True)
    print(rates.agg(episodes=pl.len(), success=(pl.col("outcome") == "success").mean()))
    for finding in run.diagnose():
        print(f"{finding.verdict}: {finding.flaw}")
    print("report:", run.report(out))


if __name__ == "__main__":
    main(Path("out/diagnosis"), *map(int, sys.argv[1:]))
