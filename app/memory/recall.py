"""Shows recalled history to the model as bounded text."""

from __future__ import annotations

from app.domain.memory import RecallResult


def render(result: RecallResult) -> str:
    """Hits best first, each with its step number; says so when nothing was found."""
    if not result.results:
        return "Nothing recorded matches. Nothing was invented in its place."
    lines = []
    for hit in result.results:
        lines.append(f"Step {hit.step_number} ({hit.kind.value}): {hit.excerpt}")
        if hit.details:
            lines.append(f"  details: {hit.details}")
    if result.truncated:
        lines.append("More matched; narrow the query or give a step_range.")
    return "\n".join(lines)
