"""Measures of behaviour beyond success: progress, side effects and contacts."""
