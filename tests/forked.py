"""Tests in several processes: ``pytest --jobs 3``.

The processes are forked after the tests have been collected, so that modules are imported and tests are collected only
once. (With pytest-xdist, each process needs ten seconds for this.) Each process runs one file after another, and the
main process prints the reports. If a process dies, the test that it was running fails, and another process continues.
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
"""Time without a message, in seconds, after which a process is killed, because its test hangs."""
GRACE = 10.0
"""Time, in seconds, in which processes may tear down their fixtures when the tests are stopped."""


@dataclass
class Child:
    """A process that runs tests, and its pending tests."""

    pid: int
    pipe: Connection
    end: int
    """File descriptor that becomes readable when the process ends; its own child processes may keep the pipe open."""
    last_message: float
    """Time of its last message, in seconds of the monotonic clock."""
    pending: deque[pytest.Item] = field(default_factory=deque)
    """Tests of the current file that have not finished."""


class Forked:
    """Plugin that runs tests in ``jobs`` processes; each first calls ``begin`` with a folder of its own."""

    def __init__(self, jobs: int, begin: Callable[[Path], None]) -> None:
        self._jobs, self._begin = jobs, begin
        self._children: list[Child] = []
        self._forks = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests, file by file in the order of collection."""
        if session.config.option.collectonly or session.testsfailed:
            return None  # pytest itself reports it
        session.config.pluginmanager.get_plugin("terminalreporter").showfspath = False
        files = deque(list(items) for _, items in groupby(session.items, key=lambda item: item.path))
        try:
            for _ in range(min(self._jobs, len(files))):
                self._fork(session, files.popleft())
            while self._children:
                ready = wait([source for child in self._children for source in (child.pipe, child.end)], 5.0)
                for child in tuple(self._children):
                    if child.pipe in ready:
                        self._receive(session, child, files)
                    elif child.end in ready:
                        self._handle_exit(session, child, files)
                    elif time.monotonic() - child.last_message > PATIENCE:
                        os.kill(child.pid, signal.SIGKILL)
                if reason := session.shouldfail or session.shouldstop:
                    raise (session.Failed if session.shouldfail else session.Interrupted)(reason)
        finally:
            self._stop()
        return True

    def _stop(self) -> None:
        """Interrupt the remaining processes, so that they tear down their fixtures, and kill those that do not end."""
        for child in self._children:
            os.kill(child.pid, signal.SIGINT)
        deadline = time.monotonic() + GRACE
        for child in self._children:
            if not wait([child.end], max(deadline - time.monotonic(), 0.0)):
                os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)

    def _receive(self, session: pytest.Session, child: Child, files: deque[list[pytest.Item]]) -> None:
        hook = session.config.hook
        try:
            kind, content = child.pipe.recv()
        except (EOFError, ConnectionError):
            self._handle_exit(session, child, files)
            return
        child.last_message = time.monotonic()
        if kind == "report":
            report = hook.pytest_report_from_serializable(config=session.config, data=content)
            hook.pytest_runtest_logreport(report=report)
        elif kind == "warning":
            with suppress(Exception):  # its class may be importable only in the test's process
                hook.pytest_warning_recorded.call_historic(kwargs=pickle.loads(content))
        elif kind == "end":
            item = child.pending.popleft()
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        elif files:
            self._send(session, child, files.popleft())
        else:
            child.pipe.send(None)

    def _handle_exit(self, session: pytest.Session, child: Child, files: deque[list[pytest.Item]]) -> None:
        """Report the test that an ended process was running, and start another process for the remaining tests."""
        self._children.remove(child)
        _, status = os.waitpid(child.pid, 0)
        os.close(child.end)
        if not child.pending:
            if status:
                _fail(session, "a process", ("", None, ""), f"died between tests: {_describe_exit(status)}")
            if files:
                self._fork(session, files.popleft())
            return
        item = child.pending.popleft()
        _fail(session, item.nodeid, item.location, f"its process died: {_describe_exit(status)}")
        if child.pending:
            self._fork(session, list(child.pending))

    def _fork(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Fork a process that first runs these tests."""
        self._forks += 1
        folder = session.config._tmp_path_factory.getbasetemp() / f"process-{self._forks}"  # type: ignore[attr-defined]
        ours, theirs = Pipe()
        pid = os.fork()
        if not pid:
            for child in self._children:
                os.close(child.end)
            for pipe in (ours, *(child.pipe for child in self._children)):
                pipe.close()  # so that the end of the main process closes the pipe
            _run(session, theirs, folder, self._begin)
        theirs.close()
        child = Child(pid, ours, os.pidfd_open(pid), time.monotonic())
        self._children.append(child)
        self._send(session, child, items)

    def _send(self, session: pytest.Session, child: Child, items: list[pytest.Item]) -> None:
        child.pending.extend(items)
        first = session.items.index(items[0])
        with suppress(ConnectionError):  # the process died, which is handled next
            child.pipe.send(range(first, first + len(items)))


class _Reporter:
    """Plugin of the processes that sends reports and warnings to the main process."""

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
        record = {
            "warning_message": warning_message,
            "when": when,
            "nodeid": nodeid,
            "location": location,
        }
        with suppress(pickle.PicklingError, TypeError, AttributeError):  # its class is local to a function
            self._pipe.send(("warning", pickle.dumps(record)))


def _run(session: pytest.Session, pipe: Connection, folder: Path, begin: Callable[[Path], None]) -> None:
    """Run the tests that are received through the pipe, then exit."""
    status, config = 1, session.config
    capturing: Any = config.pluginmanager.get_plugin("capturemanager")
    try:
        folder.mkdir()
        begin(folder)
        config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        capturing.stop_global_capturing()  # otherwise, all processes would write to the same file
        capturing.start_global_capturing()
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter._tw._file = io.StringIO()  # only the main process prints
        config.pluginmanager.register(_Reporter(config, pipe))
        for indices in iter(pipe.recv, None):
            # After the last test of a file, all fixtures except those of the session are torn down.
            for item, following in pairwise((*session.items[indices.start : indices.stop], session)):
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                pipe.send(("end", None))
            pipe.send(("next", None))
        session._setupstate.teardown_exact(None)
        status = 0
    except (EOFError, ConnectionError, KeyboardInterrupt):  # the main process ended, or interrupts this one
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
    """Report a failure that the test's own process could not report."""
    report = pytest.TestReport(nodeid, location, {}, "failed", why, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


def _describe_exit(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit status {code}" if code >= 0 else signal.Signals(-code).name
