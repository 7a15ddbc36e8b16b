"""Reports on runs: pages, figures, tables and image sheets."""
