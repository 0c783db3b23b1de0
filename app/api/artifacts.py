"""Artifacts by name: pictures, UI sources, prompts, replies."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Header, Response

from app.api.dependencies import ArtifactsDep, QueriesDep, Sha256, TaskId

router = APIRouter(prefix="/tasks/{task_id}/artifacts", tags=["evidence"])

SAFE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "application/json", "text/plain"})
"""Served as what they are; everything else, device XML above all, as bytes to be saved."""

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Span(NamedTuple):
    """Bytes from the first up to and with the last."""

    first: int
    last: int


@router.get(
    "/{sha256}",
    response_class=Response,
    responses={
        200: {"description": "The whole artifact.", "content": {"*/*": {}}},
        206: {"description": "The range asked for.", "content": {"*/*": {}}},
        304: {"description": "The copy at hand is good: an artifact never changes."},
        416: {"description": "The range lies outside.", "content": {"*/*": {}}},
    },
)
async def read(
    task_id: TaskId,
    sha256: Sha256,
    queries: QueriesDep,
    artifacts: ArtifactsDep,
    range_header: Annotated[str, Header(alias="Range", max_length=200)] = "",
    if_none_match: Annotated[str, Header(alias="If-None-Match", max_length=500)] = "",
) -> Response:
    """An artifact of this task; another task's is not found."""
    ref = await queries.steps.artifact(sha256, task_id=task_id)
    headers = {
        "ETag": f'"{sha256}"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "Accept-Ranges": "bytes",
    }
    if f'"{sha256}"' in if_none_match:
        return Response(status_code=304, headers=headers)
    media_type = ref.media_type if ref.media_type in SAFE_TYPES else "application/octet-stream"
    if not media_type.startswith("image/"):
        headers["Content-Disposition"] = f'attachment; filename="{sha256[:16]}"'
    data = await artifacts.get(ref)
    if not _RANGE.fullmatch(range_header):
        return Response(data, media_type=media_type, headers=headers)
    span = _span(range_header, len(data))
    if span is None:
        headers["Content-Range"] = f"bytes */{len(data)}"
        return Response(status_code=416, headers=headers)
    headers["Content-Range"] = f"bytes {span.first}-{span.last}/{len(data)}"
    part = data[span.first : span.last + 1]
    return Response(part, status_code=206, media_type=media_type, headers=headers)


def _span(header: str, size: int) -> Span | None:
    """The bytes of a single range; None when it lies outside."""
    match = _RANGE.fullmatch(header)
    if match is None or match.group(0) == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        return Span(max(0, size - int(last)), size - 1) if int(last) and size else None
    start, end = int(first), min(int(last) if last else size - 1, size - 1)
    return Span(start, end) if start <= end else None
