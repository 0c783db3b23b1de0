"""Sets up logging: one line an entry on standard error, readable or JSON."""

from __future__ import annotations

import logging
import sys

import structlog

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def set_up_logs(level: str) -> None:
    """Called once by a command; nothing is logged at import."""
    number = _LEVELS[level]
    readable = sys.stderr.isatty()
    # Plain tracebacks: the pretty ones print local variables, and a secret may be one.
    rendering: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if readable
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr)
