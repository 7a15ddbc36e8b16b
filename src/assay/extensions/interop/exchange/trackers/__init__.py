"""Experiment trackers, one module each; imported when one is asked for."""
