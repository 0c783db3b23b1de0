"""Every error Artemis raises, in one tree.

The docstring of a class is its message for people when none is given. Foreign
exceptions (driver, SDK, database) are converted to one of these at the edge.
"""

from __future__ import annotations

import inspect


class ArtemisError(Exception):
    """Something went wrong in Artemis."""

    code = "artemis_error"
    """Stable machine word, the same in REST problems, events and the command line."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        self.message = message or inspect.getdoc(type(self)) or type(self).__name__
        self.hint = hint
        """What to change so that it works, or an empty string."""
        super().__init__(self.message)

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        return f"{self.message.rstrip('.')}. {self.hint[0].upper()}{self.hint[1:]}"


# --- what a caller can mend -------------------------------------------------------------


class InvalidInput(ArtemisError):
    """The request cannot be used as it is."""

    code = "invalid_input"


class NotFound(ArtemisError):
    """There is nothing under that name."""

    code = "not_found"


class Conflict(ArtemisError):
    """The present state does not allow this."""

    code = "conflict"


class Forbidden(ArtemisError):
    """This is not allowed from here."""

    code = "forbidden"


class ConfigurationError(ArtemisError):
    """A setting is missing or wrong."""

    code = "configuration"


class StoreLocked(ArtemisError):
    """Another Artemis process uses this data directory."""

    code = "store_locked"


# --- the device ----------------------------------------------------------------------------


class DeviceError(ArtemisError):
    """The device refused or could not do this."""

    code = "device_error"


class DeviceUnreachable(DeviceError):
    """The device's server does not answer."""

    code = "device_unreachable"


class SessionLost(DeviceError):
    """The session with the device has ended and must be opened again."""

    code = "session_lost"


class DeviceTimeout(DeviceError):
    """The device did not answer in time, so what it did is unknown."""

    code = "device_timeout"


class AbilityMissing(DeviceError):
    """This kind of device cannot do that."""

    code = "ability_missing"


class PictureUnread(ArtemisError):
    """The text in the picture could not be read."""

    code = "picture_unread"


class ReaderAway(PictureUnread):
    """The picture is not read now, but may be another time."""

    code = "reader_away"


# --- the model -----------------------------------------------------------------------------


class ModelError(ArtemisError):
    """The model could not give a usable answer."""

    code = "model_error"
    attempts = 1
    """Times the model was asked before this was said."""


class ModelUnavailable(ModelError):
    """The model's service did not answer after all retries."""

    code = "model_unavailable"


class ModelQuota(ModelError):
    """The model's quota is used up."""

    code = "model_quota"


class ModelTimeout(ModelError):
    """The model did not answer in time."""

    code = "model_timeout"


class ModelRejected(ModelError):
    """The model's service rejects the request as malformed."""

    code = "model_rejected"


class SignatureMissing(ModelRejected):
    """The model's service misses a thought signature in the request."""

    code = "signature_missing"


class ModelUnauthorized(ModelError):
    """The model's service does not accept the key."""

    code = "model_unauthorized"


class StructuredOutputRefused(ModelError):
    """The model's answer does not fit the task's JSON schema."""

    code = "structured_output"


# --- limits -----------------------------------------------------------------------------------


class LimitReached(ArtemisError):
    """A limit of the task is reached."""

    code = "limit_reached"


class BudgetImpossible(ArtemisError):
    """The prompt does not fit its hard limit even after every reduction."""

    code = "budget_impossible"
