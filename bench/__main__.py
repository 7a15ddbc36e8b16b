from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import (
    allocation,
    certificates,
    conduct,
    diagnosis,
    dropin,
    duel,
    duel_progress,
    engine,
    eqa,
    events,
    events_flaws,
    experiments,
    exploratory,
    harnesses,
    hierarchy,
    importing,
    libero_pro,
    libero_x,
    measures,
    memory,
    oracle,
    probe,
    ranking,
    report,
    robustness,
    runs,
    scale,
    search,
    senses,
    shapes,
    spread,
    statistics,
    tabletop,
    visibility,
    web,
    words,
)
from bench.figure import Figure

SECTIONS = {
    "engine": engine.measure,
    "events": events.measure,
    "events-flaws": events_flaws.measure,
    "dropin": dropin.measure,
    "oracle": oracle.measure,
    "conduct": conduct.measure,
    "probe": probe.measure,
    "runs": runs.measure,
    "importing": importing.measure,
    "words": words.measure,
    "measures": measures.measure,
    "statistics": statistics.measure,
    "robustness": robustness.measure,
    "spread": spread.measure,
    "shapes": shapes.measure,
    "exploratory": exploratory.measure,
    "allocation": allocation.measure,
    "hierarchy": hierarchy.measure,
    "ranking": ranking.measure,
    "duel": duel.measure,
    "duel-progress": duel_progress.measure,
    "scale": scale.measure,
    "search": search.measure,
    "memory": memory.measure,
    "report": report.measure,
    "web": web.measure,
    "diagnosis": diagnosis.measure,
    "senses": senses.measure,
    "experiments": experiments.measure,
    "visibility": visibility.measure,
    "certificates": certificates.measure,
    "libero-pro": libero_pro.measure,
    "libero-x": libero_x.measure,
    "eqa": eqa.measure,
    "tabletop": tabletop.measure,
    "harnesses": harnesses.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed and memory.")
    parser.add_argument(
        "sections", nargs="*", choices=[[], *SECTIONS], help="names of benchmarks (default: all)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"))
    arguments = parser.parse_args()
    console = Console()
    figures: list[Figure] = []
    for section in arguments.sections or SECTIONS:
        with console.status(f"measuring: {section}"):
            figures += SECTIONS[section]()
    table = Table("what", "measured", "target", "")
    for figure in figures:
        table.add_row(figure.what, figure.measured, figure.target, figure.verdict)
    console.print(table)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps([figure.as_json() for figure in figures], indent=2) + "\n")
    console.print(f"written to {arguments.out}", highlight=False)


if __name__ == "__main__":
    main()
