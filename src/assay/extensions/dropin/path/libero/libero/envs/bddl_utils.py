"""Parser for task files."""

from assay.extensions.dropin.domain import get_problem_info, robosuite_parse_problem
