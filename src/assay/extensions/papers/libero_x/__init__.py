"""LIBERO-X: the task files of its release as an experiment, and the tables and figures of the paper."""
