"""Changes to the scene: success as a function of their magnitude, thresholds, and events during an episode."""
