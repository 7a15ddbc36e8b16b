"""Measures about instructions: paraphrases, names, phrasing, and PRIDE."""
