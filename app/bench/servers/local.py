"""A local HTTP server on a free port, a thread for each connection."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
POLL = 0.02
"""Seconds in which a server notices that it is to end."""


class Handler(BaseHTTPRequestHandler):
    """Reads and sends whole bodies; keeps the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        return

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        # As Java does, half an emoji is written as an escape and arrives as a lone surrogate.
        self.send_bytes(status, json.dumps(body).encode(), headers)

    def send_bytes(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False
    ) -> None:
        """Sends an answer; with `cut` half of it, and the connection breaks."""
        types = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
        self.close_connection = self.close_connection or cut
        try:
            self.send_response(status)
            for name, value in types.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut else body)
        except OSError:
            self.close_connection = True  # the client has given up


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is part of what is served; a fault is told."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving(handler: type[Handler], poll: float = POLL) -> Iterator[str]:
    """Serves until the block ends; gives the address."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(poll,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
