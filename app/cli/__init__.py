"""The command line: `artemis serve | demo | run | tasks | devices | delete | doctor | bench`."""

from __future__ import annotations

import sys

from app.errors import ArtemisError


def main() -> None:
    """Runs a command; an error of ours is one readable line and exit code 2."""
    from app.cli.commands import app  # the commands import everything; reading one line does not

    try:
        app(standalone_mode=True)
    except ArtemisError as error:
        sys.stderr.write(f"artemis: {error}\n")
        raise SystemExit(2) from None
