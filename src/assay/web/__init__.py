"""Local read-only web app for browsing runs, watching episodes beside their controls, and comparing runs."""
