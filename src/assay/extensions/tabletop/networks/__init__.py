"""Policies for the tabletop that are trained on demonstrations; training and running them need torch."""
