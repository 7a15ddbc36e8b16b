"""Statistics, files, random streams, processes: what every other package may use."""
