"""A privileged policy that solves tasks from their goals."""
