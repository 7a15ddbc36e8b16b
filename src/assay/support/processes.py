"""Child processes that start quickly and end with their parent.

On Linux they are forked from a server process that has imported the simulator and has rendered nothing, because a GL
context does not survive a fork. A worker starts in milliseconds instead of a second, and workers share memory.
Elsewhere each is a new interpreter.

Children inherit only allowed environment variables: settings of the system, of Python, of graphics, of numerical
libraries, of the network and of Assay, and none that looks like a key. ``ASSAY_PASS=NAME,NAME`` allows more.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import RunError

# The server imports this module before it asks the kernel to end it with its parent, so imports here must be quick.
if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from tempfile import TemporaryDirectory

J = TypeVar("J")
T = TypeVar("T")
IMPORTED = ("assay.runs.worker", "assay.sim.world", "assay.policies.oracle.policy")
"""What the server has imported before it forks."""
ALLOWED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|LANG|LANGUAGE|TZ|TMP|TEMP|TMPDIR|TERM|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY"
    "|SYSTEMROOT|VIRTUAL_ENV|HF_HOME|HF_ENDPOINT|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|PYTHON[A-Z]*"
    "|(HTTP|HTTPS|ALL|NO)_PROXY|(http|https|all|no)_proxy"
    "|(LC|XDG|LD|DYLD|CONDA|SLURM|RAY|OMP|MKL|OPENBLAS|KMP|NUMBA|CUDA|NVIDIA|NCCL|HIP|ROCR|MUJOCO|PYOPENGL|EGL|MESA|GALLIUM|LP"
    "|LIBGL|__EGL|__GLX|TORCH|PYTORCH|TRITON|TF|JAX|XLA|TRANSFORMERS|HF_HUB|COVERAGE|PYTEST|ASSAY|LIBERO)_[A-Za-z0-9_]*"
)
"""Variables of the environment that other processes get."""
SECRET = re.compile(
    "KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|BEARER|JWT|AUTH(?!ORITY)", re.IGNORECASE
)  # XAUTHORITY names a file
"""What the name of a variable contains that no other process gets, unless it is asked for by its name."""
ADDRESS = re.compile("HF_ENDPOINT|.*_PROXY", re.IGNORECASE)
"""Variables that are addresses, in which a name and a password may stand before an @: such stay here, too."""
PASS_VARIABLE = "ASSAY_PASS"
"""Names, with commas, of variables that are passed on besides."""
LONGEST_SOCKET = 100
"""Bytes that the path of a socket may have; systems allow 104 or 108."""
DEATHS = 5
"""How often in a row a pool may lose a process before it is given up."""
FIRST_PAUSE = 0.05
"""Seconds after the first death; each pause after that is twice as long."""
STARTED_BY = "ASSAY_STARTED_BY"
"""The variable that tells the server which process started it, and whether its main thread did."""
MAIN = "main"
_DIE_WITH_PARENT = 1
"""prctl's PR_SET_PDEATHSIG."""
_changing = threading.RLock()
"""Held while variables of our environment are away."""


def context() -> ForkServerContext | SpawnContext:
    """What makes processes, pipes and shared values."""
    with (
        _changing
    ):  # two threads that created it at once would have two folders, one of which is removed too early
        return _context()


@cache
def _context() -> ForkServerContext | SpawnContext:
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["assay.support.preloading"])
    # The folder for multiprocessing's sockets is one that the next process removes if this one is killed;
    # multiprocessing's own would stay behind, because its clean-up runs at a normal exit only.
    if (folder := _sockets()) is not None:
        multiprocessing.current_process()._config.setdefault("tempdir", folder.name)  # type: ignore[attr-defined]
    return forking


@cache
def _sockets() -> TemporaryDirectory[str] | None:
    """A folder whose sockets have paths that are short enough; None where only multiprocessing's own may be."""
    from tempfile import gettempdir

    from assay.support.files import scratch_folder

    for place in (Path(gettempdir()), Path("/tmp")):
        with suppress(OSError):
            folder = scratch_folder(place)
            if len(os.fsencode(f"{folder.name}/listener-12345678")) <= LONGEST_SOCKET:
                return folder
            folder.cleanup()
    return None


def start(target: Callable[..., None], *arguments: Any, variables: Iterable[str] = ()) -> BaseProcess:
    """A process that calls ``target`` and ends when this process does; ``variables`` of ours it sees besides."""
    for deaths in range(1, DEATHS + 1):
        process = context().Process(
            target=_call, args=(environment(variables), target, arguments), daemon=True
        )
        _serve()
        with suppress(EOFError, ConnectionError):  # the server was killed meanwhile
            process.start()
            return process
        _wait_for_the_end(deaths)
    raise RunError(f"the server that starts workers keeps dying: {DEATHS} times in a row")


def pool(
    workers: int, initialiser: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Such processes for many short jobs; ``initialiser`` is called in each of them first."""
    from concurrent.futures import ProcessPoolExecutor

    _serve()
    setup = (environment(), initialiser or _nothing, arguments)
    return ProcessPoolExecutor(workers, context(), initializer=_call, initargs=setup)


def results(function: Callable[[J], T], jobs: Sequence[J], workers: int) -> Iterator[T]:
    """What a function gives for several jobs, on such processes, in the order of the jobs.

    A process that is killed takes its pool along: what is left is begun again on another. Raises RunError where that
    happens too often without a result in between.
    """
    from concurrent.futures.process import BrokenProcessPool

    done = deaths = 0
    while done < len(jobs):
        with pool(min(workers, len(jobs) - done)) as several:
            futures = []
            with suppress(
                BrokenProcessPool, EOFError, ConnectionError
            ):  # the last two: the server was killed
                futures = [several.submit(function, job) for job in jobs[done:]]
            try:
                for future in futures:
                    result = future.result()
                    done, deaths = done + 1, 0
                    yield result
            except BrokenProcessPool:
                futures = []
            finally:
                several.shutdown(cancel_futures=True)
        deaths += not futures
        if deaths == DEATHS:
            raise RunError(f"workers keep dying: {deaths} times without a result")
        if not futures:
            _wait_for_the_end(deaths)


def _wait_for_the_end(deaths: int) -> None:
    """Give a process that was killed the time to end: until then it is taken for alive, and no other is started."""
    time.sleep(FIRST_PAUSE * 2 ** (deaths - 1))


def environment(variables: Iterable[str] = ()) -> dict[str, str]:
    """What other processes see of our environment: what is allowed, and ``variables`` by their names."""
    with _changing:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many processes as cores; and sums in one order
        ours = {"LP_NUM_THREADS": "0"} | os.environ  # likewise: software GL draws in the thread that asks
    named = {*variables, *(name.strip() for name in ours.get(PASS_VARIABLE, "").split(","))}
    return {name: value for name, value in ours.items() if name in named or _may_pass(name, value)}


def _may_pass(name: str, value: str) -> bool:
    secret = SECRET.search(name) or (ADDRESS.fullmatch(name) and "@" in value)
    return ALLOWED.fullmatch(name) is not None and not secret


@contextmanager
def environment_of_others() -> Iterator[None]:
    """Have only what others may see in our environment while they are started: they inherit it."""
    with _changing:
        before, allowed = dict(os.environ), environment()
        hidden, more = before.keys() - allowed.keys(), allowed.keys() - before.keys()
        try:
            for name in hidden:
                os.environ.pop(name, None)
            os.environ.update({name: allowed[name] for name in more})
            yield
        finally:
            for name in more:
                os.environ.pop(name, None)
            for name in hidden:
                os.environ.setdefault(name, before[name])


def _serve() -> None:
    """Start the server that forks processes, if there is one to start: with what others may see."""
    if isinstance(context(), ForkServerContext):
        with environment_of_others():
            thread = MAIN if threading.current_thread() is threading.main_thread() else ""
            os.environ[STARTED_BY] = f"{os.getpid()} {thread}"
            try:
                forkserver.ensure_running()
            finally:
                del os.environ[STARTED_BY]


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
    """End this process when its parent has ended, even in the middle of a computation."""
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def end_with_parent(wanted: bool) -> None:
    """Let the system end this process, or not, when the thread that started it ends; on Linux.

    The kernel's signal is needed because a Python thread cannot run while an extension module holds the GIL.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL if wanted else 0)
