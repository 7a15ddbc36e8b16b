"""The local web app: browse runs, watch episodes beside their controls, compare. Read-only."""
