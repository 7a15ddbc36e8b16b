"""Other processes of this machine: how they start quickly, in this environment, and end with the one that started them.

On Linux they are forked from a server process that has the simulator imported and has drawn nothing (a GL context
does not survive a fork): a worker starts in a few milliseconds instead of a second, and workers share memory.
Elsewhere each is a new interpreter.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

IMPORTED = ("assay.runs.worker", "assay.sim.world", "assay.policies.oracle.policy")
"""What the server has imported before it forks."""


@cache
def context() -> ForkServerContext | SpawnContext:
    """What makes processes, pipes and shared values."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(list(IMPORTED))
    return forking


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """A process that calls ``target``; it sees this process's environment and ends when this process does."""
    process = context().Process(target=_call, args=(_environment(), target, arguments), daemon=True)
    process.start()
    return process


def pool(
    workers: int, initialiser: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Such processes for many short jobs; ``initialiser`` is called in each of them first."""
    given = (_environment(), initialiser or _nothing, arguments)
    return ProcessPoolExecutor(workers, context(), initializer=_call, initargs=given)


def _environment() -> dict[str, str]:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many processes as cores; and sums in one order
    return dict(os.environ)


def _call(environment: Mapping[str, str], target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
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
