"""Record the behaviour of LIBERO itself for ``assay parity``: rollouts, predicates, images and composed models.

Runs in an environment with LIBERO, robosuite 1.4.0 and mujoco 3.3.2; Assay is not required:

    python scripts/libero_reference.py OUT --suite libero_90 --tasks 0,4,20 --assets ASSETS --states INIT_FILES
    assay parity OUT

ASSETS and INIT_FILES are those fetched by ``assay assets get``, or those of a checkout. The files have the layout
described in ``docs/libero.md``. Actions are random and determined by --seed.
"""

from __future__ import annotations

import argparse
import gzip
import os
import runpy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

STEPS, STORED, MOVED, SIZE = 40, 4, 16, 128
"""Steps of a rollout; stored and modified states for predicates; image size, pixels."""


def configured(assets: Path) -> None:
    """Import LIBERO with the given assets and without its prompt on first import."""
    import importlib.util

    found = importlib.util.find_spec("libero")
    assert found is not None and found.submodule_search_locations, "LIBERO is not installed"
    root = Path(next(iter(found.submodule_search_locations))) / "libero"
    folder = Path(tempfile.mkdtemp(prefix="libero-config-"))
    places = {"bddl_files": root / "bddl_files", "init_states": root / "init_files", "datasets": root}
    places |= {"benchmark_root": root, "assets": assets}
    (folder / "config.yaml").write_text("".join(f"{name}: {place}\n" for name, place in places.items()))
    os.environ["LIBERO_CONFIG_PATH"] = str(folder)
    own = root / "assets"
    if not own.exists():
        own.symlink_to(assets)


def stored(folder: Path, suite: str, name: str) -> np.ndarray:
    """Return the stored initial states of a task, (50, n), from an ``.npz`` of plain numbers."""
    with np.load(folder / suite / f"{name}.pruned_init.npz", allow_pickle=False) as archive:
        return np.asarray(archive[archive.files[0]], np.float64)


class Recorded:
    """A LIBERO task."""

    def __init__(self, suite: str, number: int, states: Path, seed: int) -> None:
        from libero.libero import get_libero_path
        from libero.libero.envs.env_wrapper import ControlEnv

        names = runpy.run_path(
            f"{get_libero_path('benchmark_root')}/benchmark/libero_suite_task_map.py"
        )  # without torch
        name = names["libero_task_map"][suite][number]
        file = Path(get_libero_path("bddl_files")) / suite / f"{name}.bddl"
        self.env = ControlEnv(str(file), use_camera_obs=False, has_offscreen_renderer=True, horizon=10**6)
        self.env.seed(seed)
        self.env.reset()
        self.initial = stored(states, suite, name)
        self.rng = np.random.default_rng([seed, number])
        self.named = {"suite": suite, "task": number, "bddl": file.name}

    def roots(self) -> dict[str, Any]:
        """Return the positions of the bodies attached to the world."""
        model = self.env.sim.model
        found = [index for index in range(1, model.nbody) if model.body_parentid[index] == 0]
        return {
            "root_bodies": np.array([model.body_id2name(index) for index in found]),
            "root_pos": np.array([model.body_pos[index] for index in found]),
            "root_quat_wxyz": np.array([model.body_quat[index] for index in found]),
        }

    def rollout(self) -> dict[str, Any]:
        """Record random actions from the first stored state."""
        self.env.reset()
        self.env.set_init_state(self.initial[0])
        states, actions = [self.env.get_sim_state()], []
        drift = np.zeros(7)
        for _ in range(STEPS):
            drift = 0.7 * drift + 0.3 * self.rng.uniform(-1.5, 1.5, 7)
            actions.append(np.clip(drift, -1, 1))
            self.env.step(actions[-1])
            states.append(self.env.get_sim_state())
        return (
            self.named
            | self.roots()
            | {"actions": np.array(actions), "states": np.array(states), "init_index": 0}
        )

    def truths(self) -> dict[str, Any]:
        """Record which relations hold in stored states, and in states with one object placed on another."""
        env = self.env.env
        goal = [list(map(str, atom)) for atom in env.parsed_problem["goal_state"]]
        things = list(env.objects_dict)
        places = [*env.object_states_dict]
        atoms = [
            *goal,
            *(
                [kind, one, other]
                for kind in ("on", "in")
                for one in things
                for other in places
                if one != other
            ),
        ]
        states = [*self.initial[:STORED], *(self._moved(things, places) for _ in range(MOVED))]
        truth = []
        for state in states:
            self.env.sim.set_state_from_flattened(state)
            self.env.sim.forward()
            truth.append([self._holds(atom) for atom in atoms])
        table = np.array(truth, object)
        known = [
            column for column in range(len(atoms)) if all(value is not None for value in table[:, column])
        ]
        said = [" ".join([atoms[column][0].lower(), *atoms[column][1:]]) for column in known]
        unique = list(dict.fromkeys(said))
        columns = [known[said.index(each)] for each in unique]
        return (
            self.named
            | self.roots()
            | {
                "states": np.array(states),
                "atoms": np.array(unique),
                "truth": table[:, columns].astype(np.int8),
            }
        )

    def _holds(self, atom: list[str]) -> bool | None:
        """Return whether a relation holds; None if LIBERO cannot evaluate it."""
        try:
            return bool(self.env.env._eval_predicate(atom))
        except Exception:
            return None

    def _moved(self, things: list[str], places: list[str]) -> np.ndarray:
        """Return a stored state with one object above another."""
        sim = self.env.sim
        state = self.initial[self.rng.integers(len(self.initial))].copy()
        one = self.rng.choice(things)
        sim.set_state_from_flattened(state)
        sim.forward()
        body = self.rng.choice([name for name in sim.model.body_names if name.endswith("_main")])
        address = sim.model.get_joint_qpos_addr(self.env.env.objects_dict[one].joints[0])
        at = sim.data.get_body_xpos(body) + self.rng.uniform([-0.03, -0.03, 0.0], [0.03, 0.03, 0.12])
        state[1 + address[0] : 4 + address[0]] = at
        return state

    def images(self) -> dict[str, Any]:
        """Record the images of both cameras in two stored states, bottom row first."""
        states = self.initial[:2]
        seen: dict[str, list[np.ndarray]] = {"agentview": [], "robot0_eye_in_hand": []}
        for state in states:
            self.env.sim.set_state_from_flattened(state)
            self.env.sim.forward()
            for camera, found in seen.items():
                found.append(self.env.sim.render(camera_name=camera, width=SIZE, height=SIZE))
        return (
            self.named
            | self.roots()
            | {
                "states": states,
                "agentview": np.array(seen["agentview"]),
                "wrist": np.array(seen["robot0_eye_in_hand"]),
            }
        )

    def model(self, assets: Path) -> bytes:
        """Record the composed model, with asset folders replaced by their names."""
        import robosuite

        text = self.env.env.model.get_xml()
        import libero.libero

        for place in {assets, assets.resolve(), Path(libero.libero.__file__).parent / "assets"}:
            text = text.replace(f"{place}/", "LIBERO_ASSETS/")
        return gzip.compress(
            text.replace(f"{Path(robosuite.__file__).parent}/models/assets/", "ROBOSUITE_ASSETS/").encode()
        )


def main() -> None:
    """Record the selected tasks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", default="libero_90")
    parser.add_argument("--tasks", default="0", help="task numbers, separated by commas")
    parser.add_argument("--assets", type=Path, required=True)
    parser.add_argument("--states", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    configured(asked.assets)
    for name in ("trajectories", "predicates", "images", "composed"):
        (asked.out / name).mkdir(parents=True, exist_ok=True)
    for number in map(int, asked.tasks.split(",")):
        task = Recorded(asked.suite, number, asked.states, asked.seed)
        stem = f"{asked.suite}_{number:02d}"
        np.savez_compressed(asked.out / f"trajectories/{stem}_00_traj.npz", **task.rollout())
        np.savez_compressed(asked.out / f"predicates/{stem}_predicates.npz", **task.truths())
        np.savez_compressed(asked.out / f"images/{stem}_images.npz", **task.images())
        (asked.out / f"composed/{stem}.xml.gz").write_bytes(task.model(asked.assets))
        task.env.close()
        print(f"{stem}: {task.named['bddl']}", flush=True)


if __name__ == "__main__":
    main()
