"""Puts what was found into a result that keeps its token bound."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.domain.actions import Receipt, describe
from app.domain.memory import RecallHit, RecallQuery, RecallResult, TextKind
from app.domain.screens import ArtifactRef, Observation
from app.storage import tables
from app.storage.excerpts import excerpt, tokens_of
from app.storage.ranking import Ranked
from app.storage.rows import RECOVERIES, AnyRow, parsed
from app.storage.sought import Sought

HIT_TOKENS = 12  # what a hit costs beside its texts
EXCERPT_TOKENS = 120
DETAILS_TOKENS = 300
SMALLEST = 12  # tokens below which an excerpt says nothing

_step = tables.step.c
STEP = (
    _step.step_number,
    _step.offset,
    _step.state,
    _step.action_text,
    _step.verdict,
    _step.verdict_reason,
    _step.app,
    _step.page,
    _step.thinking,
    _step.receipt,
    _step.recoveries,
    _step.notes,
    _step.remembered,
    _step.observation,
    _step.after,
)


def assemble(
    query: RecallQuery, sought: Sought, hits: Sequence[Ranked], steps: Sequence[AnyRow]
) -> RecallResult:
    """Hits with their excerpts, then details and a picture as far as there is room."""
    by_number = {row.step_number: row for row in steps}
    results: list[RecallHit] = []
    left, truncated = query.max_tokens, False
    for hit in hits:
        room = min(EXCERPT_TOKENS, left - HIT_TOKENS)
        if room < SMALLEST:
            truncated = True
            break
        shown = excerpt(hit.text, sought.needles, room)
        truncated |= room < EXCERPT_TOKENS and tokens_of(hit.text) > room
        left -= HIT_TOKENS + tokens_of(shown)
        results.append(
            RecallHit(step_number=hit.step_number, kind=hit.kind, excerpt=shown, score=hit.score)
        )
    if query.include_details:
        for index, result in enumerate(results):
            if row := by_number.get(result.step_number):
                details = _details(row)
                room = min(DETAILS_TOKENS, left)
                shown = excerpt(details, (), room) if room >= SMALLEST else ""
                truncated |= tokens_of(details) > room
                left -= tokens_of(shown)
                results[index] = result.model_copy(update={"details": shown})
    if query.include_images:
        _add_image(results, by_number)
    return RecallResult(results=tuple(results), tokens=query.max_tokens - left, truncated=truncated)


def ledger(query: RecallQuery, steps: Sequence[AnyRow]) -> RecallResult:
    """The steps' lines in order, as many as fit."""
    results: list[RecallHit] = []
    left = query.max_tokens
    for row in steps:
        line = ledger_line(row)
        cost = HIT_TOKENS + tokens_of(line)
        if cost > left:
            if results or left < HIT_TOKENS + SMALLEST:
                break
            line = excerpt(line, (), left - HIT_TOKENS)
            cost = HIT_TOKENS + tokens_of(line)
        left -= cost
        results.append(
            RecallHit(step_number=row.step_number, kind=TextKind.ACTION, excerpt=line, score=0.0)
        )
    if query.include_images:
        _add_image(results, {row.step_number: row for row in steps})
    return RecallResult(
        results=tuple(results),
        tokens=query.max_tokens - left,
        truncated=len(results) < len(steps),
    )


def ledger_line(row: AnyRow) -> str:
    """What was done and what came of it; recovery actions as indented lines."""
    minutes, seconds = divmod(int(row.offset), 60)
    lines = [
        f"Step {row.step_number} (T+{minutes:02}:{seconds:02}): {row.action_text or 'no action'}"
        f" → {row.verdict or row.state}"
    ]
    for recovery in RECOVERIES.validate_json(row.recoveries):
        action = describe(recovery.action) if recovery.action else recovery.diagnosis
        outcome = f" → {recovery.verdict.value}" if recovery.verdict else ""
        lines.append(f"  recovery: {action}{outcome}")
    return "\n".join(lines)


def _details(row: AnyRow) -> str:
    receipt = parsed(Receipt, row.receipt)
    remembered = json.loads(row.remembered)
    lines = (
        ledger_line(row),
        f"Screen: {row.page} ({row.app})" if row.page != row.app else f"Screen: {row.page}",
        f"Verdict: {row.verdict_reason}" if row.verdict_reason else "",
        f"Receipt: {receipt.outcome.value} {receipt.message}".rstrip() if receipt else "",
        "; ".join(f"remembered {key} = {value}" for key, value in remembered.items()),
        f"Notes: {', '.join(json.loads(row.notes))}" if row.notes != "[]" else "",
        f"Thinking: {row.thinking}" if row.thinking else "",
    )
    return "\n".join(line for line in lines if line)


def _add_image(results: list[RecallHit], steps: dict[int, AnyRow]) -> None:
    """The picture of the best step that has one; of one step only."""
    for index, hit in enumerate(results):
        row = steps.get(hit.step_number)
        if row is not None and (image := _image(row)):
            results[index] = hit.model_copy(update={"image": image})
            return


def _image(row: AnyRow) -> ArtifactRef | None:
    """What was seen before the step; of a step that was not looked at before, what it led to."""
    for seen in (parsed(Observation, row.observation), parsed(Observation, row.after)):
        if seen is not None and (image := seen.model_image or seen.screenshot):
            return image
    return None
