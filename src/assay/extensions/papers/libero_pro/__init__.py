"""LIBERO-PRO: the tables and task files of its release as experiments, and the tables and figures of the paper."""
