"""LIBERO-Para: the released paraphrases, and the paper's tables and figures."""
