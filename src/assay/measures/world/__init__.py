"""Changes of the scene: success over their magnitude, thresholds, and events during an episode."""
