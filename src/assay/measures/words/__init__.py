"""Measures of instructions: paraphrases, names, phrasing and PRIDE."""
