"""Runs: plan episodes, execute them in parallel, store them in one file, and resume after interruptions."""
