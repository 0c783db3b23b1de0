"""Artemis: give a phone a goal in plain words, watch it being reached, prove what happened."""

__version__ = "0.1.0"
