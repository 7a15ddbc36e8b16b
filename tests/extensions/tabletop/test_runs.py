from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec, task_of
from assay.experiments import load_experiment
from assay.extensions.tabletop.world.simulation import TableSimulation
from assay.runs.display import condition_table
from assay.runs.driver import drive
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.store import Store


def plan(selection: str, seeds: tuple[int, ...] = (0,)) -> list[EpisodeSpec]:
    experiment = load_experiment("prompts")
    return list(experiment.plan(experiment.choose(selection), seeds))


def test_tabletop_run_is_recorded_and_can_be_replayed(tmp_path: Path):
    specs = plan("tabletop/T1/L1", (0, 1))
    with Store.writing(tmp_path / "r.assay") as store:
        store.plan(specs)
        assert drive(store, LocalProcesses(WorkerConfig("oracle", world="tabletop"), 2)).left == 0
        frame, counts = store.frame(), store.counts()
        (path,) = (path for _, path in store.trajectories([int(frame["id"][0])]))
    control = frame.row(0, named=True)
    assert (control["condition"], control["outcome"], control["steps"]) == ("control", "success", 1)
    assert (control["touched"], control["moved"], control["best"]) == ("dragged_obj", "dragged_obj", 1)
    assert control["instruction"] == task_of(specs[0]).instruction.words
    assert path.actions.shape == (1, 12) and path.end_effector.shape == (2, 3)
    world = TableSimulation(task_of(specs[0]).scene)
    world.step(path.actions[0])
    item, base = (world.scene.index(name) for name in ("dragged_obj", "base_obj"))
    assert np.linalg.norm(world.poses()[item, :2] - world.poses()[base, :2]) < 0.1
    told = {row["condition"]: row["outcome"] for row in frame.to_dicts()}
    assert told["paraphrase"] == told["order=permuted"] == "success"
    assert told["mask=instruction"] == told["gobbledygook=words"] == "failure"
    expected = dict(counts.select("condition", "success_expected").iter_rows())
    assert expected["control"] and expected["order=permuted"] and not expected["mask=instruction"]
    table = condition_table(counts, set(), {})
    assert {"mask=visual (success is not expected)", "control"} <= set(table.columns[0].cells)


def test_one_worker_or_another_gives_the_same_episodes():
    specs = plan("T12", (3,))[:4]
    one, other = (EpisodeRunner(WorkerConfig("order-follower", world="tabletop")) for _ in range(2))
    other.run(specs[2])
    for spec in specs:
        first, second = one.run(spec), other.run(spec)
        assert first.outcome == second.outcome
        assert np.array_equal(first.trajectory.actions, second.trajectory.actions)
