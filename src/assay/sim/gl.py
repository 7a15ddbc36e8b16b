"""Find a way to draw on this machine: EGL, OSMesa or GLFW, whichever works first.

A backend is tried in a process of its own, because a GL library that fails may take its process down and
because PyOpenGL cannot change its mind. What was found is kept in ``MUJOCO_GL`` and ``ASSAY_GL_WORKS``, so that
child processes neither search nor try it again, which takes a second.
"""

from __future__ import annotations

import ctypes.util
import importlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.errors import RenderingError

BACKENDS = ("cgl",) if sys.platform == "darwin" else ("egl", "osmesa", "glfw")
"""In the order they are tried."""

PACKAGES = "libegl1 libgl1 libopengl0 libgl1-mesa-dri"
"""What brings software GL to Debian and Ubuntu; scripts/ensure-gl.sh installs them."""

INSTALL_HINT = f"apt-get install {PACKAGES}"

_WORKS = "ASSAY_GL_WORKS"
"""Names the backend that a process has tried, to the processes that it starts."""

_CHOICE = f"choose one of {', '.join(BACKENDS)}, or unset it"

_PROBE = """
import ctypes, os, sys
if sys.platform == "linux":  # whoever is killed while it tries leaves nobody behind: PR_SET_PDEATHSIG, SIGKILL
    ctypes.CDLL(None).prctl(1, 9)
    if os.getppid() != {parent}:
        sys.exit()
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


_KILLED = f"died with status {-signal.SIGKILL}"
_TIMES = 5
"""How often a process is started that is killed each time; where memory is short, nothing helps."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What trying a backend showed."""

    backend: str
    works: bool
    detail: str
    """The name of the renderer, or the last line of the error."""


def probe(backend: str) -> Probe:
    """Try a backend in a process of its own, and again where somebody killed that."""
    for _ in range(_TIMES):
        tried = _tried(backend)
        if tried.detail != _KILLED:
            break
    return tried


def _tried(backend: str) -> Probe:
    lacking = _lacking(backend)
    if lacking:
        return Probe(backend, False, lacking)
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    environment["MUJOCO_GL"] = backend
    try:
        result = subprocess.run(
            [sys.executable, "-c", _PROBE.format(backend=backend, parent=os.getpid())],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Probe(backend, False, "did not answer within 60 s")
    if result.returncode == 0:
        return Probe(backend, True, result.stdout.strip())
    said, *_ = result.stderr.split("Exception ignored in")  # what follows is only the clean-up failing too
    lines = [line for line in said.strip().splitlines() if line.strip()]
    return Probe(backend, False, lines[-1].strip() if lines else f"died with status {result.returncode}")


def _lacking(backend: str) -> str:
    """What the backend obviously lacks on this machine, or an empty string."""
    if backend == "glfw":
        shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return "there is no display" if sys.platform == "linux" and not shown else ""
    library = {"egl": "EGL", "osmesa": "OSMesa"}.get(backend, "")
    return "" if not library or ctypes.util.find_library(library) else f"lib{library} is not installed"


@cache
def choice() -> str:
    """The backend that ``MUJOCO_GL`` asks for when this is first called; empty where it asks for none."""
    return os.environ.get("MUJOCO_GL", "").lower().strip()


@cache
def backend() -> str:
    """The backend this process draws with. Raises RenderingError if none works."""
    chosen = choice()
    if chosen and chosen not in BACKENDS:
        raise RenderingError(f"MUJOCO_GL is '{chosen}', which cannot draw; {_CHOICE}")
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
        raise RenderingError(f"MUJOCO_GL asks for {failures[0]}; {_CHOICE}")
    raise RenderingError(
        f"no way to draw pictures here ({'; '.join(failures)}); on Debian or Ubuntu: {INSTALL_HINT}; "
        "everything that needs no picture still runs"
    )


def context(width: int, height: int) -> Any:
    """A new GL context of the working backend."""
    module = importlib.import_module(f"mujoco.{backend()}")
    try:
        return module.GLContext(width, height)
    except (RuntimeError, ImportError) as error:
        raise RenderingError(f"{backend()} worked before but gave no context now: {error}") from None


_OF_THREAD = threading.local()


def thread_context() -> Any:
    """The GL context of this thread, made at its first use and kept.

    Whatever a thread draws shares it: each new context compiles its shaders anew, which takes software GL a
    quarter of a second.
    """
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = context(640, 480)
    return _OF_THREAD.context
