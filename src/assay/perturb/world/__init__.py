"""Perturbations of the scene: where things stand, what they are, the room, the robot, lights and cameras."""
