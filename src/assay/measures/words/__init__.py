"""Instructions: paraphrases, names, phrasing, and PRIDE."""
