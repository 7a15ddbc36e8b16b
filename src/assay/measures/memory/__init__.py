"""Memorisation: trajectories that repeat the control's although the change calls for another."""
