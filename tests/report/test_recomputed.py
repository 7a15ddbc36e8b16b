"""Every number of three reports is recomputed from the rows of the run, without the code of the measures.

The definitions are those of ``docs/statistics.md`` and of the docstrings. `flatten` lists the numbers of a report by
their path in the JSON object. Each is equal to the number with the same path in `recompute`, or matches a pattern in
`NOT_RECOMPUTED`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.synthetic import GOALS, Synthetic, drawn, even, planned
from scipy import special
from tests.measures.conftest import Made
from tests.report import plain_designs as designs
from tests.report import plain_measures as measures
from tests.report import plain_statistics as plain
from tests.report.plain_statistics import Json, Row, grouped

from assay.report.run_report import RunReport
from assay.runs.store import Store

NOT_RECOMPUTED = (
    "task_map/*",  # posterior of a hierarchical model, checked by `python -m bench hierarchy`
    "*/bootstrap/*",  # random draws
    "*/uneven*",  # random permutations of starts
    "distance_correlation/p",  # random permutations of rows and columns
    "distance_correlation/interval/*",
)
TEXT = "put the bowl on the stove on top of the cabinet"


def _axes() -> Iterator[Made]:
    """Two tasks, ten seeds, and a change of each axis; some episodes end in an error."""
    random = np.random.default_rng(0)
    conditions = (("control", "", "", 0.9), ("dim", "world", "room", 0.5), ("noise", "senses", "senses", 0.7))
    for task in ("libero_goal/1", "libero_goal/4"):
        for seed in range(10):
            for name, axis, change, rate in (*conditions, ("reworded", "words", "wording", 0.3)):
                error, success = random.random() < 0.03, bool(random.random() < rate)
                numbers = {"steps": int(random.integers(60, 120)), "decisions": int(random.integers(5, 15))}
                moved = "akita_black_bowl_1" if random.random() < 0.8 else None
                labels = {"axis": axis, "change": change} if axis else {}
                outcome = None if error else success
                yield Made(outcome, task, seed, name, labels, moved=moved, words=TEXT, **numbers)


def _wordings() -> Iterator[Made]:
    """Three tasks, four seeds, and ten wordings with other names for the objects."""
    random = np.random.default_rng(1)
    cells = [(thing, action) for thing in ("none", "addition", "habitual") for action in ("none", "hint")]
    for task in ("libero_goal/1", "libero_goal/4", "libero_goal/2"):
        for seed in range(4):
            yield Made(bool(random.random() < 0.8), task, seed)
            for place, (thing, action) in enumerate(cells[1:], start=1):
                for number in range(2):
                    near, far = 1 - 0.04 * place - 0.03 * number, 0.9 - 0.1 * (action == "hint")
                    labels = {"axis": "words", "change": "wording", "object": thing, "action": action}
                    labels |= {"s_k": near, "s_t": far, "pd": 1 - (near + far) / 2}
                    words, steps = f"{thing} {action} {number}", int(random.integers(80, 110))
                    success = bool(random.random() < 0.6)
                    yield Made(
                        success, task, seed, f"para/{thing}/{action}", labels, words=words, steps=steps
                    )


def _write(path: Path, episodes: Sequence[Made]) -> Path:
    with Store.writing(path) as store:
        store.plan(episode.spec for episode in episodes)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for episode in episodes:
            store.append(numbers[episode.spec.key], episode.episode)
    return path


def _factors(path: Path) -> Path:
    """A factorial part of `pro` on three tasks with nonsense instructions; some episodes replay the control."""
    factors = ("object", "position", "environment")
    joint = ("object+position", "object+environment", "position+environment", "object+position+environment")
    specs = planned(f"pro {','.join((*factors, *joint))},words=xxx", GOALS[:3], 5)
    with drawn(Synthetic(even(0.8), {"position": 0.6}, replays=0.3), specs, "rows").written(path):
        return path


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a JSON object with their paths."""
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, item in items:
            yield from flatten(item, f"{path}/{name}" if path else str(name))
    elif not isinstance(value, bool) and isinstance(value, int | float | np.number):
        yield path, float(value)


def read(path: Path, names: bool) -> tuple[list[Row], dict[int, Any]]:
    """Return the rows and trajectories of a run; with ``names``, paraphrases use other names for all objects."""
    with Store.reading(path) as store:
        rows, paths = list(store.frame().iter_rows(named=True)), dict(store.trajectories())
    for row in rows:
        row["success"] = None if row["outcome"] == "error" else int(row["outcome"] == "success")
        row["plausible"] = row.get("plausible") is not False
        change = row.get("change") if row["plausible"] else None
        row["change"] = "names" if names and change == "wording" else change
        row["perturbed"] = row["condition"] != "control"
    return rows, paths


def recompute(rows: list[Row], paths: dict[int, Any], diagnosis: Sequence[Json]) -> Json:
    """Return the numbers of a report; of its findings, the names and their evidence are given."""
    valid = [row for row in rows if row["success"] is not None]
    control = {(row["task"], row["seed"]): row["success"] for row in measures.controls(valid)}
    pairs = [{**row, "usual": control.get((row["task"], row["seed"]))} for row in valid if row["perturbed"]]
    pairs = [{**row, "rate": row["usual"]} for row in pairs if row["usual"] is not None]
    expected_rows = [row for row in rows if row["plausible"]]

    def drops(by: str, plausible: bool = False) -> dict[str, Json]:
        chosen = [row for row in pairs if row["plausible"] or not plausible]
        totals = grouped(
            [row for row in valid if row["perturbed"] and (row["plausible"] or not plausible)], by
        )
        return {key[0]: measures.drop(part, len(totals[key])) for key, part in grouped(chosen, by).items()}

    changes, axes, conditions = drops("change"), drops("axis", plausible=True), drops("condition")
    perturbed = [row for row in expected_rows if row["perturbed"]]
    single = [name for name in changes if "+" not in name or name == "appearance+object"]
    worlds = [row for row in pairs if row["change"]]
    result: Json = {
        "format": 3,
        "waiting": 0,
        "planned": len(rows),
        "done": len(rows),
        "errors": {"broke": len(rows) - len(valid)} if len(valid) < len(rows) else {},
        "success_rate": measures.rate(perturbed),
        "control": measures.rate(measures.controls(rows)),
        "conditions": [measures.rate(part) for part in grouped(rows, "condition").values()],
        "tasks": [measures.rate(part) for part in grouped(expected_rows, "task", "perturbed").values()],
        "changes": [*changes.values()],
        "axes": [*axes.values()],
        "drops": [*conditions.values()],
        "task_changes": measures.task_changes(worlds, single),
        "other_tasks": {"unmatched": 0},
        "starts": {"count": len(control), "failures": sum(not won for won in control.values()), "near": 0},
        "moved": measures.contacts(valid, "moved"),
        "touched": measures.contacts(valid, "touched"),
        "no_mistakes": measures.flawless(valid),
        **measures.times(rows, valid),
    }
    memory: dict[str, Json] = {}
    factors = [
        name.removeprefix("factor:")
        for name in rows[0]
        if name.startswith("factor:") and any(row[name] for row in rows)
    ]
    if factors:
        result["attribution"] = designs.attribution(valid, factors)
        result["memorisation"], memory = designs.memorisation(valid, paths)
        result["corruption"] = designs.corruption(
            [r for r in rows if not r["perturbed"] or r["rung"] is not None]
        )
        result["nonsense"] = dict(conditions["pro/words=xxx"], p_holm=conditions["pro/words=xxx"]["p"])
    if "object" in rows[0]:
        result |= designs.paraphrases(rows)
    result["over_tasks"] = [*in_general(result)]
    result["diagnosis"] = [
        *Diagnosis(result, valid, pairs, changes, axes, conditions, memory, single).explain(diagnosis)
    ]
    return result


def in_general(result: Json) -> Iterator[Json]:
    """Yield the results with an interval for tasks in general, as fractions."""
    rows = [(part, "rate") for part in (result["control"], result["success_rate"])]
    rows += [(part, "change") for part in result["changes"]]
    if "pride" in result:
        score = result["pride"]
        ends = {name: {end: x / 100 for end, x in score[name].items()} for name in ("interval", "over_tasks")}
        rows.append((score | ends | {"pride": score["pride"] / 100}, "pride"))
        rows.append((result["overestimation"], "overestimation"))
    if "memorisation" in result:
        rows.append((result["memorisation"]["overall"], "index"))
    if "attribution" in result:
        of = result["attribution"]
        whole = {"interval": of["drop_interval"], "over_tasks": of["drop_over_tasks"], "loss": of["drop"]}
        rows += [({"tasks": of["tasks"]} | part, "loss") for part in (whole, *of["shares"])]
    for part, name in rows:
        if part.get("over_tasks"):
            ends = {end: part[end] for end in ("interval", "over_tasks")}
            yield {"value": part[name], "tasks": part["tasks"]} | ends


FLAWS = {
    "room": "room",
    "senses": "senses",
    "wording": "wording",
    "names": "unknown names",
    "position": "position",
}
FLAWS["appearance+object"] = "object"


class Diagnosis:
    """Tests of flaws, the search for losses, and the correction for both."""

    def __init__(
        self,
        result: Json,
        valid: Sequence[Row],
        pairs: Sequence[Row],
        changes: Mapping[str, Json],
        axes: Mapping[str, Json],
        conditions: Mapping[str, Json],
        memory: Mapping[str, Any],
        single: Sequence[str],
    ) -> None:
        self.result, self.memory, self.starts = result, memory, measures.controls(valid)
        self.tests: dict[str, tuple[float, float, Json]] = {}  # flaw -> p, smallest attainable p, evidence
        by_change, self.worlds = grouped(pairs, "change"), [row for row in pairs if row["change"]]
        whole = measures.drop(self.worlds, 0)
        self.tests["loss"] = self._cost(whole, self.worlds)
        contrasts = result.get("attribution", {}).get("contrasts", [])
        self.factors = dict(zip(("room", "appearance+object", "position"), contrasts, strict=False))
        for name in single:
            self.tests[FLAWS[name]] = self._cost(changes[name], by_change[name,])
            if name in self.factors:
                part = self.factors[name]
                p = part["p"] / 2 if part["difference"] < 0 else 1.0
                least = max(measures.informative(by_change[name,]), min(part["starts"], int(part["others"])))
                evidence = {"value": part["difference"], "interval": part["interval"], "p": p}
                evidence |= {"hits": part["successes"], "count": part["count"]}
                evidence |= {"reference_hits": part["others"], "reference_count": part["others_count"]}
                evidence["reference"] = part["others"] / part["others_count"]
                evidence["over_tasks"] = part["over_tasks"]
                self.tests[FLAWS[name]] = p, 2.0**-least, evidence
        lost, count, usual = (
            result["starts"]["failures"],
            result["starts"]["count"],
            result["control"]["interval"],
        )
        p = plain.binomial_tail(lost, count, 0.05)
        interval = plain.bounds(1 - usual["high"], 1 - usual["low"])
        evidence = {"value": lost / count, "interval": interval, "p": p, "hits": lost, "count": count}
        self.tests["unable"] = p, 0.05**count, evidence
        for flaw, call in (("memorises", "moved"), ("ignores words", "nonsense")):
            if call in memory:
                index = memory[call]
                evidence = {"value": index["index"], "interval": index["interval"], "p": index["p"]}
                evidence |= {"hits": index["alike"], "count": index["count"]}
                evidence["over_tasks"] = index.get("over_tasks")
                self.tests[flaw] = index["p"], index["chance"] ** index["starts"], evidence
        values, least = ([test[at] for test in self.tests.values()] for at in (0, 1))
        self.p = dict(zip(self.tests, plain.adjusted(values, least), strict=True))

        def instead(flaw: str, p: float) -> float:
            """Return the larger of a test's adjusted p value and of that with the p value of a row."""
            place = [*self.tests].index(flaw)
            own = plain.adjusted([*values[:place], p, *values[place + 1 :]], least)
            return max(self.p[flaw], own[place])

        joint = {name: drop for name, drop in changes.items() if name not in single}
        searched: list[tuple[Json, float, float]] = []  # row, p, smallest attainable p
        for column, drops in (("axis", axes), ("change", joint), ("condition", conditions)):
            for (name,), part in grouped([row for row in pairs if row["plausible"]], column).items():
                if name in drops:
                    searched.append((drops[name], drops[name]["p"], 2.0 ** -measures.informative(part)))
        raised = plain.adjusted([p for _, p, _ in searched], [bound for *_, bound in searched])
        for (row, *_), p in zip(searched, raised, strict=True):
            row["p_holm"] = p
        for name in single:
            changes[name]["p_holm"] = instead(FLAWS[name], changes[name]["p"])
        for drop in conditions.values():
            drop["p_holm"] = drop["p"] if math.isnan(drop["p_holm"]) else drop["p_holm"]
        if contrasts:
            main, others = result["attribution"]["effects"][:3], result["attribution"]["effects"][3:]
            for name, effect in zip(self.factors, main, strict=True):
                effect["p_holm"] = instead(FLAWS[name], effect["p"])
            for effect, p in zip(others, plain.holm([effect["p"] for effect in others]), strict=True):
                effect["p_holm"] = p

    def _cost(self, drop: Json, pairs: Sequence[Row]) -> tuple[float, float, Json]:
        p = drop["p_two_sided"] / 2 if drop["change"] < 0 else 1.0
        evidence = {"value": drop["change"], "interval": drop["interval"], "p": p, "count": drop["pairs"]}
        evidence |= {"hits": drop["both"] + drop["only_perturbed"], "reference": drop["control"]}
        evidence["over_tasks"] = drop["over_tasks"]
        if drop["pairs"] == drop["starts"]:
            evidence |= {
                "reference_hits": drop["both"] + drop["only_control"],
                "reference_count": drop["pairs"],
            }
        return p, 2.0 ** -measures.informative(pairs), evidence

    def smallest_loss(self, flaw: str, grown: float = 1.0) -> float | None:
        """Return the smallest loss that is found with 80 % power if there are ``grown`` times as many starts."""
        (p, least, first), values = self.tests[flaw], [test[0] for test in self.tests.values()]
        surer = sum(value < min(p, 0.05 / len(values)) for value in values)
        level = 0.05 / (len(values) - surer)
        starts, usual = round(-math.log2(least)), first["reference"]
        pairs, starts = max(first["count"] / starts, 1.0), int(starts * grown)
        width = (first["interval"]["high"] - first["interval"]["low"]) / math.sqrt(grown)
        wide = (special.ndtri(1 - level) + special.ndtri(0.8)) * width / (2 * plain.Z)
        need = math.floor(-math.log2(level)) + 1
        chances = (
            (k / 100, plain.binomial_tail(need, starts, 1 - (1 - k / 100) ** pairs)) for k in range(1, 101)
        )
        lost = next((share for share, power in chances if power >= 0.8), None) if need <= starts else None
        loss = None if lost is None else max(wide, lost * usual)
        return loss if loss is not None and loss <= usual else None

    def more_seeds(self, flaw: str) -> Json | None:
        now, first = len({row["seed"] for row in self.worlds}), self.tests[flaw][2]

        def is_found(seeds: int) -> bool:
            loss = self.smallest_loss(flaw, seeds / now)
            return loss is not None and loss <= 0.2

        if -first["interval"]["low"] < 0.2 or first["reference"] < 0.2 or is_found(now):
            return None
        return {"now": now, "needed": next(n for n in range(now + 1, 501) if is_found(n)), "loss": 0.2}

    def explain(self, findings: Sequence[Json]) -> Iterator[Json]:
        """Yield the numbers of each finding."""
        starts = self.starts
        ability = [
            {"successes": sum(row["success"] for row in part), "count": len(part)}
            for part in grouped(starts, "task").values()
        ]
        known = {**{part: FLAWS[part] for part in FLAWS}, "moved": "memorises", "nonsense": "ignores words"}
        counts = {"run": 0}
        for finding in findings:
            flaw, detail, where, more = finding["flaw"], None, None, None
            evidence = []
            for item in finding["evidence"]:
                name = known.get(item["part"], "unable" if item["measure"] == "starts" else "loss")
                evidence.append(self.tests[name][2] | counts)
            if flaw == "unable":
                won = sum(row["success"] for row in starts)
                detail = {"tasks": ability, "starts": len(starts), "telling": won}
            elif flaw in ("memorises", "ignores words") and self.memory:
                detail = {"tasks": self.memory["tasks"], "of": self.memory["of"]}
            elif flaw == "loss" or (flaw == "nothing" and finding["verdict"] != "found"):
                c, s, n = measures.start_sums(self.worlds)
                hits = {
                    "control_hits": (c > 0).sum(),
                    "control_count": len(c),
                    "hits": s.sum(),
                    "count": n.sum(),
                }
                changes = self.result["task_changes"]
                alike = changes["alike_p"] if len(changes["costs"]) > 2 else None
                detail = hits | {"telling": (c > 0).sum(), "p": self.tests["loss"][0], "alike_p": alike}
                detail |= {
                    "more": self.more_seeds("loss"),
                    "likely_p": self.p.get(finding["detail"]["likely"]),
                }
            elif flaw == "nothing":
                tested = [f["flaw"] for f in findings if f["verdict"] == "not found"]
                costs = [name for name in tested if name in FLAWS.values()]
                loss = max(-self.tests[name][2]["interval"]["low"] for name in costs)
                seen = max(self.smallest_loss(name) or math.nan for name in costs)
                detail = {"looked_for": len(tested), "loss": loss, "seen": seen, "too_few": 0}
            if flaw in FLAWS.values() and finding["claim"] == "present":
                where = {"of": len(ability)}
            elif finding["claim"] in ("no sign", "too few starts") and flaw in FLAWS.values():
                more = self.more_seeds(flaw)
            numbers = {"p": self.p.get(flaw), "evidence": evidence, "detail": detail, "where": where}
            yield numbers | {"more": more}


RUNS = {
    "axes": lambda path: _write(path, [*_axes()]),
    "factors": _factors,
    "wordings": lambda path: _write(path, [*_wordings()]),
}


@pytest.mark.parametrize("name", RUNS)
def test_every_number_of_a_report_is_recomputed(name: str, tmp_path: Path):
    path = RUNS[name](tmp_path / f"{name}.assay")
    report = json.loads(json.dumps(RunReport.read(path).as_json()))
    del report["meta"]
    expected = dict(flatten(recompute(*read(path, names=name == "wordings"), report["diagnosis"])))
    numbers = dict(flatten(report))
    left_out = {path for path in numbers if any(fnmatch(path, pattern) for pattern in NOT_RECOMPUTED)}
    compared = numbers.keys() - left_out
    assert len(left_out) < 0.1 * len(numbers)
    assert sorted(compared ^ expected.keys()) == []
    different = {
        path
        for path in compared
        if not math.isclose(numbers[path], expected[path], rel_tol=1e-6, abs_tol=1e-9)
    }
    assert {path: (numbers[path], expected[path]) for path in sorted(different)} == {}
