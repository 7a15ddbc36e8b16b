"""Load a run as a table and draw a figure for a paper."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import assay


def main(folder: Path, seeds: int = 3) -> None:
    """Draw success by condition with 95 % intervals."""
    path = folder / "blind.assay"
    assay.run("corruption", policy="blind", tasks="libero_goal/7", seeds=seeds, steps=120, out=path)
    run = assay.load_run(path)  # here, or in another script, weeks later
    rates = run.profile()["conditions"]
    names = [str(rate.group["condition"]).removeprefix("corruption/") for rate in rates]
    figure, axes = plt.subplots(figsize=(3.4, 3.0), layout="constrained")
    for place, rate in enumerate(rates):
        if rate.rate is not None and rate.interval is not None:
            axes.plot([100 * rate.interval.low, 100 * rate.interval.high], [place, place], color="0.6")
            axes.plot(100 * rate.rate, place, "o", color="C0")
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("success, %")
    axes.invert_yaxis()
    figure.savefig(folder / "success.pdf")
    print("written to", folder / "success.pdf")


if __name__ == "__main__":
    main(Path("out/figure"), *map(int, sys.argv[1:]))
