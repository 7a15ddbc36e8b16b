from __future__ import annotations

import ctypes.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import pytest

from assay import __version__
from assay.sim import gl
from assay.sim.packs.libero import LiberoPack

Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("no_assets", "wide")


tried = cache(gl.probe)


@pytest.fixture
def tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe the rendering backends only once for all tests about asset packs."""
    monkeypatch.setattr(gl, "probe", tried)


def test_doctor_lists_versions_backends_and_packs(drawing: str, assay: Run):
    said = assay("doctor")
    assert said.status == 0 and said.err == ""
    assert f"assay {__version__}" in said.out and f"MuJoCo {mujoco.mj_versionString()}" in said.out
    for backend in gl.BACKENDS:
        assert f" {backend} " in said.out
    works = next(line for line in said.out.splitlines() if f" {drawing} " in line)
    assert "works" in works
    primitives = next(line for line in said.out.splitlines() if " primitives " in line)
    assert "works" in primitives and "categories" in primitives
    libero = next(line for line in said.out.splitlines() if " libero " in line)
    assert "not set up" in libero and "ASSAY_LIBERO_ASSETS" in libero


@pytest.mark.usefixtures("tried_once")
def test_doctor_finds_liberos_assets(assay: Run, libero: LiberoPack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASSAY_LIBERO_ASSETS", str(libero.libero))
    monkeypatch.setenv("ASSAY_ROBOSUITE_ASSETS", str(libero.robosuite))
    said = assay("doctor")
    line = next(line for line in said.out.splitlines() if " libero " in line)
    assert "works" in line and f"{len(libero.categories)} categories" in line and libero.digest()[:12] in line


@pytest.mark.usefixtures("tried_once")
def test_doctor_reports_a_damaged_configuration(assay: Run, no_assets: Path):
    (no_assets / "assay").mkdir(parents=True)
    (no_assets / "assay/assets.json").write_text("{")
    said = assay("doctor")
    assert "is damaged" in said.out and "Traceback" not in said.err


NO_GL = {
    "MUJOCO_GL": "",
    "DISPLAY": "",
    "WAYLAND_DISPLAY": "",
    "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere.json",
    "OSMESA_LIBRARY": "/nowhere.so",
}
"""Environment of a machine without a display, whose GL library finds no driver."""


@pytest.fixture
def doctor(assay: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command with environment variables, which the probes of the backends inherit."""

    def run(**environment: str) -> Any:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return assay("doctor")

    return run


@pytest.mark.skipif(sys.platform != "linux", reason="the variables are those of Linux's GL libraries")
def test_doctor_explains_how_to_install_a_missing_backend(doctor: Run):
    said = doctor(**NO_GL)
    line = next(line for line in said.out.splitlines() if " egl " in line)
    assert "does not work" in line and "_context" not in line
    if ctypes.util.find_library("OSMesa"):
        pytest.skip("OSMesa draws without any driver")
    assert said.status == 1 and said.err == ""
    assert gl.INSTALL_HINT in " ".join(said.out.split()) and "does not need images works" in said.out


def test_doctor_reports_an_unknown_backend(executable: Run):
    said = executable("doctor", MUJOCO_GL="nonsense")
    assert "Traceback" not in said.err
    assert "nonsense" in said.out + said.err


@pytest.mark.skipif("glfw" not in gl.BACKENDS, reason="there is no glfw here")
def test_doctor_reports_a_backend_that_cannot_render(doctor: Run):
    said = doctor(MUJOCO_GL="glfw", DISPLAY="", WAYLAND_DISPLAY="")
    assert said.status == 1 and "MUJOCO_GL" in said.out
