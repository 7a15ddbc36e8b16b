"""LIBERO-PRO: the tables and task files of its release as experiments, and the paper's tables and figures."""
