"""Keeps keys for paid services out of every test, and the clock out of generated ones."""

import os

import pytest
from hypothesis import HealthCheck, settings

PAID_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


def pytest_configure(config: pytest.Config) -> None:
    """Make a forgotten key unusable, also when pytest is started without make."""
    # A busy machine is no finding.
    slow = [HealthCheck.too_slow]
    settings.register_profile("artemis", deadline=None, suppress_health_check=slow)
    settings.load_profile("artemis")
    for name in PAID_KEYS:
        os.environ.pop(name, None)
