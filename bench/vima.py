"""VIMA-Bench beside Assay's tabletop: the oracle of each in its own world, and one Assay policy in both.

    python -m bench.vima --checkout VIMABench --packages ENV/lib/python3.11/site-packages --seeds 8

VIMA-Bench is not on PyPI: ``--checkout`` is a clone of vimalabs/VIMABench, ``--packages`` the folder in which PyBullet
and its other requirements are installed. Episodes are appended to ``--lines``; stored ones are not run again.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from assay.episodes import Policy
from assay.extensions.tabletop.policies.vima import play_in_vima
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Level, Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.support.stats.intervals import wilson_interval
from bench.prompt_reader.policy import PromptReader

PLAYERS = ("oracle", "reader")
WORLDS = ("VIMA-Bench", "Assay")
Found = Iterator[tuple[int, bool | str]]
"""Seeds, and whether each episode succeeded; a text if it could not be run."""


def vima_bench(checkout: Path, packages: list[Path]) -> Any:
    """Import VIMA-Bench without the modules that are imported but not needed: torch, kornia; gym is gymnasium."""
    sys.path += [str(checkout), *map(str, packages)]
    for name in ("torch", "kornia"):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].tensor = sys.modules[name].Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]
            sys.modules[name].is_tensor = lambda value: False  # type: ignore[attr-defined]
    sys.modules["gym"] = importlib.import_module("gymnasium")
    sys.modules["gym.spaces"] = importlib.import_module("gymnasium.spaces")
    return importlib.import_module("vima_bench")


def there(bench: Any, kind: str, player: str, seeds: Sequence[int]) -> Found:
    """Run episodes of a task in VIMA-Bench: whether each succeeded, or the exception."""
    level = "placement_generalization" if Level.L1 in KINDS[kind].levels else "novel_task_generalization"
    name = KINDS[kind].name
    env = bench.make(
        name, task_kwargs=bench.PARTITION_TO_SPECS["test"][level][name], modalities=["rgb", "segm"]
    )
    for seed in seeds:
        try:
            if player == "oracle":
                yield seed, _demonstrated(env, seed)
            else:
                yield seed, play_in_vima(env, _player(player), seed=seed).success
        except Exception as error:  # VIMA-Bench raises where it finds no room
            yield seed, repr(error)[:200]
    env.close()


def _demonstrated(env: Any, seed: int) -> bool:
    """VIMA-Bench's own oracle."""
    env.global_seed = seed
    seen, info = env.reset(), {"success": False}
    demonstrator = env.task.oracle(env)
    for _ in range(env.task.oracle_max_steps):
        chosen = {
            name: np.clip(value, env.action_space[name].low, env.action_space[name].high).astype(np.float32)
            for name, value in demonstrator.act(seen).items()
        }
        seen, _, done, info = env.step(action=chosen, skip_oracle=False)
        if done:
            break
    return bool(info["success"])


def _player(name: str) -> Policy:
    return TableOracle() if name == "oracle" else PromptReader()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--checkout", type=Path, help="a clone of VIMA-Bench; without it, only Assay's tabletop is run"
    )
    parser.add_argument("--packages", type=Path, action="append", default=[])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--tasks", default=",".join(KINDS))
    parser.add_argument("--players", default=",".join(PLAYERS))
    parser.add_argument("--lines", type=Path, default=Path("vima.jsonl"))
    given = parser.parse_args()
    bench = vima_bench(given.checkout, given.packages) if given.checkout else None
    known = (
        [json.loads(line) for line in given.lines.read_text().splitlines()] if given.lines.exists() else []
    )
    done = set(map(_key, known))
    with given.lines.open("a") as out:
        for kind in given.tasks.split(","):
            for player in given.players.split(","):
                for world in WORLDS if bench else WORLDS[1:]:
                    seeds = [seed for seed in range(given.seeds) if (world, player, kind, seed) not in done]
                    if not seeds:
                        continue
                    found = (
                        there(bench, kind, player, seeds) if world == WORLDS[0] else here(kind, player, seeds)
                    )
                    for seed, result in found:
                        about = {"world": world, "player": player, "task": kind, "seed": seed}
                        known.append(about | {"raised" if isinstance(result, str) else "success": result})
                        out.write(json.dumps(known[-1]) + "\n")
                        out.flush()
    Console(width=140).print(table(known))


def _key(episode: dict[str, Any]) -> tuple[str, str, str, int]:
    return episode["world"], episode["player"], episode["task"], episode["seed"]


def here(kind: str, player: str, seeds: Sequence[int]) -> Found:
    """Run episodes of a task on Assay's tabletop: whether each succeeded."""
    for seed in seeds:
        yield seed, play(make(Setting(kind, seed, KINDS[kind].levels[0])), _player(player)).success


def table(known: list[dict[str, Any]]) -> Table:
    """Tabulate successes with 95 % intervals, by task and in total; each episode counts once.

    Seeds for which VIMA-Bench raised an exception are not episodes; the last column counts them.
    """
    columns = [(player, world) for player in PLAYERS for world in WORLDS]
    heads = (f"{player}, {world}" for player, world in columns)
    made = Table("task", *heads, "raised", title="successes of episodes")
    cells: defaultdict[tuple[str, str, str], list[bool]] = defaultdict(list)
    raised: defaultdict[str, int] = defaultdict(int)
    for each in {_key(each): each for each in known}.values():
        for row in (each["task"], "all"):
            if "raised" in each:
                raised[row] += 1
            else:
                cells[row, each["player"], each["world"]].append(bool(each["success"]))
    for row in (*KINDS, "all"):
        name = f"{row} {KINDS[row].name}" if row in KINDS else row
        made.add_row(name, *(_told(cells[(row, *column)]) for column in columns), str(raised[row]))
    return made


def _told(won: list[bool]) -> str:
    if not won:
        return ""
    interval = wilson_interval(sum(won) / len(won), len(won))
    return f"{sum(won)} of {len(won)} ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"


if __name__ == "__main__":
    main()
