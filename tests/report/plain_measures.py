"""Measures of a run in plain numpy, written from their definitions to check those of the package.

A row is an episode with ``success`` (0, 1, or None for an error); a pair also has ``usual``, the success of its
control, and ``rate``, its mean over repetitions.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special
from tests.report.plain_statistics import (
    START,
    VARIANT,
    Json,
    Row,
    Z,
    bounds,
    effective,
    effective_of_sums,
    grouped,
    holm,
    kish,
    log_odds,
    mean_of_tasks,
    paired_interval,
    paired_p,
    retention,
    share,
    sign_flip,
    split,
    stratified,
    variance,
    widened,
    wilson,
)


def controls(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["condition"] == "control"]


def rate(rows: Sequence[Row], **group: Any) -> Json:
    valid = [row for row in rows if row["success"] is not None]
    hits, n, total = sum(row["success"] for row in valid), len(valid), len(rows)
    tasks = [[valid[at]["success"] for at in members] for members in split(valid, "task").values()]
    size = effective(valid, "success")
    sums, counts = np.array([sum(t) for t in tasks], float), np.array([len(t) for t in tasks], float)
    return {
        "group": group,
        "successes": hits,
        "count": n,
        "errors": total - n,
        "rate": hits / n,
        "effective": size,
        "interval": wilson(hits / n, size),
        "tasks": len(tasks),
        "over_tasks": wilson(hits / n, effective_of_sums(sums, counts, size)) if len(tasks) > 2 else None,
        "errors_as_failures": hits / total,
        "errors_as_successes": (hits + total - n) / total,
    }


def start_sums(pairs: Sequence[Row]) -> tuple[np.ndarray, ...]:
    """Successes of the control, of the perturbed episodes, and pairs by start."""
    parts = grouped(pairs, *START).values()
    sums = [
        [sum(row["usual"] for row in part), sum(row["success"] for row in part), len(part)] for part in parts
    ]
    return tuple(np.array(sums, float).T)


def loss_p(pairs: Sequence[Row]) -> float:
    c, s, n = start_sums(pairs)
    return 1.0 if s.sum() >= c.sum() else paired_p(np.rint(c / n), np.ones(len(n)), s, n) / 2


def informative(pairs: Sequence[Row]) -> int:
    return int((start_sums(pairs)[0] > 0).sum())


def drop(pairs: Sequence[Row], total: int) -> Json:
    """Paired difference from the control."""
    c, s, n = start_sums(pairs)
    sizes = [effective_of_sums(c, n, kish(n)), effective_of_sums(s, n, n.sum())]
    usual, change = np.rint(c / n), (s - c).sum() / n.sum()
    p = paired_p(usual, np.ones(len(n)), s, n)
    repeated = Counter(
        key[:2]
        for key, part in grouped(pairs, *VARIANT[:2], "instruction").items()
        if len(grouped(part, *START)) > 1
    )
    if max(repeated.values(), default=0) > 1:  # several wordings
        given = ("task", "condition")
        sizes[1] = min(sizes[1], effective(pairs, "success", given=given))
        off = np.array([row["success"] - row["usual"] for row in pairs]) - change
        p = max(p, 2 * special.ndtr(-abs(change) / math.sqrt(variance(pairs, off / len(off), given))))
    interval = widened(paired_interval(c, n, s, n, *sizes)[2], p)
    tasks = [
        [sum(r["success"] - r["usual"] for r in part), len(part)] for part in grouped(pairs, "task").values()
    ]
    d, m = np.array(tasks, float).T
    over = mean_of_tasks(d, m, interval)
    seen, kept = int(((c > 0) | (s > 0)).sum()), retention(pairs)
    outcomes = Counter((row["usual"], row["success"]) for row in pairs)
    odds = log_odds(usual, s, n)
    return {
        "pairs": len(pairs),
        "starts": len(n),
        "unpaired": total - len(pairs),
        "both": outcomes[1, 1],
        "only_control": outcomes[1, 0],
        "only_perturbed": outcomes[0, 1],
        "neither": outcomes[0, 0],
        "control": c.sum() / n.sum(),
        "perturbed": s.sum() / n.sum(),
        "change": change,
        "interval": interval,
        "p": (p / 2 if change < 0 else 1.0) if any(row["plausible"] for row in pairs) else p,
        "p_two_sided": p,
        "p_holm": math.nan,  # of the whole report: see `diagnose`
        "least_p": min(1.0, 2.0 ** (1 - seen)),
        "telling": seen,
        "retention": kept[0],
        "retention_interval": kept[1],
        "tasks": len(d),
        "over_tasks": over,
        "p_over_tasks": sign_flip(d) if over else None,
        "log_odds": odds,
    }


def task_cells(change: str, pairs: Sequence[Row]) -> list[Json]:
    cells, lost = [], []
    able = {key: part for key, part in grouped(pairs, *START).items() if part[0]["usual"]}
    fails = {key: 2 * sum(row["success"] for row in part) <= len(part) for key, part in able.items()}
    for (task,), part in grouped(pairs, "task").items():
        c, s, n = (x.sum() for x in start_sums(part))
        mine = [f for (name, _), f in fails.items() if name == task]
        ways = [
            math.comb(sum(fails.values()), k) * math.comb(len(fails) - sum(fails.values()), len(mine) - k)
            for k in range(sum(mine), len(mine) + 1)
        ]
        lost.append(
            sum(ways) / math.comb(len(fails), len(mine)) if sum(mine) and len(mine) < len(fails) else 1.0
        )
        cells.append(
            {"pairs": n, "starts": len(grouped(part, *START)), "telling": informative(part)}
            | {"control": c / n, "perturbed": s / n, "p": loss_p(part), "task": task, "change": change}
        )
    return [cell | {"more_p": p} for cell, p in zip(cells, holm(lost), strict=True)]


def equal_costs_p(pairs: Sequence[Row]) -> float:
    """Generalised Mantel-Haenszel test of equal success under all changes, within starts."""
    changes = sorted({row["change"] for row in pairs})
    off, covariance = np.zeros(len(changes)), np.zeros((len(changes),) * 2)
    for part in grouped([row for row in pairs if row["usual"]], *START).values():
        n = np.array([sum(row["change"] == name for row in part) for name in changes], float)
        s = np.array([sum(row["success"] for row in part if row["change"] == name) for name in changes])
        p, size = s.sum() / n.sum(), n.sum()
        off += s - p * n
        covariance += p * (1 - p) / max(size - 1, 1) * (size * np.diag(n) - np.outer(n, n))
    freedom = np.linalg.matrix_rank(covariance)
    return special.chdtrc(freedom, off @ np.linalg.pinv(covariance) @ off) if freedom else 1.0


def task_changes(pairs: Sequence[Row], single: Sequence[str]) -> Json:
    alone = [row for row in pairs if row["change"] in single]
    starts = list(grouped(pairs, *START))

    def losses(rows: Sequence[Row]) -> np.ndarray:
        return np.array(
            [sum(r["usual"] - r["success"] for r in rows if (r["task"], r["start"]) == s) for s in starts]
        )

    whole, t = losses(pairs), special.stdtrit(max(len(starts) - 1, 1), 0.975)
    falls = len(starts) > 2 and whole.sum() > max(0.0, t * whole.std(ddof=1) * math.sqrt(len(starts)))
    costs = []
    for change in sorted(single):
        own = [row for row in alone if row["change"] == change]
        kept = retention(own)
        cost = {"count": len(own), "control": float(np.mean([r["rate"] for r in own])), "of_fall": None}
        cost |= {
            "perturbed": float(np.mean([r["success"] for r in own])),
            "retention": kept[0],
            "interval": kept[1],
        }
        if falls:
            part = losses(own).sum() / whole.sum()
            off = losses(own) - part * whole
            half = t * math.sqrt((off**2).sum() * len(starts) / (len(starts) - 1)) / whole.sum()
            cost |= {"of_fall": part, "of_fall_interval": bounds(part - half, part + half)}
        sides = []
        for rows in grouped([row for row in alone if row["usual"]], *START).values():
            mine = [row["success"] for row in rows if row["change"] == change]
            other = [row["success"] for row in rows if row["change"] != change]
            if mine and other:
                sides.append([sum(other), len(other), sum(mine), len(mine)])
        if sides:
            table = np.array(sides, float).T
            p, (more, interval) = paired_p(*table), stratified(*table)
            cost |= {"more": more, "more_interval": widened(interval, p), "more_p": p}
        costs.append(cost)
    for cost, p in zip(costs, holm([cost.get("more_p", 1.0) for cost in costs]), strict=True):
        cost |= {"more_p": p} if "more_p" in cost else {}
    return {
        "cells": [
            cell
            for name in sorted(single)
            for cell in task_cells(name, [r for r in alone if r["change"] == name])
        ],
        "costs": sorted(costs, key=lambda cost: math.inf if cost["retention"] is None else cost["retention"]),
        "alike_p": equal_costs_p(alone) if len(single) > 1 else None,
    }


def median(rows: Sequence[Row], name: str) -> tuple[float, Json | None]:
    """Median with its interval from order statistics (Hettmansperger and Sheather)."""
    values = np.sort([float(row[name]) for row in rows])
    middle = float(np.median(values))
    below = [{**row, "below": int(row[name] <= middle)} for row in rows]
    n = int(min(len(values), effective(below, "below") + 1e-9))
    if n < 6:
        return middle, None
    tails = [special.bdtr(d - 1, n, 0.5) for d in range(1, n // 2 + 1)]
    d = max(sum(2 * tail <= 0.05 for tail in tails), 1)
    cover, inner = 1 - 2 * tails[d - 1], 1 - 2 * tails[d] if d < n // 2 else 0.0
    excess = (cover - 0.95) / (cover - inner)
    tail = (d + (n - d) * excess / (d + (n - 2 * d) * excess)) / (n + 1)
    low, high = np.quantile(values, [tail, 1 - tail], method="weibull")
    return middle, bounds(low, high)


def named_shares(rows: Sequence[Row], name: str, *keys: str, by: str = "condition") -> list[Json]:
    """Rate of a property in each group, under the names of the measure."""
    groups = grouped(rows, by).values()
    return [dict(zip(keys, share(part, name), strict=True)) for part in groups]


def times(rows: Sequence[Row], valid: Sequence[Row]) -> Json:
    sensible = [row for row in valid if row["plausible"]]
    usual = {
        task: float(np.median([row["steps"] for row in part if row["success"]]))
        for (task,), part in grouped(controls(sensible), "task").items()
    }
    limits = []
    for factor in (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, math.inf):
        for row in sensible:
            row["in_time"] = int(row["success"] and row["steps"] <= factor * usual[row["task"]])
        hits, n, p, interval = share(sensible, "in_time")
        limit = {"factor": None if factor == math.inf else factor, "successes": hits, "count": n}
        limits.append(limit | {"rate": p, "interval": interval})
    durations = []
    for key, won in grouped([row for row in valid if row["success"]], "condition").items():
        steps, count = sorted(row["steps"] for row in won), len(grouped(valid, "condition")[key])
        half, (middle, interval) = math.ceil(count / 2), median(won, "steps")
        by_then = steps[half - 1] if len(won) >= half else None
        counts = {"successes": len(won), "count": count, "half_succeed_by": by_then}
        durations.append({"median": middle, "interval": interval} | counts)
    decisions = np.array([row["decisions"] for row in valid], float)
    costs = [
        {"planned": len(part), "used": len(part), "saved": 0} for part in grouped(rows, "condition").values()
    ]
    margin = Z * math.sqrt(variance(valid, (decisions - decisions.mean()) / len(decisions)))
    spread = bounds(decisions.mean() - margin, decisions.mean() + margin) if len(set(decisions)) > 1 else None
    return {
        "time_limits": {"limits": limits, "reference": usual, "unknown": 0},
        "time_to_success": durations,
        "efficiency": {"planned": len(rows), "used": len(rows), "saved": 0, "share": 0.0, "conditions": costs}
        | {"decisions": decisions.mean(), "decisions_interval": spread, "episodes": len(valid)},
    }


def goal_things(row: Row) -> list[str]:
    return [re.match(r".*?_\d+", atom.split()[1])[0] for atom in sorted(json.loads(row["truth"]))]  # type: ignore[index]


def contacts(valid: Sequence[Row], which: str) -> list[Json]:
    result = []
    for part in grouped([row for row in valid if row["plausible"]], "condition").values():
        for row in part:
            row["right"] = int(row[which] in goal_things(row))
        hits, n, p, interval = share(part, "right")
        cells = Counter(("+".join(goal_things(row)), row[which] or "") for row in part)
        names = sorted({name for name, _ in cells})
        first = sorted({name for _, name in cells}, key=lambda name: (not name, name))
        counts = [[cells[name, other] for other in first] for name in names]
        result.append({"right": hits, "count": n, "accuracy": p, "interval": interval, "counts": counts})
    return result


def flawless(valid: Sequence[Row]) -> list[Json]:
    for row in valid:
        once = all(sum(a > 0 for a, _ in spans) <= 1 for spans in json.loads(row["truth"]).values())
        row["flawless"] = int(row["success"] and once and row["moved"] in goal_things(row))
    parts = named_shares(valid, "flawless", "flawless", "count", "rate", "interval")
    groups = grouped(valid, "condition").values()
    return [
        part | {"successes": sum(r["success"] for r in rows)}
        for part, rows in zip(parts, groups, strict=True)
    ]
