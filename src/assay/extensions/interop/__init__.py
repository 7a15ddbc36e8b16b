"""Third-party formats, evaluation harnesses and experiment trackers."""
