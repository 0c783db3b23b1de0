"""The believed state of one task: pure, deterministic, advisory."""
