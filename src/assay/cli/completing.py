"""What the shell offers after the tab key besides commands, options and files: experiments, policies, tasks."""

from __future__ import annotations


def experiments(incomplete: str) -> list[str]:
    """Experiments whose names begin so."""
    from assay.experiments import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def policies(incomplete: str) -> list[str]:
    """Built-in policies whose names begin so."""
    from assay.episodes import WORLDS, world_policies

    names = dict.fromkeys(policy for world in WORLDS for policy in world_policies(world))
    return [name for name in names if name.startswith(incomplete)]


def tasks(incomplete: str) -> list[str]:
    """Suites; after a suite's name and a slash its tasks. What stands before the last comma stays."""
    from assay.tasks import resolve, suites

    chosen, comma, begun = incomplete.rpartition(",")
    suite = begun.partition("/")[0]
    names = [task.id for task in resolve(suite)] if "/" in begun and suite in suites() else ["all", *suites()]
    return [f"{chosen}{comma}{name}" for name in names if name.startswith(begun)]
