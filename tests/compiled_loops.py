"""The simulator's and the oracle's inner loops as machine code: made once, before the tests.

Several processes run the tests, and each of them would compile what is not there, at the same time.
"""

from __future__ import annotations

from pathlib import Path

LOOPS = ("sim/torque", "sim/robot_contacts", "sim/stages", "policies/oracle/grasps")
"""Modules that have some, which one episode of the oracle's calls."""
SOURCE = Path(__file__).parents[1] / "src" / "assay"


def missing() -> bool:
    """Whether a module was changed since its machine code was made, or has none."""
    for loop in LOOPS:
        module = SOURCE / f"{loop}.py"
        made = [each.stat().st_mtime for each in (module.parent / "__pycache__").glob(f"{module.stem}.*.nbi")]
        if not made or min(made) < module.stat().st_mtime:
            return True
    return False


if __name__ == "__main__" and missing():
    from assay.episodes import EpisodeSpec
    from assay.runs.worker import EpisodeRunner, WorkerConfig

    EpisodeRunner(WorkerConfig("oracle")).run(EpisodeSpec("libero_goal/7", 0, steps=70))
