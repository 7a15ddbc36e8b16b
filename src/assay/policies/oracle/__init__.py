"""A privileged policy that solves tasks from their goal predicates."""
