"""What is measured in tabletop runs, with its tables, figures and findings."""
