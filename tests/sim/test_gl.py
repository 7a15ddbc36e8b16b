from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assay.sim import gl

PHYSICS = """
import os
from assay import tasks
from assay.errors import RenderingError
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.bare_mujoco import mujoco
print(os.environ["MUJOCO_GL"])
world = Simulation(compile_scene(tasks.load("libero_10/5").scene, load_pack("primitives")))
seen = world.reset(world.sample(0))
mujoco.mj_step(world.model, world.data, 25)
print("stepped to", round(float(world.data.time), 3))
try:
    seen.image("agentview", 16)
    print("drew")
except RenderingError as error:
    print(error)
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, with these variables and no display."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    }
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=inherited | environment,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have displays of their own")
@pytest.mark.parametrize(
    ("value", "reason"), [("disabled", "MUJOCO_GL is 'disabled'"), ("glfw", "glfw: no display found")]
)
def test_physics_runs_whatever_the_variable_says_and_images_say_why_not(value: str, reason: str):
    result = run(PHYSICS, MUJOCO_GL=value)
    assert result.returncode == 0 and result.stderr == ""
    variable, stepped, message = result.stdout.strip().splitlines()
    assert (variable, stepped) == (value, "stepped to 0.05"), "the variable is as it was"
    assert reason in message and ", ".join(gl.BACKENDS) in message and "unset" in message


def test_a_backend_is_found_and_remembered_for_child_processes(drawing: str):
    script = """
import os
from assay.sim import gl
print(gl.backend())
print(os.environ["MUJOCO_GL"])
os.environ["MUJOCO_GL"] = "nonsense"
print(gl.backend())
"""
    assert run(script).stdout.split() == [drawing] * 3
