"""Other processes of this machine: how they start quickly, in this environment, and end with the one that started them.

On Linux they are forked from a server process that has the simulator imported and has drawn nothing (a GL context
does not survive a fork): a worker starts in a few milliseconds instead of a second, and workers share memory.
Elsewhere each is a new interpreter.

They get no variables of this process's environment but those that are allowed: settings of the system, of Python, of
graphics, of numerical libraries and of Assay, and none that looks like a key. ``ASSAY_PASS=NAME,NAME`` allows more.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from typing import Any

from assay.files import scratch_folder

IMPORTED = ("assay.runs.worker", "assay.sim.world", "assay.policies.oracle.policy")
"""What the server has imported before it forks."""
ALLOWED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|LANG|LANGUAGE|TZ|TMP|TEMP|TMPDIR|TERM|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY"
    "|SYSTEMROOT|VIRTUAL_ENV|HF_HOME|PYTHON[A-Z]*"
    "|(LC|XDG|LD|DYLD|CONDA|SLURM|RAY|OMP|MKL|OPENBLAS|KMP|NUMBA|CUDA|NVIDIA|NCCL|MUJOCO|PYOPENGL|EGL|MESA|GALLIUM|LIBGL"
    "|__EGL|__GLX|TORCH|PYTORCH|TF|JAX|XLA|TRANSFORMERS|HF_HUB|COVERAGE|PYTEST|ASSAY|LIBERO)_[A-Za-z0-9_]*"
)
"""Variables of the environment that other processes get."""
SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|BEARER", re.IGNORECASE)
"""What the name of a variable contains that no other process gets, unless it is asked for by its name."""
PASS_VARIABLE = "ASSAY_PASS"
"""Names, with commas, of variables that are passed on besides."""
_DIE_WITH_PARENT = 1
"""prctl's PR_SET_PDEATHSIG."""


@cache
def context() -> ForkServerContext | SpawnContext:
    """What makes processes, pipes and shared values."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["assay.runs.preloading"])
    # multiprocessing's folder for sockets, as one that the next process takes away if this one is killed
    multiprocessing.current_process()._config.setdefault("tempdir", _sockets().name)  # type: ignore[attr-defined]
    return forking


@cache
def _sockets() -> TemporaryDirectory[str]:
    return scratch_folder(prefix="assay-mp-")


def start(target: Callable[..., None], *arguments: Any, variables: Iterable[str] = ()) -> BaseProcess:
    """A process that calls ``target`` and ends when this process does; ``variables`` of ours it sees besides."""
    process = context().Process(target=_call, args=(environment(variables), target, arguments), daemon=True)
    _serve()
    process.start()
    return process


def pool(
    workers: int, initialiser: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Such processes for many short jobs; ``initialiser`` is called in each of them first."""
    _serve()
    given = (environment(), initialiser or _nothing, arguments)
    return ProcessPoolExecutor(workers, context(), initializer=_call, initargs=given)


def environment(variables: Iterable[str] = ()) -> dict[str, str]:
    """What other processes see of our environment: what is allowed, and ``variables`` by their names."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many processes as cores; and sums in one order
    named = {*variables, *(name.strip() for name in os.environ.get(PASS_VARIABLE, "").split(","))}
    return {
        name: value
        for name, value in os.environ.items()
        if name in named or (ALLOWED.fullmatch(name) and not SECRET.search(name))
    }


@contextmanager
def environment_of_others() -> Iterator[None]:
    """Have only what others may see in our environment while they are started: they inherit it."""
    before, shown = dict(os.environ), environment()
    for name in before.keys() - shown.keys():
        del os.environ[name]
    try:
        yield
    finally:
        for name in before.keys() - os.environ.keys():
            os.environ[name] = before[name]


def _serve() -> None:
    """Start the server that forks processes, if there is one to start: with what others may see."""
    if isinstance(context(), ForkServerContext):
        with environment_of_others():
            forkserver.ensure_running()


def _call(environment: Mapping[str, str], target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    end_with_parent(True)  # the server, which ends at once with whoever started it
    os.environ.clear()  # the server's is that of its own start
    os.environ.update(environment)
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    target(*arguments)


def _nothing() -> None:
    pass


def _end_with(parent: BaseProcess) -> None:
    """End this process, whatever it is doing, when the one that started it has ended."""
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def end_with_parent(wanted: bool) -> None:
    """Let the system end this process, or not, when its parent ends; on Linux.

    A thread of ours may have to wait, where somebody's machine code does not let others in.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL if wanted else 0)
