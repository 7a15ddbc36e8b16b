"""Making the certificates that a plan needs, with a bar; and saying what was refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import typer

from assay.cli.console import errors, number_of, progress_bar, say
from assay.cli.execution import Interrupts

if TYPE_CHECKING:
    from assay.experiments import EpisodeSpec
    from assay.runs.certificates import Cache
    from assay.runs.episode import Episode
    from assay.runs.executor import Executor


def make_certificates(
    specs: Iterable[EpisodeSpec], cache: Cache, demonstrators: Callable[[], Executor], tries: int = 1
) -> int:
    """Make the certificates that episodes and their controls lack; returns how many that were.

    Ctrl-C ends the command with exit status 130; what was made until then is kept.
    """
    from assay.runs.certificates import certify, missing

    with errors.status("looking for certificates"):
        wanted = missing(specs, cache, tries)
    if not wanted:
        return 0
    interrupted = Interrupts()
    with progress_bar() as bar, interrupted:
        task = bar.add_task("certifying", total=len(wanted))

        def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
            bar.advance(task, int(spec is not None))

        ending = certify(wanted, cache, demonstrators(), stopping=interrupted, watch=watch)
    if ending.left:
        made = number_of(ending.done, "certificate")
        say(f"{made} made, {ending.left} left: the same command goes on")
        raise typer.Exit(130)
    return ending.done


def print_refused(reasons: Mapping[str, int], *, most: int = 10) -> None:
    """Say how many episodes were left out of a plan, and why: the most frequent reasons first."""
    if not reasons:
        return
    say(f"{number_of(sum(reasons.values()), 'episode')} refused, without a certificate:")
    print_reasons(reasons, most=most)


def print_reasons(reasons: Mapping[str, int], *, most: int) -> None:
    """Reasons and how often each was given, in their order; how many others there are."""
    for reason, count in list(reasons.items())[:most]:
        say(f"{count} x {reason}")
    if len(reasons) > most:
        say(f"... and {number_of(len(reasons) - most, 'other reason')}")
