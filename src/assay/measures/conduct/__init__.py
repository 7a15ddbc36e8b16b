"""Conduct beyond success: progress, side effects, contacts."""
