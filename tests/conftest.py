"""Keeps keys for paid services out of every test."""

import os

import pytest

PAID_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


def pytest_configure(config: pytest.Config) -> None:
    """Make a forgotten key unusable, also when pytest is started without make."""
    for name in PAID_KEYS:
        os.environ.pop(name, None)
