"""Measures Artemis itself: no model is paid for and no device is touched."""
