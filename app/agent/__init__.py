"""Takes turns towards a goal: a graph of nodes over ports handed in."""
