"""Compare two policies on the same episodes: which one is better, and how certain is the result?"""

from __future__ import annotations

import sys
from pathlib import Path

import assay


def main(folder: Path, seeds: int = 6) -> None:
    """Run both policies and compare them episode by episode."""
    runs = [
        assay.run(
            "libero",
            policy=policy,
            tasks="libero_goal/7",
            seeds=seeds,
            steps=120,
            out=folder / f"{policy}.assay",
        )
        for policy in ("idle", "oracle")
    ]
    compared = assay.compare(*runs)
    for contrast in compared.overall:
        low, high = contrast.interval.low, contrast.interval.high
        print(f"{contrast.second} - {contrast.first}: {100 * contrast.change:+.0f} points", end=" ")
        print(f"(95 % interval {100 * low:+.0f} to {100 * high:+.0f}, p = {contrast.p_holm:.3f})")
    print("not matched:", compared.unmatched, "errors:", compared.errors)


if __name__ == "__main__":
    main(Path("out/comparison"), *map(int, sys.argv[1:]))
