"""Fuzz for a given time and print a summary; exit status 1 if any case failed."""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from assay.errors import AssayError
from assay.support.streams import stream
from fuzz.targets import entries

LIMIT, LONGEST = 30, 600
"""Limits of one case in processor seconds and wall-clock seconds, generous for a busy machine."""
GROWTH = 150.0
"""Allowed memory growth in MB after the first fifth of the time and the corpus; caches are bounded."""
SETTLED = 60.0
"""Period in seconds within which memory growth is only reported, because caches are still filling."""
MEMORY = 6 * 2**30
"""Address space in bytes beyond which a process is terminated, so that a small file cannot exhaust memory."""


class HangError(BaseException):
    """A case exceeded its time limit."""


def main() -> None:
    """Fuzz each target in its own process."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(entries())}; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="maximum time for all targets together")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, help="maximum number of cases per target")
    parser.add_argument("--out", type=Path, help="JSON file for the defects found")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.targets or list(entries())
    if unknown := sorted({*names} - {*entries()}):
        parser.error(f"unknown target {', '.join(unknown)}; choose from {', '.join(entries())}")
    if given.alone:
        _show_alone(names[0], given)
        return
    results: dict[str, dict[str, Any]] = {}
    parts = sum(entries()[name].share for name in names)
    for name in names:
        results[name] = _in_process(name, given, given.seconds * entries()[name].share / parts)
        if given.out is not None:
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(results, indent=1) + "\n")
    _print(results)
    sys.exit(
        any(each["tracebacks"] or each["hangs"] or each["died"] or each["grew"] for each in results.values())
    )


def fuzz(
    name: str, folder: Path, *, seconds: float, first: int = 0, cases: int | None = None
) -> dict[str, Any]:
    """Run cases of one target for a number of seconds or cases."""
    entry = entries()[name]
    begun = time.monotonic()
    target = entry.make(folder)
    process, found = psutil.Process(), Counter[str]()
    defects: dict[str, dict[str, object]] = {}
    early, since, number, slowest = 0.0, begun, first, 0.0
    before = {each: signal.signal(each, _late) for each in (signal.SIGALRM, signal.SIGPROF)}
    while time.monotonic() - begun < seconds and (cases is None or number < first + cases):
        if not early and time.monotonic() - begun > seconds / 5 and number > target.known():
            early, since = process.memory_info().rss / 1e6, time.monotonic()
        began = time.monotonic()
        signal.alarm(LONGEST)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            found[entry.kind] += target.case(number, stream("fuzz", name, number))
            found["taken"] += 1
        except AssayError:
            found["refused"] += 1
            found[entry.kind] += 1
        except (Exception, HangError) as error:
            found["hangs" if isinstance(error, HangError) else "tracebacks"] += 1
            found[entry.kind] += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            key = f"{type(error).__name__} {Path(place.filename).name}:{place.lineno}"
            told = "".join(traceback.format_exception(error))[-3000:]
            known = defects.setdefault(
                key, {"case": number, "times": 0, "told": told.encode(errors="replace").decode()}
            )
            known["times"] = int(str(known["times"])) + 1
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.monotonic() - began)
        number += 1
    for each, handler in before.items():
        signal.signal(each, handler)
    late = process.memory_info().rss / 1e6
    return {
        "kind": entry.kind,
        "cases": number - first,
        **{each: found[each] for each in (entry.kind, "taken", "refused", "tracebacks", "hangs")},
        "died": 0,
        "slowest_seconds": round(slowest, 1),
        "memory_mb": round(late),
        "growth_mb": round(late - early) if early else None,
        "grew": bool(early) and grew(late - early, time.monotonic() - since),
        "defects": defects,
    }


def grew(megabytes: float, seconds: float) -> bool:
    """Return whether memory growth over a period is a defect."""
    return megabytes > GROWTH and seconds >= SETTLED


def _late(number: int, frame: object) -> None:
    raise HangError(f"took longer than {LIMIT} s of processor time, or {LONGEST} s")


def _show_alone(name: str, given: argparse.Namespace) -> None:
    """Fuzz in this process; the last line of standard output is the result."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with TemporaryDirectory(prefix="assay-fuzz-") as folder:
        found = fuzz(name, Path(folder), seconds=given.seconds, first=given.first, cases=given.cases)
    print(json.dumps(found), flush=True)
    os._exit(0)  # threads of peers may still be waiting


def _in_process(name: str, given: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Return the result of a target that runs in its own process; a crash of native code is a result, too."""
    words = [sys.executable, "-m", "fuzz", name, "--alone", f"--seconds={seconds}", f"--first={given.first}"]
    words += [] if given.cases is None else [f"--cases={given.cases}"]
    with TemporaryDirectory(prefix="assay-fuzz-cache-") as cache:
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"ASSAY_CACHE": cache})
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        told = {"case": None, "times": 1, "told": f"exit status {done.returncode}: {done.stderr[-3000:]}"}
        empty = dict.fromkeys(("cases", "taken", "refused", "tracebacks", "hangs", "slowest_seconds"), 0)
        none: dict[str, Any] = {
            "memory_mb": 0,
            "growth_mb": None,
            "grew": False,
            "kind": entries()[name].kind,
        }
        return {**empty, **none, "died": 1, "defects": {"died": told}}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _print(results: dict[str, dict[str, Any]]) -> None:
    columns = (
        "target",
        "files",
        "peers",
        "taken",
        "refused",
        "tracebacks",
        "hangs",
        "died",
        "slowest s",
        "MB",
        "growth MB",
    )
    table = Table(*columns)
    sums = Counter[str]()
    for name, each in results.items():
        cells = [
            each.get(column)
            for column in ("files", "peers", "taken", "refused", "tracebacks", "hangs", "died")
        ]
        cells += [each["slowest_seconds"], each["memory_mb"], each["growth_mb"]]
        table.add_row(name, *("" if cell is None else str(cell) for cell in cells))
        sums.update(
            {key: int(each.get(key, 0)) for key in ("files", "peers", "tracebacks", "hangs", "died", "grew")}
        )
    console = Console(markup=False)
    console.print(table)
    for name, each in results.items():
        for what, defect in each["defects"].items():
            console.print(f"{name}, case {defect['case']}, {defect['times']} times: {what}\n{defect['told']}")
    console.print(
        f"{sums['files']:,} mutated files, {sums['peers']:,} hostile peers: {sums['tracebacks']} tracebacks, "
        f"{sums['hangs']} hangs, {sums['died']} processes died, {sums['grew']} grew by more than {GROWTH:.0f} MB"
    )


if __name__ == "__main__":
    main()
