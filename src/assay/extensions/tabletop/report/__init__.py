"""Tables, figures and sentences about the tabletop."""
