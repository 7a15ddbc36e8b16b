"""Readers for the result files of other evaluation tools."""
