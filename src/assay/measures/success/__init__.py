"""Success rates, the cost of each change, and differences between tasks and kinds of tasks."""
