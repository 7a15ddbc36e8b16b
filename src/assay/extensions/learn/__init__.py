"""Collect demonstrations and train small visuomotor policies."""
