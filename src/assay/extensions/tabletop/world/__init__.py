"""The tabletop world: scenes, simulation, goals, observations and the oracle."""
