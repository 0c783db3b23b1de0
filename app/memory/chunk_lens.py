"""Builds the chunk writer's input, and what its capsule is checked against, from the steps.

A turn is given as it stood in the operator's own context, tool answers included, since the
capsule takes its place there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.messages import Call, Message, Response, Text
from app.domain.plans import Check
from app.domain.ports import Artifacts
from app.domain.summaries import StepSummary
from app.domain.tasks import Instruction, StepRecord
from app.memory.background import nothing_read
from app.memory.capsule_checks import ChunkSources, Contradiction, StepSource
from app.memory.ledger import action_result, step_line
from app.memory.lens import difference_lines, element_texts, quiet, seen_lines
from app.memory.tokens import count_text, cut_text
from app.memory.wording import SEPARATOR

REASONING_TOKENS = 500
RESULT_TOKENS = 400
TURN_TOKENS = 1_500
ACTION_RESULT = "action result"
_NOTE_TOOLS = frozenset({"notes"})


class ChunkInput(NamedTuple):
    """What a chunk writer is given, and the sources of its checks."""

    text: str
    sources: ChunkSources


async def look_at_chunk(
    steps: Sequence[StepRecord],
    summaries: Mapping[int, StepSummary],
    artifacts: Artifacts,
    *,
    checks: Sequence[Check] = (),
    instructions: Sequence[Instruction] = (),
    picture_text: Callable[[StepRecord], Awaitable[str]] = nothing_read,
) -> ChunkInput:
    """The input of one contiguous range of steps."""
    end = steps[-1].step_number
    open_checks = tuple(
        c.text for c in checks if c.closed_by_step is None or c.closed_by_step > end
    )
    contradictions = (*_changed_values(steps), *_conflicts(steps, summaries))
    told = {
        step.step_number: [i for i in instructions if i.step_number == step.step_number]
        for step in steps
    }
    turns = [_turn(step, summaries.get(step.step_number), told[step.step_number]) for step in steps]
    head = f"# CHUNK\nSteps {steps[0].step_number}-{end}"
    parts = [
        head,
        "# OPEN CHECKS\n" + ("\n".join(f"- {quiet(c)}" for c in open_checks) or "none"),
        "# CONTRADICTIONS\n" + ("\n".join(f"- {c.line}" for c in contradictions) or "none"),
        "# TURNS\n" + "\n".join(turns),
    ]
    text = "\n".join(parts)
    sources = []
    for step in steps:
        number = step.step_number
        seen = await _seen(step, artifacts)
        seen.append(await picture_text(step))
        sources.append(_source(step, seen, summaries.get(number), told[number]))
    return ChunkInput(
        text, ChunkSources(tuple(sources), open_checks, contradictions, count_text(text))
    )


def _turn(
    step: StepRecord, summary: StepSummary | None, instructions: Iterable[Instruction]
) -> str:
    lines = [f"{SEPARATOR} Step {step.step_number} {SEPARATOR}", "Recorded:"]
    lines += [f"line: {line}" for line in step_line(step).splitlines()]
    lines += [f"seen {line}" for line in seen_lines(step.observation)]
    lines += difference_lines(step)
    lines += [f"kept: {key} = {_one_line(v)}" for key, v in step.remembered.items()]
    lines += [f"note {key}: {_one_line(text)}" for key, text in _notes(step)]
    lines += [f"instruction I{i.number}: {_one_line(i.text)}" for i in instructions]
    if summary is not None:
        lines.append(f"summary: {_one_line(summary.text)}")
    said = [line for message in step.messages for line in _as_seen(message, step)]
    if not said and (thinking := step.thinking or step.native_thinking):
        said = [f"reasoning (excerpt): {_one_line(cut_text(thinking, REASONING_TOKENS))}"]
    if said:
        lines += ["As I saw it:", quiet(cut_text("\n".join(said), TURN_TOKENS))]
    return "\n".join(quiet(line) if not line.startswith(SEPARATOR) else line for line in lines)


def _as_seen(message: Message, step: StepRecord) -> Iterable[str]:
    """One message of a turn as lines."""
    for part in message.parts:
        match part:
            case Text(text=text, thought=thought) if text.strip():
                name = "(thinking)" if thought else "said"
                yield f"{name}: {_one_line(cut_text(text, REASONING_TOKENS))}"
            case Call(name=name, args=args) if not _ends_turn(name, step):
                yield f"tool call {name}: {_one_line(str(args))}"
            case Response(name=name) if _ends_turn(name, step):
                yield f"{ACTION_RESULT}: {_one_line(str(action_result(step)))}"
            case Response(name=name):
                yield f"tool result {name}: {_one_line(cut_text(_answer(part), RESULT_TOKENS))}"


def _answer(part: Response) -> str:
    """What a tool said, as text."""
    return str(part.response.get("result", part.response.get("error", part.response)))


def _ends_turn(name: str, step: StepRecord) -> bool:
    return step.action is not None and name == step.action.type


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _notes(step: StepRecord) -> tuple[tuple[str, str], ...]:
    """The notes written in a step with what was written."""
    texts = {key: "" for key in step.notes}
    for message in step.messages:
        for call in message.calls:
            key = str(call.args.get("key", ""))
            if call.name in _NOTE_TOOLS and key in texts and "text" in call.args:
                texts[key] = f"{texts[key]} {call.args['text']}".strip()
    return tuple(texts.items())


async def _seen(step: StepRecord, artifacts: Artifacts) -> list[str]:
    """What the screens of a step said, texts of elements included."""
    screens = [o for o in (step.observation, step.after) if o is not None]
    seen = [line for o in screens for line in seen_lines(o)] + difference_lines(step)
    for screen in screens:
        seen += await element_texts(screen, artifacts)
    return seen


def _source(
    step: StepRecord,
    seen: Iterable[str],
    summary: StepSummary | None,
    instructions: Iterable[Instruction],
) -> StepSource:
    """What may be said of a step, by the kind of source."""
    results = [
        f"{part.name}: {_answer(part)}"
        for message in step.messages
        for part in message.parts
        if isinstance(part, Response) and not _ends_turn(part.name, step)
    ]
    notes = [f"{key}: {text}" for key, text in _notes(step)]
    notes += [f"{key} = {value}" for key, value in step.remembered.items()]
    receipt = step.receipt.message if step.receipt is not None else ""
    result = [str(action_result(step)), step.verdict_reason, receipt, step_line(step)]
    said = [step.action_text, step.thinking, step.native_thinking, *(i.text for i in instructions)]
    said += [str(call.args) for message in step.messages for call in message.calls]
    if summary is not None:
        said.append(summary.text)
    return StepSource(
        step_number=step.step_number,
        evidence={
            "screen": "\n".join(filter(None, seen)),
            "tool": "\n".join(results),
            "notes": "\n".join(notes),
            "result": "\n".join(filter(None, result)),
        },
        said="\n".join(filter(None, said)),
        note_keys=tuple(dict.fromkeys(step.notes)),
        pictured=summary.image_only if summary is not None else (),
    )


def _changed_values(steps: Iterable[StepRecord]) -> Iterable[Contradiction]:
    """One remembered key with two values: neither may be dropped without a word."""
    values: dict[str, tuple[str, int]] = {}
    for step in steps:
        for key, value in step.remembered.items():
            before = values.get(key)
            if before is not None and before[0] != value:
                yield Contradiction(
                    key,
                    (f"{before[0]} (step {before[1]})", f"{value} (step {step.step_number})"),
                )
            values[key] = (value, step.step_number)


def _conflicts(
    steps: Iterable[StepRecord], summaries: Mapping[int, StepSummary]
) -> Iterable[Contradiction]:
    """Summaries that say otherwise than the validator."""
    for step in steps:
        summary = summaries.get(step.step_number)
        if summary is not None and summary.conflict and step.verdict is not None:
            verdict = f"validator: {step.verdict.value} (step {step.step_number})"
            yield Contradiction(f"step {step.step_number}", (summary.conflict, verdict))
