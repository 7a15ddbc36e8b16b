"""Runs for other people's tools: dashboards while a run goes on, files and folders when it is done."""
