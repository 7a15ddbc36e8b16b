"""Time limits, time to success, and the cost of a run."""
