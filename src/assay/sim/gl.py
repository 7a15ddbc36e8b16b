"""Select the first working GL backend on this machine: EGL, OSMesa or GLFW.

Each backend is tested in a subprocess, because a failing GL library may crash its process and PyOpenGL cannot switch
backends. The result is stored in ``MUJOCO_GL`` and ``ASSAY_GL_WORKS``, so that child processes skip the test, which
takes a second.
"""

from __future__ import annotations

import ctypes.util
import importlib
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.errors import RenderingError
from assay.support.processes import BEFORE_EXEC

BACKENDS = ("cgl",) if sys.platform == "darwin" else ("egl", "osmesa", "glfw")
"""Backends, in the order in which they are tested."""
PACKAGES = "libegl1 libgl1 libopengl0 libgl1-mesa-dri"
"""Debian and Ubuntu packages that provide software GL; scripts/ensure-system.sh installs them."""
INSTALL_HINT = f"apt-get install {PACKAGES}"
_WORKS = "ASSAY_GL_WORKS"
"""Environment variable that passes the tested backend on to child processes."""
_CHOICE = f"choose one of {', '.join(BACKENDS)}, or unset it"

_PROBE = """
from mujoco.{backend} import GLContext
import mujoco
context = GLContext(16, 16)
context.make_current()
model = mujoco.MjModel.from_xml_string(
    "<mujoco><visual><quality shadowsize='0'/></visual><worldbody><geom size='1'/></worldbody></mujoco>"
)
drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, drawing)
assert drawing.currentBuffer == mujoco.mjtFramebuffer.mjFB_OFFSCREEN, "no offscreen buffer"
from OpenGL import GL
print(GL.glGetString(GL.GL_RENDERER).decode())
drawing.free()
context.free()
"""


@dataclass(frozen=True, slots=True)
class BackendTest:
    """Result of testing a backend."""

    backend: str
    works: bool
    detail: str
    """Name of the renderer, or the last line of the error message."""


def probe(backend: str) -> BackendTest:
    """Test a backend in a subprocess."""
    library = {"egl": "EGL", "osmesa": "OSMesa"}.get(backend)
    if library and not ctypes.util.find_library(library):
        return BackendTest(backend, False, f"lib{library} is not installed")
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if backend == "glfw" and sys.platform == "linux" and not display:
        return BackendTest(backend, False, "no display found")
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    environment["MUJOCO_GL"] = backend
    try:
        result = subprocess.run(
            [sys.executable, "-c", _PROBE.format(backend=backend)],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            check=False,
            preexec_fn=BEFORE_EXEC,
        )
    except subprocess.TimeoutExpired:
        return BackendTest(backend, False, "did not respond within 60 s")
    if result.returncode == 0:
        return BackendTest(backend, True, result.stdout.strip())
    stderr, *_ = result.stderr.split("Exception ignored in")  # what follows is only the failing clean-up
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    return BackendTest(
        backend, False, lines[-1].strip() if lines else f"exited with status {result.returncode}"
    )


@cache
def choice() -> str:
    """Return the value that ``MUJOCO_GL`` had at the first call; empty if the variable was not set."""
    return os.environ.get("MUJOCO_GL", "").lower().strip()


@cache
def backend() -> str:
    """Return the GL backend used by this process. Raises RenderingError if no backend works."""
    chosen = choice()
    if chosen and chosen not in BACKENDS:
        raise RenderingError(f"MUJOCO_GL is '{chosen}', which cannot render; {_CHOICE}")
    if chosen and chosen == os.environ.get(_WORKS):
        os.environ["MUJOCO_GL"] = chosen
        return chosen
    candidates = (chosen,) if chosen else BACKENDS
    failures = []
    for candidate in candidates:
        result = probe(candidate)
        if result.works:
            os.environ["MUJOCO_GL"] = os.environ[_WORKS] = candidate
            return candidate
        failures.append(f"{candidate}: {result.detail}")
    if chosen:
        raise RenderingError(f"MUJOCO_GL selects a backend that does not work ({failures[0]}); {_CHOICE}")
    raise RenderingError(
        f"no GL backend works on this machine ({'; '.join(failures)}); on Debian or Ubuntu: {INSTALL_HINT}; "
        "commands that need no images still work"
    )


def context(width: int, height: int) -> Any:
    """Return a new GL context from the working backend."""
    module = importlib.import_module(f"mujoco.{backend()}")
    try:
        return module.GLContext(width, height)
    except (RuntimeError, ImportError) as error:
        raise RenderingError(
            f"{backend()} passed its test but cannot create a context now: {error}"
        ) from None
