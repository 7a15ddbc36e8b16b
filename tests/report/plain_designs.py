"""Measures of paraphrases, factorial designs and trajectories in plain numpy, written from their definitions."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special
from tests.report.plain_measures import controls, rate
from tests.report.plain_statistics import (
    START,
    Json,
    Row,
    Z,
    bounds,
    effective,
    effective_of_sums,
    grouped,
    jackknife,
    mean_of_tasks,
    paired_interval,
    paired_p,
    sign_flip,
    stratified,
    variance,
    widened,
    wilson,
    within_strata,
)


def names_of_wording(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("task", "condition", "instruction", "s_k", "s_t"))


def paraphrases(rows: Sequence[Row]) -> Json:
    words = [row for row in rows if row["condition"] != "control" and row.get("object") and row.get("action")]
    usual = [{**row, "object": "none", "action": "none", "pd": 0.0} for row in controls(rows)]
    order = ("none", "addition", "contextual", "habitual"), ("none", "hint")
    cells = {**grouped(usual, "object", "action"), **grouped(words, "object", "action")}
    inner = sorted(cells, key=lambda key: (order[0].index(key[0]), order[1].index(key[1])))
    margins = {
        name: [
            rate(part)
            for _, part in sorted(grouped(words, name).items(), key=lambda p: values.index(p[0][0]))
        ]
        for name, values in zip(("object", "action"), order, strict=True)
    }
    distance = {key: float(np.mean([row["pd"] for row in cells[key]])) for key in inner}
    points = np.array([[distance[key], rate(cells[key])["rate"]] for key in inner[1:]])
    kept = [row for row in words if row["object"] in ("none", "addition")]
    other = [row for row in words if row not in kept]
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in words:
        parts.setdefault(names_of_wording(row), []).append(row)
    table = np.array(
        [
            [sum(r["success"] for r in part if (r in kept) == side) for side in (True, False)]
            + [sum((r in kept) == side for r in part) for side in (True, False)]
            for part in parts.values()
        ],
        float,
    ).T
    sizes = [effective_of_sums(table[at], table[at + 2], table[at + 2].sum()) for at in (0, 1)]
    p, q, interval = paired_interval(table[0], table[2], table[1], table[3], *sizes)
    scores = ((row["success"], 1 - row["s_k"], 1 - row["s_t"]) for row in words)
    s, k, t = (np.array(x, float) for x in zip(*scores, strict=True))
    alphas = np.arange(11) / 10

    tasks = [row["task"] for row in words]
    everywhere = np.ones(len(words), bool)

    def value(a: float, of: np.ndarray = everywhere) -> float:
        pd = a * k[of] + (1 - a) * t[of]
        return 100 * (s[of] * pd).sum() / pd.sum()

    def pride(a: float) -> Json:
        weighed = [{**row, "w": a * (1 - row["s_k"]) + (1 - a) * (1 - row["s_t"])} for row in words]
        limits = wilson(value(a) / 100, effective(weighed, "success", "w"))
        limits = {end: 100 * limit for end, limit in limits.items()}
        counts: Json = {"episodes": len(words), "wordings": len(parts), "unscored": 0}
        counts |= {"tasks": len(set(tasks))}
        counts["over_tasks"] = jackknife(lambda of: value(a, of), tasks, limits, 0.0, 100.0)
        return {"alpha": a, "pride": value(a), "interval": limits} | counts

    def linearised(middle: float, off: np.ndarray) -> Json:
        """Interval from the influence of each episode on the value."""
        half = Z * math.sqrt(variance(words, off))
        return bounds(middle - half, middle + half)

    def influence(a: float) -> np.ndarray:
        pd = a * k + (1 - a) * t
        return pd * (100 * s - value(a)) / pd.sum()

    slopes = (alphas - 0.5) / ((alphas - 0.5) ** 2).sum()

    def steepness(of: np.ndarray = everywhere) -> float:
        return float(slopes @ [value(a, of) for a in alphas])

    def exceeding(of: np.ndarray = everywhere) -> float:
        return 1 - value(0.5, of) / 100 / s[of].mean()

    slope, excess = steepness(), exceeding()
    off = (1 - excess) * (s - s.mean()) / s.mean() / len(s) - influence(0.5) / 100 / s.mean()
    sloping = linearised(slope, sum(w * influence(a) for w, a in zip(slopes, alphas, strict=True)))
    over = linearised(excess, off)
    return {
        "grid": {
            "cells": [{"rate": rate(cells[key]), "pd": distance[key]} for key in inner],
            "objects": margins["object"],
            "actions": margins["action"],
        },
        "object_gap": {
            "preserved": rate(kept),
            "paraphrased": rate(other),
            "change": q - p,
            "interval": interval,
        },
        "pride": pride(0.5),
        "sweep": {
            "points": [pride(a) for a in alphas],
            "slope": slope,
            "interval": sloping,
            "over_tasks": jackknife(steepness, tasks, sloping),
        },
        "overestimation": {
            "overestimation": excess,
            "interval": over,
            "tasks": len(set(tasks)),
            "over_tasks": jackknife(exceeding, tasks, over),
            "success_rate": s.mean(),
            "pride": value(0.5),
            "episodes": len(words),
        },
        "distance_correlation": {"r": np.corrcoef(points.T)[0, 1], "cells": len(points)},
    }


def corruption(rows: Sequence[Row]) -> Json:
    """Success by rung of a nonsense instruction, each rung against the one before."""
    steps: list[Json] = []
    before: list[Row] = []
    for at, part in sorted(grouped([{**row, "at": float(row["rung"] or 0)} for row in rows], "at").items()):
        if at == (0.0,):
            part = controls(part)
        step: Json = {"at": at[0], "rate": rate(part, at=at[0]), "starts": 0}
        if before:
            sides = zip(grouped(before, *START).values(), grouped(part, *START).values(), strict=True)
            table = np.array(
                [
                    [f(r["success"] for r in x) for x in xs for f in (sum, lambda g: len(list(g)))]
                    for xs in sides
                ]
            )
            p, (change, interval) = paired_p(*table.T), stratified(*table.T.astype(float))
            step |= {"change": change, "interval": widened(interval, p), "starts": len(table), "p": p}
        steps.append(step)
        before = part
    return {"steps": steps}


def attribution(rows: Sequence[Row], factors: Sequence[str]) -> Json:
    """Effects, Shapley shares and contrasts in a complete factorial design with one episode for each start and cell."""
    mine = [
        r for r in rows if r["condition"] == "control" or any(r[f"factor:{f}"] is not None for f in factors)
    ]
    for row in mine:
        row["cell"] = sum(2**k for k, f in enumerate(factors) if row[f"factor:{f}"] in (True, "true"))
    cells = 2 ** len(factors)
    starts = sorted(grouped(mine, *START).items())
    y = np.array(
        [[next(r["success"] for r in part if r["cell"] == c) for c in range(cells)] for _, part in starts],
        float,
    )
    n, on = len(y), np.arange(cells)[:, None] >> np.arange(len(factors)) & 1
    t = special.stdtrit(n - 1, 0.975)
    members = [m for size in (1, 2) for m in combinations(range(len(factors)), size)]
    design = np.stack([np.prod(on[:, m] - 0.5, axis=1) for m in members], axis=1)
    tasks = [
        name
        for (name,), part in grouped(mine, "task").items()
        if 0 < sum(r["success"] for r in part) < len(part)
    ]
    of = np.array([tasks.index(key[0]) if key[0] in tasks else -1 for key, _ in starts])
    x = np.array([[*np.eye(len(tasks))[task], *design[c]] for task in of if task >= 0 for c in range(cells)])
    outcome, beta = y[of >= 0].ravel(), np.zeros(x.shape[1])
    for _ in range(60):  # Newton's method with Firth's penalty
        p = special.expit(x @ beta)
        inverse = np.linalg.inv((x.T * (p * (1 - p))) @ x)
        leverage = p * (1 - p) * np.einsum("ij,jk,ik->i", x, inverse, x)
        step = inverse @ (x.T @ (outcome - p + leverage * (0.5 - p)))
        beta += step * min(1.0, 2 / max(np.abs(step).max(), 1e-12))
    p = special.expit(x @ beta)
    scores = (x * (outcome - p)[:, None]).reshape(-1, cells, x.shape[1]).sum(axis=1)
    inverse = np.linalg.inv((x.T * (p * (1 - p))) @ x)
    error = np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse) * len(scores) / (len(scores) - 1))
    sums = [y[of == task].sum(axis=0) for task in range(len(tasks))]
    counts = [(of == task).sum() for task in range(len(tasks))]
    if min(min(s.min(), (k - s).min()) for s, k in zip(sums, counts, strict=True)) < 5:
        error = np.maximum(error, np.sqrt(np.diag(inverse)))

    home = [key[0] for key, _ in starts]

    def in_general(w: np.ndarray, given: Json) -> Json | None:
        return jackknife(lambda some: float(w @ y[some].mean(axis=0)), home, given, -1.0, 1.0)

    def weighted(w: np.ndarray) -> tuple[float, float, Json]:
        middle, off = float(w @ y.mean(axis=0)), (y - y.mean(axis=0)) @ w / n
        mild = (y.sum(axis=0) + 1) / (n + 2)
        spread = math.sqrt(max((off**2).sum() * n / (n - 1), float(w**2 @ (mild * (1 - mild))) / n))
        return middle, spread, bounds(max(-1.0, middle - t * spread), min(1.0, middle + t * spread))

    effects = []
    for m, term, sd in zip(members, beta[len(tasks) :], error[len(tasks) :], strict=True):
        w = np.prod(2 * on[:, m] - 1, axis=1) * 2 ** len(m) / cells
        middle, spread, interval = weighted(w)
        ps = [
            max(2 * special.stdtr(n - 1, -abs(v) / s), 2.0 ** (1 - n))
            for v, s in ((term, sd), (middle, spread))
        ]
        effect = {
            "log_odds": term,
            "interval": bounds(term - t * sd, term + t * sd),
            "p": ps[0],
            "points": middle,
        }
        effect["points_over_tasks"] = in_general(w, interval)
        effects.append(effect | {"points_interval": interval, "points_p": ps[1], "p_holm": math.nan})
    usual = y[:, 0].sum()
    whole = np.eye(cells)[0] - np.eye(cells)[-1]
    loss, _, loss_interval = weighted(whole)
    shares, contrasts = [], []
    masks = [np.array([task == name for task in home]) for name in sorted(set(home))]
    for k in range(len(factors)):
        weights = np.zeros(cells)
        for c in np.flatnonzero(on[:, k] == 0):
            others = int(on[c].sum())
            orders = math.factorial(others) * math.factorial(len(factors) - others - 1)
            weights[c] += orders / math.factorial(len(factors))
            weights[c + 2**k] -= orders / math.factorial(len(factors))
        middle, _, interval = weighted(weights)
        part = {"loss": middle, "interval": widened(interval, 2.0 ** (1 - usual))}
        part["over_tasks"] = in_general(weights, interval)
        shares.append(part | {"share": middle / loss if loss_interval["low"] > 0 else None})
        off, now = y[:, on[:, k] == 0], y[:, on[:, k] == 1]
        ones = np.ones(off.size)
        p = max(sign_flip((now - off).sum(axis=1) / 2), within_strata(off.ravel(), ones, now.ravel(), ones))
        each = np.full(n, off.shape[1], float)
        change, interval = stratified(off.sum(axis=1), each, now.sum(axis=1), each)
        part = {"successes": now.sum(), "count": now.size, "others": off.sum(), "others_count": off.size}
        interval = widened(interval, p)
        differences = (now - off).sum(axis=1) / 2
        table = np.array([[differences[mine].sum(), each[mine].sum() / 2] for mine in masks])
        part["over_tasks"] = mean_of_tasks(table[:, 0], table[:, 1], interval)
        contrasts.append(part | {"starts": n, "difference": change, "interval": interval, "p": p})
    return {
        "episodes": len(mine),
        "starts": n,
        "tasks": len(masks),
        "effects": effects,
        "drop": loss,
        "drop_over_tasks": in_general(whole, loss_interval),
        "drop_interval": widened(loss_interval, 2.0 ** (1 - usual)),
        "shares": shares,
        "contrasts": contrasts,
        "modelled": 0,
    }


# Trajectories


def sample(path: np.ndarray, at: np.ndarray) -> np.ndarray:
    at = np.minimum(at, len(path) - 1.0)
    return np.stack([np.interp(at, np.arange(len(path)), axis) for axis in path.T.astype(float)], axis=1)


def warped(path: np.ndarray, reference: np.ndarray) -> float:
    """Distance from a reference by open-end dynamic time warping, at 50 points per reference."""
    stride = (len(reference) - 1) / 49
    count = int(min(max((len(path) - 1) // stride + 1, 1), 87))
    begun, whole = sample(path, np.arange(count) * stride), sample(reference, np.arange(50) * stride)
    costs = np.linalg.norm(begun[:, None] - whole[None], axis=2).tolist()
    best, row = math.inf, [math.inf] * 50
    for i, line in enumerate(costs):
        now: list[float] = []
        for j, cost in enumerate(line):
            steps = (row[j], row[j - 1] if j else math.inf, now[j - 1] if j else math.inf)
            now.append(cost + (min(steps) if i or j else 0.0))
        row = now
        best = min(best, row[-1] / max(50, i + 1))
    return best


def memorisation(valid: Sequence[Row], paths: dict[int, Any]) -> tuple[Json, dict[str, Json]]:
    """Memorisation index of a run with recorded initial positions, and its index by reason."""
    usual = {(row["task"], row["seed"]): row for row in controls(valid)}
    won = grouped([row for row in controls(valid) if row["success"]], "task")
    hands = {number: path.end_effector for number, path in paths.items()}

    def nearest(row: Row, others: Iterable[Row]) -> float:
        return min(warped(hands[row["id"]], hands[other["id"]]) for other in others)

    def acts(row: Row, other: Row) -> bool:
        """Whether the actions are those of another episode."""
        mine, theirs = paths[row["id"]].actions, paths[other["id"]].actions
        steps, span = min(len(mine), len(theirs)), np.ptp(theirs, axis=0)
        close = (np.abs(mine[:steps] - theirs[:steps]) <= 0.02 * span)[:, span > 0].all(axis=1).sum()
        return bool((span > 0).any() and 2 * steps >= len(theirs) and close >= 0.98 * steps)

    spread = {
        task: max(0.01, float(np.quantile([nearest(r, [o for o in part if o is not r]) for r in part], 0.95)))
        for (task,), part in won.items()
    }
    chance = {}
    for (task,), part in won.items():
        others = [row for (name,), rows in won.items() if name != task for row in rows]
        similar = [nearest(r, part) <= spread[task] or any(acts(r, o) for o in part) for r in others]
        chance[task] = max(0.05, float(np.mean(similar)))
    judged, unjudged, reached, by_actions = [], Counter[str](), 0, 0
    for row in valid:
        control = usual[row["task"], row["seed"]]
        here, there = json.loads(row["initial_positions"]), json.loads(control["initial_positions"])
        moved = max(math.dist(here[name], there[name]) for name in here)
        moved = moved if moved >= 0.01 else 0.0
        if row is control or (row["plausible"] and not moved):
            continue
        if not control["success"]:
            unjudged["the control failed"] += 1
        elif row["plausible"] and moved < max(0.1, 4 * spread[row["task"]]):
            unjudged["moved too little, for how much controls differ"] += 1
        else:
            own, solved = won[row["task"],], row["plausible"] and row["success"]
            near = nearest(row, own) <= spread[row["task"]]
            same = not near and not solved and any(acts(row, other) for other in own)
            reached, by_actions = reached + bool(solved), by_actions + same
            alike = int((near or same) and not solved)
            kind = ("world", "moved") if row["plausible"] else ("words", "nonsense")
            judged.append(
                {**row, "alike": alike, "chance": chance[row["task"]], "kind": kind[0], "calls": kind[1]}
            )

    def index(rows: Sequence[Row]) -> Json:
        parts = grouped(rows, *START).values()
        hits, n = (
            np.array([f(r["alike"] for r in p) for p in parts], float) for f in (sum, lambda g: len(list(g)))
        )
        size, share = effective_of_sums(hits, n, n.sum()), hits.sum() / n.sum()
        by_chance = float(np.mean([row["chance"] for row in rows]))
        p = special.betainc(share * size, size - share * size + 1, by_chance) if share else 1.0
        counts = {"alike": hits.sum(), "count": len(rows), "starts": len(n), "chance": by_chance}
        sums = [[sum(row["alike"] for row in part), len(part)] for part in grouped(rows, "task").values()]
        counts["tasks"] = len(sums)
        if len(sums) > 2:
            table = np.array(sums, float)
            counts["over_tasks"] = wilson(share, effective_of_sums(table[:, 0], table[:, 1], size))
        return {"index": share, "interval": wilson(share, size), "p": max(p, by_chance ** len(n))} | counts

    by = {
        name: {key: index(part) for (key,), part in grouped(judged, name).items()}
        for name in ("kind", "condition", "calls")
    }
    repeats: Json = {}
    for (call, _), part in grouped(judged, "calls", "task").items():
        repeats.setdefault(call, []).append({"alike": sum(r["alike"] for r in part), "count": len(part)})
    result: Json = {"overall": index(judged), "axes": [*by["kind"].values()]}
    result["conditions"] = [*by["condition"].values()]
    result |= {"calls": [*by["calls"].values()], "by_label": 0, "by_actions": by_actions, "reached": reached}
    return result | {"unjudged": unjudged, "spread": spread}, {
        **by["calls"],
        "tasks": repeats,
        "of": len(won),
    }
