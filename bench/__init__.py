"""Speed and memory, measured as ratios within one run where that is possible. Run with ``make bench``."""
