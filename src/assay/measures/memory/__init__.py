"""Memorisation: trajectories that repeat the control's although the change requires a different one."""
