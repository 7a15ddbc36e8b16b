"""Reports of runs: pages, figures, tables and image sheets."""
