"""LIBERO-Para: the paraphrases of its release, and the tables and figures of the paper."""
