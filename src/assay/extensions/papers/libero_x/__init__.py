"""LIBERO-X: the task files of its release as an experiment, and the paper's tables and figures."""
