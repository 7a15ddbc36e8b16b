"""Check that another harness runs the same episodes as ``assay run``, bit for bit.

Runs in an environment with Assay and the harness; neither requires the other:

    python scripts/harness_check.py vla-eval      # pip install vla-eval
    python scripts/harness_check.py lerobot       # pip install lerobot ./plugins/lerobot_env_assay

The model cannot solve any task. Its actions depend on images, state and instruction, so that any difference in its
input changes the trajectory. Uses the built-in assets (``primitives``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import assay

TASK, SEEDS, STEPS, SIZE, PORT = "libero_goal/7", 2, 12, 64, 8765
ASKED: dict[str, Any] = {
    "tasks": TASK,
    "conditions": "level3",
    "seeds": SEEDS,
    "steps": STEPS,
    "certified": False,
}
BESIDE = Path(sys.executable).parent
"""Folder of the harness's commands."""


def vla_eval(folder: Path) -> tuple[str, Path]:
    """Run vla-eval's harness with one of its model servers; return the server's address and the run."""
    out = folder / "vla-eval.assay"
    params = ASKED | {"experiment": "x", "out": str(out)}
    config = {
        "server": {"url": f"ws://127.0.0.1:{PORT}"},
        "output_dir": str(folder / "results"),
        "benchmarks": [
            {
                "benchmark": "assay.extensions.interop.bridges.vla_eval:AssayBenchmark",
                "episodes_per_task": SEEDS,
                "params": params,
            }
        ],
    }
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    subprocess.run(
        [BESIDE / "vla-eval", "run", "--no-docker", "--config", folder / "config.yaml"], check=True
    )
    return f"vla-eval://127.0.0.1:{PORT}", out


def serve() -> None:
    """Start a vla-eval model server."""
    from vla_eval.model_servers.predict import PredictModelServer
    from vla_eval.model_servers.serve import run_server
    from vla_eval.specs import (
        GRIPPER_CLOSE_POS,
        IMAGE_RGB,
        LANGUAGE,
        POSITION_DELTA,
        ROTATION_AA,
        STATE_EEF_POS_AA_GRIP,
    )

    class Reeling(PredictModelServer):  # type: ignore[misc]
        def get_observation_params(self) -> dict[str, bool]:
            return {"send_wrist_image": True, "send_state": True, "quat_no_antipodal": True}

        def get_action_spec(self) -> dict[str, Any]:
            return {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}

        def get_observation_spec(self) -> dict[str, Any]:
            images = {"agentview": IMAGE_RGB, "wrist": IMAGE_RGB}
            return images | {"state": STATE_EEF_POS_AA_GRIP, "language": LANGUAGE}

        def predict(self, obs: dict[str, Any], ctx: object) -> dict[str, np.ndarray]:
            front, wrist = (obs["images"][name].mean() / 255 for name in ("agentview", "wrist"))
            state, letters = np.asarray(obs["states"]), len(obs["task_description"])
            turns = [9 * front + letters, 7 * wrist + state[2], 5 * state[0] - state[1], 3 * state[3]]
            return {
                "actions": np.append(np.sin([*turns, state[4], front, 40 * state[0]])[:6], 1.0).astype(
                    np.float32
                )
            }

    sys.argv = [sys.argv[0], "--host", "127.0.0.1", "--port", str(PORT)]
    run_server(Reeling)


def lerobot(folder: Path) -> tuple[str, Path]:
    """Run ``lerobot-eval`` with an untrained ACT; return the policy's address and the run."""
    out, policy = folder / "lerobot.assay", folder / "act"
    _act(policy)
    asked = {
        "seeds": SEEDS,
        "steps": STEPS,
        "certified": "false",
        "conditions": "level3",
        "size": SIZE,
        "out": out,
    }
    options = [f"--env.{name}={value}" for name, value in asked.items()]
    options += [f"--policy.path={policy}", "--policy.device=cpu", "--env.type=assay", f"--env.task=x/{TASK}"]
    options += [f"--eval.n_episodes={SEEDS}", "--eval.batch_size=1", f"--output_dir={folder / 'eval'}"]
    subprocess.run([BESIDE / "lerobot-eval", *options], check=True)
    told = json.loads((folder / "eval/eval_info.json").read_text())
    print(
        "eval_info.json:", {name: each["n_episodes"] for name, each in told["per_group"].items()}, "episodes"
    )
    return f"lerobot:{policy}?device=cpu", out


def _act(folder: Path) -> None:
    import torch
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies import make_pre_post_processors
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy

    torch.manual_seed(0)
    images = ("observation.images.image", "observation.images.image2")
    seen = {name: PolicyFeature(FeatureType.VISUAL, (3, SIZE, SIZE)) for name in images}
    config = ACTConfig(
        input_features=seen | {"observation.state": PolicyFeature(FeatureType.STATE, (8,))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (7,))},
        chunk_size=5,
        n_action_steps=5,
        dim_model=32,
        n_heads=2,
        dim_feedforward=64,
        n_encoder_layers=1,
        use_vae=False,
        pretrained_backbone_weights=None,
        device="cpu",
        push_to_hub=False,
    )
    stats = {name: {"mean": torch.zeros(3, 1, 1), "std": torch.ones(3, 1, 1)} for name in images}
    stats["observation.state"] = {"mean": torch.zeros(8), "std": torch.ones(8)}
    stats["action"] = {"mean": torch.zeros(7), "std": torch.full((7,), 0.4)}
    ACTPolicy(config).save_pretrained(folder)
    for each in make_pre_post_processors(config, dataset_stats=stats):
        each.save_pretrained(folder)


def compare(theirs: assay.Run, ours: assay.Run) -> int:
    """Count the episodes with equal actions, trajectories and outcomes."""
    equal = 0
    for key in ours.episodes:
        one, other = theirs.episodes[key], ours.episodes[key]
        parts = ("actions", "end_effector", "gripper")
        same = all(
            np.array_equal(getattr(one.trajectory, name), getattr(other.trajectory, name)) for name in parts
        )
        told = ("outcome", "steps", "instruction", "condition", "seed")
        equal += same and all(one.row[name] == other.row[name] for name in told)
    return equal


def main() -> None:
    """Run the harness, then Assay, and compare."""
    harness = sys.argv[1] if len(sys.argv) == 2 else ""
    if harness == "serve":
        serve()
        return
    play = {"vla-eval": vla_eval, "lerobot": lerobot}.get(harness)
    if play is None:
        sys.exit("expected a harness: vla-eval or lerobot")
    server = subprocess.Popen([sys.executable, __file__, "serve"]) if harness == "vla-eval" else None
    try:
        with tempfile.TemporaryDirectory(prefix="assay-harness-") as scratch:
            time.sleep(5 if server else 0)  # the harness tries again until it is there
            address, path = play(Path(scratch))
            theirs = assay.open(path)
            ours = assay.run("x", address, **ASKED, out=Path(scratch) / "own.assay", workers=0)
            print(
                f"{harness} {version(harness)}: {compare(theirs, ours)} of {len(ours.episodes)} episodes equal"
            )
    finally:
        if server is not None:
            server.terminate()


if __name__ == "__main__":
    main()
