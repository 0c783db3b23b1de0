"""Keeps large things as files named by their content."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from app.domain.screens import ArtifactRef
from app.errors import NotFound

_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = "unfinished"
FORGOTTEN_AFTER = 3_600.0  # seconds after which a file that no row names is rubbish


class FileArtifacts:
    """A folder of files `aa/bb/<sha256>`. The same content is written once.

    What was put but is not linked to a task yet is remembered, so that deleting another task
    with the same content cannot take it away in between.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unlinked: set[str] = set()
        self._guard = threading.Lock()
        self._writer = secrets.token_hex(8)

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        sha256 = await asyncio.to_thread(self._put, data)
        return ArtifactRef(sha256=sha256, media_type=media_type, size=len(data))

    async def get(self, ref: ArtifactRef) -> bytes:
        """Raises NotFound."""
        return await asyncio.to_thread(self._get, ref.sha256)

    def path(self, sha256: str) -> Path:
        """Where the content lies; raises NotFound, also for a name that is none."""
        path = self._path(sha256)
        if not path.is_file():
            raise NotFound(f"There is no artifact {sha256[:12]}.")
        return path

    def linked(self, sha256s: Iterable[str]) -> None:
        """A task needs these now, and the database knows it."""
        with self._guard:
            self._unlinked.difference_update(sha256s)

    def remove(self, sha256s: Iterable[str]) -> None:
        """Deletes files that no task needs; called by the store's own thread."""
        for sha256 in sha256s:
            with self._guard:
                if sha256 not in self._unlinked:
                    self._path(sha256).unlink(missing_ok=True)

    async def forgotten(self, known: frozenset[str]) -> list[str]:
        """Files that no row names and that are too old to be on their way into one."""
        return await asyncio.to_thread(self._forgotten, known)

    def _path(self, sha256: str) -> Path:
        if not _NAME.fullmatch(sha256):
            raise NotFound("That is not the name of an artifact.")
        return self._root / sha256[:2] / sha256[2:4] / sha256

    def _put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        with self._guard:
            self._unlinked.add(sha256)
            if path.is_file():
                return sha256
        unfinished = self._write(data)
        try:
            unfinished.replace(path)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.replace(path)
        return sha256

    def _write(self, data: bytes) -> Path:
        """A whole file under a name that no other thread or process uses."""
        path = self._root / _UNFINISHED / f"{self._writer}-{threading.get_ident()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            file = os.open(path, flags, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, flags, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(data)
        return path

    def _get(self, sha256: str) -> bytes:
        try:
            return self._path(sha256).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no artifact {sha256[:12]}.") from None

    def _forgotten(self, known: frozenset[str]) -> list[str]:
        oldest = time.time() - FORGOTTEN_AFTER
        found = []
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = Path(folder, name)
                if name in known or path.stat().st_mtime > oldest:
                    continue
                if path.parent.name == _UNFINISHED:
                    path.unlink(missing_ok=True)
                elif _NAME.fullmatch(name):
                    found.append(name)
        return found
