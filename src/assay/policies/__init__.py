"""Whoever acts: the oracle, policies with planted flaws, learned ones, and clients for other people's servers."""
