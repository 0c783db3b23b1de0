"""The artifact folder."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from app.domain.screens import ArtifactRef
from app.errors import NotFound
from app.storage.artifacts import FileArtifacts


async def test_content_is_named_by_its_hash_and_written_once(tmp_path: Path) -> None:
    artifacts = FileArtifacts(tmp_path)
    refs = await asyncio.gather(*(artifacts.put(b"same", "text/plain") for _ in range(20)))
    assert len(set(refs)) == 1
    sha256 = hashlib.sha256(b"same").hexdigest()
    assert refs[0] == ArtifactRef(sha256=sha256, media_type="text/plain", size=4)
    path = artifacts.path(sha256)
    assert path == tmp_path / sha256[:2] / sha256[2:4] / sha256
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]  # noqa: ASYNC240
    written = path.stat().st_mtime_ns
    await artifacts.put(b"same", "image/png")
    assert path.stat().st_mtime_ns == written
    assert await artifacts.get(refs[0]) == b"same"
    assert await artifacts.get(await artifacts.put(b"", "text/plain")) == b""


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    artifacts = FileArtifacts(tmp_path)
    missing = ArtifactRef(sha256="0" * 64, media_type="x", size=1)
    with pytest.raises(NotFound):
        await artifacts.get(missing)
    with pytest.raises(NotFound):
        artifacts.path(missing.sha256)


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", "a" * 63, "A" * 64, "0" * 64 + "\n", "/" * 64, "." * 64]
)
def test_no_other_name_reaches_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        FileArtifacts(tmp_path).path(name)


async def test_unlinked_content_is_not_removed(tmp_path: Path) -> None:
    artifacts = FileArtifacts(tmp_path)
    ref = await artifacts.put(b"new", "text/plain")
    artifacts.remove([ref.sha256])
    assert await artifacts.get(ref) == b"new"
    artifacts.linked([ref.sha256])
    artifacts.remove([ref.sha256, "1" * 64])
    with pytest.raises(NotFound):
        await artifacts.get(ref)
