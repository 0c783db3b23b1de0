"""`artemis recall`: asks what was recorded of a task, as the agent itself can."""

from __future__ import annotations

import json

from app.cli.client import connected
from app.cli.printing import safe, say
from app.domain.memory import RecallResult
from app.domain.screens import ArtifactRef
from app.errors import InvalidInput, NotFound
from app.settings import Settings
from app.storage.artifacts import FileArtifacts


async def recall(
    settings: Settings,
    task_id: str,
    query: str,
    steps: str,
    *,
    details: bool,
    images: bool,
    as_json: bool,
) -> int:
    """Prints the best steps, best first; nothing found is an answer too."""
    body: dict[str, object] = {"query": query, "include_details": details, "include_images": images}
    if steps:
        body["step_range"] = step_range(steps)
    async with connected(settings) as client:
        answer = await client.post(f"/tasks/{task_id}/recall", body)
    result = RecallResult.model_validate(answer)
    if as_json:
        for hit, said in zip(result.results, answer["results"], strict=True):
            if hit.image is not None:
                said["image"]["file"] = _file(settings, hit.image)
        say(json.dumps(answer, ensure_ascii=False))
        return 0
    for hit in result.results:
        say(f"{hit.step_number:>5}  {hit.kind.value:<11} {hit.score:.2f}  {safe(hit.excerpt, 600)}")
        for line in hit.details.splitlines():
            say(f"       {safe(line, 600)}")
        if hit.image is not None:
            place = _file(settings, hit.image) or f"artifact {hit.image.sha256}"
            say(f"       picture: {place} ({hit.image.media_type})")
    if not result.results:
        say("nothing recorded matches")
    if result.truncated:
        say("more matched; narrow the query or give --steps")
    return 0


def _file(settings: Settings, image: ArtifactRef) -> str | None:
    """Where the picture lies; None where the data is on another machine."""
    try:
        return str(FileArtifacts(settings.data_dir / "artifacts").path(image.sha256).absolute())
    except NotFound:
        return None


def step_range(text: str) -> tuple[int, int]:
    """`7-12`, or `7` alone."""
    first, _, last = text.partition("-")
    try:
        numbers = int(first), int(last or first)
    except ValueError:
        raise InvalidInput(f"{text!r} is no range of steps", hint="write --steps 7-12") from None
    if min(numbers) < 0 or max(numbers) > 1_000_000:
        raise InvalidInput(f"{text!r} is no range of steps", hint="write --steps 7-12")
    return numbers
