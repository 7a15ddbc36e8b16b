"""Use a task as an environment: observe, step, render an image, read poses and predicates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import assay
from assay.errors import RenderingError
from assay.perturb import Say


def main(out: Path) -> None:
    """Move the arm down for a second and render an image."""
    print(assay.load_task("libero_goal/3").instruction)
    down = np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0, -1.0])  # translation, rotation, gripper (-1 opens)
    with assay.make_env("libero_goal/3", perturbations=[Say("put the bowl away")]) as env:
        observation = env.reset(seed=7)
        print("instruction:", env.task.instruction)
        for _ in range(20):  # 50 ms each
            observation = env.step(down)
        print("end effector, metres:", observation.eef_position.round(3))
        print("bowl, metres:", env.simulation.pose("akita_black_bowl_1")[0].round(3))
        print("solved:", env.succeeded)
        try:
            image = observation.image("agentview", 256)  # rendered now, and only now
        except RenderingError as error:
            print("no image:", error)
            return
    out.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(out)
    print("written to", out)


if __name__ == "__main__":
    main(Path("out/agentview.png"))
