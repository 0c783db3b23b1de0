"""Decides what the model sees: the transcript, its budget, and what comes back from history."""
