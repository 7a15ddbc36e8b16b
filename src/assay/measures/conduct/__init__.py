"""Measures of behaviour beyond success: progress, side effects, contacts."""
