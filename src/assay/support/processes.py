"""Child processes that start quickly and end with their parent.

On Linux they are forked from a server process that has imported the simulator but has rendered nothing, because a GL
context does not survive a fork. A worker starts in milliseconds instead of a second, and workers share memory.
On other systems each child is a new interpreter.

Children inherit only allowed environment variables: settings of the system, Python, graphics, numerical libraries,
the network and Assay, but none that may hold a secret. ``ASSAY_PASS=NAME,NAME`` allows additional variables.
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
from functools import cache, partial
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import RunError

# The server imports this module before it asks the kernel to end it with its parent, so imports here must be quick.
if TYPE_CHECKING:
    import subprocess
    from concurrent.futures import ProcessPoolExecutor
    from tempfile import TemporaryDirectory

J = TypeVar("J")
T = TypeVar("T")
IMPORTED = ("assay.runs.executor", "assay.sim.world", "assay.policies.oracle.policy")
"""Modules that the fork server imports before it forks."""
ALLOWED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|LANG|LANGUAGE|TZ|TMP|TEMP|TMPDIR|TERM|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY"
    "|SYSTEMROOT|VIRTUAL_ENV|HF_HOME|HF_ENDPOINT|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|PYTHON[A-Z]*"
    "|(HTTP|HTTPS|ALL|NO)_PROXY|(http|https|all|no)_proxy"
    "|(LC|XDG|LD|DYLD|CONDA|SLURM|RAY|OMP|MKL|OPENBLAS|KMP|NUMBA|CUDA|NVIDIA|NCCL|HIP|ROCR|MUJOCO|PYOPENGL|EGL|MESA|GALLIUM|LP"
    "|LIBGL|__EGL|__GLX|TORCH|PYTORCH|TRITON|TF|JAX|XLA|TRANSFORMERS|HF_HUB|COVERAGE|PYTEST|ASSAY|LIBERO)_[A-Za-z0-9_]*"
)
"""Pattern of the environment variables that child processes inherit."""
SECRET = re.compile(
    "KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|BEARER|JWT|AUTH(?!ORITY)", re.IGNORECASE
)  # XAUTHORITY names a file
"""Pattern of variables that may hold secrets, which are passed on only if named explicitly."""
ADDRESS = re.compile("HF_ENDPOINT|.*_PROXY", re.IGNORECASE)
"""Pattern of variables that hold URLs, which are not passed on if they contain credentials (before an @)."""
PASS_VARIABLE = "ASSAY_PASS"
"""Variable with a comma-separated list of additional variables to pass on."""
LONGEST_SOCKET = 100
"""Maximum length of a socket path, in bytes; systems allow 104 or 108."""
DEATHS = 5
"""Number of consecutive process deaths after which a pool, or the fork server, is abandoned."""
FIRST_PAUSE = 0.05
"""Pause after the first death, in seconds; doubled after each further death."""
STARTED_BY = "ASSAY_STARTED_BY"
"""Variable with the id of the process that started the server, and whether its main thread started it."""
MAIN = "main"
_DIE_WITH_PARENT = 1
"""Value of PR_SET_PDEATHSIG for prctl."""
# Looked up only once, because a forked process that has not called exec yet must not load libraries.
_prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
_changing = threading.RLock()
"""Lock held while variables are removed from this process's environment."""


def context() -> ForkServerContext | SpawnContext:
    """Return the multiprocessing context used for processes, pipes and shared values."""
    # Two threads that create it at the same time would get two folders, one of which is removed too early.
    with _changing:
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
    """Return a folder whose path is short enough for sockets; None to use multiprocessing's default."""
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
    """Start a process that calls ``target`` and ends with this process.

    ``variables`` are additional environment variables to pass on.
    """
    for deaths in range(1, DEATHS + 1):
        process = context().Process(
            target=_call, args=(environment(variables), target, arguments), daemon=True
        )
        _serve()
        with suppress(EOFError, ConnectionError):  # the server was killed meanwhile
            process.start()
            return process
        _pause(deaths)
    raise RunError(f"the server that starts workers died {DEATHS} times in a row")


def pool(
    workers: int, initialiser: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Return a pool of child processes for many short jobs; ``initialiser`` is called first in each of them."""
    from concurrent.futures import ProcessPoolExecutor

    _serve()
    setup = (environment(), initialiser, arguments)
    return ProcessPoolExecutor(workers, context(), initializer=_call, initargs=setup)


def results(function: Callable[[J], T], jobs: Sequence[J], workers: int) -> Iterator[T]:
    """Yield a function's results for several jobs, computed by child processes, in the order of the jobs.

    If a process is killed, its pool is lost and the remaining jobs restart in a new pool. Raises RunError if this
    happens repeatedly without a result in between.
    """
    from concurrent.futures.process import BrokenProcessPool

    done = deaths = 0
    while done < len(jobs):
        with pool(min(workers, len(jobs) - done)) as several:
            futures = []
            # The fork server itself may have been killed: then its socket is closed.
            with suppress(BrokenProcessPool, EOFError, ConnectionError):
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
            raise RunError(f"workers died {deaths} times in a row without a result")
        if not futures:
            _pause(deaths)


def _pause(deaths: int) -> None:
    """Wait until a killed process has ended; until then, multiprocessing does not start a new one."""
    time.sleep(FIRST_PAUSE * 2 ** (deaths - 1))


def environment(variables: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of child processes: the allowed variables, and the given ``variables``."""
    with _changing:
        # One thread per process: there are as many processes as cores, and a sum over threads has no fixed order, so
        # results would differ from run to run. LP_NUM_THREADS does the same for Mesa's software renderer.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        ours = {"LP_NUM_THREADS": "0"} | os.environ
    named = {*variables, *(name.strip() for name in ours.get(PASS_VARIABLE, "").split(","))}

    for name, value in ours.items():
        is_secret = SECRET.search(name) or (ADDRESS.fullmatch(name) and "@" in value)
        if ALLOWED.fullmatch(name) and not is_secret:
            named.add(name)
    return {name: value for name, value in ours.items() if name in named}


@contextmanager
def environment_of_others() -> Iterator[None]:
    """Context manager that reduces this process's environment to that of child processes, which inherit it on start."""
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
    """Start the fork server, if the platform has one, with the environment of child processes."""
    if isinstance(context(), ForkServerContext):
        with environment_of_others():
            thread = MAIN if threading.current_thread() is threading.main_thread() else ""
            os.environ[STARTED_BY] = f"{os.getpid()} {thread}"
            try:
                forkserver.ensure_running()
            finally:
                del os.environ[STARTED_BY]


def _call(
    environment: Mapping[str, str], target: Callable[..., None] | None, arguments: tuple[Any, ...]
) -> None:
    # The parent of a forked process is the server, which in turn ends with the process that started it.
    end_with_parent(True)
    # A forked process inherits the server's environment, which is as old as the server.
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_wait_for_parent, daemon=True).start()
    if target is not None:
        target(*arguments)


def _wait_for_parent() -> None:
    """Kill this process when its parent has ended, even in the middle of a computation."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def end_with_parent(wanted: bool) -> None:
    """Set whether the kernel terminates this process when the thread that started it ends; Linux only.

    The kernel's signal is needed because a Python thread cannot run while an extension module holds the GIL.
    """
    if _prctl is not None:
        _prctl(_DIE_WITH_PARENT, signal.SIGKILL if wanted else 0)


BEFORE_EXEC = partial(end_with_parent, True) if sys.platform == "linux" else None
"""Argument ``preexec_fn`` of `subprocess` for programs that end when the thread that started them ends."""


WATCH = Path(__file__).with_name("watch.py")


def start_watcher(entry: str, *descriptors: int) -> subprocess.Popen[bytes]:
    """Start a process that kills all processes with an ``entry`` in their environment when this process is killed.

    It also does so when its standard input is closed without a message. Until then it keeps ``descriptors`` open.
    On systems other than Linux it kills nothing.
    """
    import subprocess

    command = [sys.executable, "-I", "-S", str(WATCH), entry]
    # In a new session, it does not receive the terminal's signals.
    return subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=descriptors, start_new_session=True)
