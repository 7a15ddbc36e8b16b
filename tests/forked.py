"""Tests in several processes: ``pytest --jobs 3``.

The processes are forked from this one when the tests are collected: modules are imported and tests are collected once,
not once for each process as by pytest-xdist, where that takes ten seconds each. Each process takes one file after the
other, and this one prints what they report. One that dies fails the test that it was at, and is replaced.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import signal
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 600.0
"""Seconds after which a process that says nothing is ended: its test hangs."""
GRACE = 10.0
"""Seconds that processes have to tear down their fixtures when the tests are stopped."""


@dataclass
class Child:
    """A process that runs tests, and what it has been given."""

    pid: int
    pipe: Connection
    end: int
    """A descriptor that can be read when the process has ended; the pipe may stay open with whoever it started."""
    heard: float
    """When it last said something, seconds of the clock."""
    waiting: deque[pytest.Item] = field(default_factory=deque)
    """Tests of its file whose end it has not told."""


class Forked:
    """A plugin that runs tests in ``jobs`` processes; ``begin`` is called first in each, with its own folder."""

    def __init__(self, jobs: int, begin: Callable[[Path], None]) -> None:
        self._jobs, self._begin = jobs, begin
        self._children: list[Child] = []
        self._forks = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests; the longest files are first among them."""
        if session.config.option.collectonly or session.testsfailed:
            return None  # which pytest tells
        session.config.pluginmanager.get_plugin("terminalreporter").showfspath = False
        files = deque(list(items) for _, items in groupby(session.items, key=lambda item: item.path))
        try:
            for _ in range(min(self._jobs, len(files))):
                self._fork(session, files.popleft())
            while self._children:
                ready = wait([each for child in self._children for each in (child.pipe, child.end)], 5.0)
                for child in tuple(self._children):
                    if child.pipe in ready:
                        self._hear(session, child, files)
                    elif child.end in ready:
                        self._ended(session, child, files)
                    elif time.monotonic() - child.heard > PATIENCE:
                        os.kill(child.pid, signal.SIGKILL)
                if reason := session.shouldfail or session.shouldstop:
                    raise (session.Failed if session.shouldfail else session.Interrupted)(reason)
        finally:
            self._stop()
        return True

    def _stop(self) -> None:
        """End the processes that are left, with their fixtures if they can."""
        for child in self._children:
            os.kill(child.pid, signal.SIGINT)
        deadline = time.monotonic() + GRACE
        for child in self._children:
            if not wait([child.end], max(deadline - time.monotonic(), 0.0)):
                os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)

    def _hear(self, session: pytest.Session, child: Child, files: deque[list[pytest.Item]]) -> None:
        hook = session.config.hook
        try:
            told, what = child.pipe.recv()
        except (EOFError, ConnectionError):
            self._ended(session, child, files)
            return
        child.heard = time.monotonic()
        if told == "report":
            report = hook.pytest_report_from_serializable(config=session.config, data=what)
            hook.pytest_runtest_logreport(report=report)
        elif told == "warning":
            with suppress(Exception):  # of a class that only the test's process can import
                hook.pytest_warning_recorded.call_historic(kwargs=pickle.loads(what))
        elif told == "end":
            item = child.waiting.popleft()
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        elif files:
            self._give(session, child, files.popleft())
        else:
            child.pipe.send(None)

    def _ended(self, session: pytest.Session, child: Child, files: deque[list[pytest.Item]]) -> None:
        """A process has ended: tell if it was at a test, and let another do what is left."""
        self._children.remove(child)
        _, status = os.waitpid(child.pid, 0)
        os.close(child.end)
        if not child.waiting:
            if status:
                _fail(session, "a process", ("", None, ""), f"died between tests: {_cause(status)}")
            if files:
                self._fork(session, files.popleft())
            return
        item = child.waiting.popleft()
        _fail(session, item.nodeid, item.location, f"its process died: {_cause(status)}")
        if child.waiting:
            self._fork(session, list(child.waiting))

    def _fork(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Another process, which runs these tests first."""
        self._forks += 1
        folder = session.config._tmp_path_factory.getbasetemp() / f"process-{self._forks}"  # type: ignore[attr-defined]
        ours, theirs = Pipe()
        pid = os.fork()
        if not pid:
            for child in self._children:
                os.close(child.end)
            for pipe in (ours, *(child.pipe for child in self._children)):
                pipe.close()  # or it would not be told when this process ends
            _run(session, theirs, folder, self._begin)
        theirs.close()
        child = Child(pid, ours, os.pidfd_open(pid), time.monotonic())
        self._children.append(child)
        self._give(session, child, items)

    def _give(self, session: pytest.Session, child: Child, items: list[pytest.Item]) -> None:
        child.waiting.extend(items)
        first = session.items.index(items[0])
        with suppress(ConnectionError):  # it died, which is heard next
            child.pipe.send(range(first, first + len(items)))


class _Teller:
    """A plugin of the processes: tells the first one what happens."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        about = {
            "warning_message": warning_message,
            "when": when,
            "nodeid": nodeid,
            "location": location,
        }
        with suppress(pickle.PicklingError, TypeError, AttributeError):  # of a class within a function
            self._pipe.send(("warning", pickle.dumps(about)))


def _run(session: pytest.Session, pipe: Connection, folder: Path, begin: Callable[[Path], None]) -> None:
    """Run what comes through the pipe, and end the process."""
    status, config = 1, session.config
    capturing: Any = config.pluginmanager.get_plugin("capturemanager")
    try:
        folder.mkdir()
        begin(folder)
        config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        capturing.stop_global_capturing()  # all processes would write into one file
        capturing.start_global_capturing()
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter._tw._file = io.StringIO()  # the first process prints
        config.pluginmanager.register(_Teller(config, pipe))
        for given in iter(pipe.recv, None):
            # After the last test of a file all fixtures are torn down but those of the session.
            for item, following in pairwise((*session.items[given.start : given.stop], session)):
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                pipe.send(("end", None))
            pipe.send(("next", None))
        session._setupstate.teardown_exact(None)
        status = 0
    except (EOFError, ConnectionError, KeyboardInterrupt):  # the first process ended, or ends this one
        with suppress(BaseException):
            session._setupstate.teardown_exact(None)
    except BaseException:
        capturing.suspend_global_capture(in_=True)
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        os._exit(status)


def _fail(session: pytest.Session, nodeid: str, location: tuple[str, int | None, str], why: str) -> None:
    """Report a failure that no test could report itself."""
    report = pytest.TestReport(nodeid, location, {}, "failed", why, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


def _cause(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit status {code}" if code >= 0 else signal.Signals(-code).name
