"""Builds the summariser's input from what is recorded about one step, and nothing else.

A picture that does not exist is left out; the decision screenshot never stands in for the one
after. Every label of the input begins a line with `# `, and no material does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.actions import (
    Action,
    ClearText,
    DoubleTap,
    Drag,
    InputText,
    LongPress,
    Swipe,
    Tap,
)
from app.domain.config import MemoryConfig
from app.domain.messages import Image
from app.domain.ports import Artifacts
from app.domain.screens import ArtifactRef, Observation, UiTree
from app.domain.summaries import StepSummary
from app.domain.tasks import StepRecord
from app.errors import NotFound
from app.memory.ledger import offset_text, recovery_line
from app.memory.tokens import cut_text
from app.perception.picture import Mark, ModelImage, marked_jpeg

LABELS = (
    "STEP",
    "SEEN",
    "ACTION",
    "CONTROLLER",
    "VALIDATOR",
    "DIFFERENCE",
    "ANALYZER",
    "KEPT",
    "THINKING",
    "RECENT",
    "PICTURES",
)
ECHOES = tuple(f"# {label}" for label in LABELS)
THINKING_TOKENS = 1_200
PART_TOKENS = 400
RECENT_TOKENS = 150
RECENT = 3
"""Former summaries shown, for loops and strategy."""


class Given(NamedTuple):
    """What a summariser is given."""

    text: str
    images: tuple[Image, ...]
    sources: tuple[str, ...]
    """The texts its values are looked for in: the input, and the elements of the screens shown."""
    decision: ArtifactRef | None
    post: ArtifactRef | None
    used_ui_diff: bool


async def look_at(
    step: StepRecord,
    recent: Sequence[StepSummary],
    config: MemoryConfig,
    artifacts: Artifacts,
) -> Given:
    """Everything that exists about a step, bounded."""
    images: list[Image] = []
    decision = post = None
    if config.include_pre_image:
        decision = await _picture(step.observation, marks_of(step.action), artifacts)
    if config.include_post_image_when_available and _independent(step):
        post = await _picture(step.after, (), artifacts)
    images = [picture for picture in (decision, post) if picture is not None]
    parts = _parts(step, recent, config)
    told = [
        *(["1. the screen I decided on, my action marked"] if decision else []),
        *([f"{len(images)}. the screen afterwards"] if post else []),
    ]
    parts["PICTURES"] = "\n".join(told) or "none"
    text = _laid_out(parts)
    for value in (value for summary in recent for value in summary.image_only):
        # To be repeated gives no source to what only a picture showed.
        parts["RECENT"] = parts["RECENT"].replace(value, "…")
    witnesses = [await _element_texts(o, artifacts) for o in (step.observation, step.after) if o]
    return Given(
        text=text,
        images=tuple(images),
        sources=(_laid_out(parts), *witnesses),
        decision=decision.ref if decision else None,
        post=post.ref if post else None,
        used_ui_diff="DIFFERENCE" in parts,
    )


def _laid_out(parts: Mapping[str, str]) -> str:
    return "\n".join(f"# {label}\n{parts[label]}" for label in LABELS if parts.get(label))


def marks_of(action: Action | None) -> tuple[Mark, ...]:
    """Where an action lies on its screenshot."""
    match action:
        case Tap(target=t) | LongPress(target=t) | DoubleTap(target=t):
            return (Mark(t.point),)
        case InputText(target=t) | ClearText(target=t) if t is not None:
            return (Mark(t.point),)
        case Swipe(start=start, end=end):
            return (Mark(start, end),)
        case Drag(start=origin, end=goal):
            return (Mark(origin.point, goal.point),)
        case _:
            return ()


def quiet(text: str) -> str:
    """Material whose lines cannot be taken for labels."""
    return re.sub(r"(?m)^(?=#|──)", " ", text.strip())


def seen_lines(observation: Observation) -> list[str]:
    """What is known of a screen without its element list, a line each."""
    lines = [f"page: {observation.page()}"]
    if observation.app() and observation.app() != observation.page():
        lines.append(f"app: {observation.app()}")
    if observation.activity and observation.activity != observation.page():
        lines.append(f"activity: {observation.activity}")
    if observation.url and observation.url not in (observation.page(), observation.app()):
        lines.append(f"url: {observation.url}")
    if observation.alert is not None:
        lines.append(f"alert: {cut_text(observation.alert.text, PART_TOKENS)}")
    lines += [f"toast: {toast}" for toast in observation.toasts]
    lines += [f"problem: {problem}" for problem in observation.problems]
    return [quiet(line.replace("\n", " ")) for line in lines]


def difference_lines(step: StepRecord) -> list[str]:
    """What the mechanical comparison found, a text that came or went on a line of its own."""
    diff = step.diff
    if diff is None:
        return []
    lines = ["no visible change"] if not diff.changed else []
    if diff.app_changed:
        lines.append("another app is in front")
    if diff.page_changed and step.after is not None:
        lines.append("another page is shown")
        lines.append(f"page now: {step.after.page()}")
    lines += [f"appeared: {text}" for text in diff.added]
    lines += [f"left: {text}" for text in diff.removed]
    return [quiet(line.replace("\n", " ")) for line in lines or ["the picture changed"]]


def _parts(step: StepRecord, recent: Sequence[StepSummary], config: MemoryConfig) -> dict[str, str]:
    parts = {
        "STEP": f"Step {step.step_number} ({offset_text(step.offset)})",
        "SEEN": "\n".join(seen_lines(step.observation)),
        "ACTION": _action(step),
        "VALIDATOR": _verdict(step),
        "KEPT": "\n".join(_kept(step)),
        "ANALYZER": "\n".join(_recovery(step)),
        "THINKING": quiet(cut_text(step.thinking or step.native_thinking, THINKING_TOKENS)),
        "RECENT": "\n".join(
            f"Step {s.step_number}: {quiet(cut_text(s.text, RECENT_TOKENS))}" for s in recent
        ),
    }
    if step.receipt is not None:
        told = f"{step.receipt.outcome.value} {step.receipt.message}".strip()
        parts["CONTROLLER"] = quiet(cut_text(told, PART_TOKENS))
    if config.include_ui_diff and (lines := difference_lines(step)):
        parts["DIFFERENCE"] = "\n".join(lines)
    return parts


def _action(step: StepRecord) -> str:
    lines = [step.action_text or "none"]
    if step.action is not None:
        lines.append(cut_text(step.action.model_dump_json(), PART_TOKENS))
    return "\n".join(quiet(line.replace("\n", " ")) for line in lines)


def _verdict(step: StepRecord) -> str:
    verdict = step.verdict.value if step.verdict is not None else "none"
    lines = [verdict, cut_text(step.verdict_reason, PART_TOKENS)]
    return "\n".join(quiet(line.replace("\n", " ")) for line in lines if line)


def _recovery(step: StepRecord) -> Iterable[str]:
    for recovery in step.recoveries:
        yield quiet(cut_text(recovery_line(recovery), PART_TOKENS))
        if recovery.diagnosis:
            told = cut_text(recovery.diagnosis, PART_TOKENS).replace("\n", " ")
            yield quiet(f"diagnosis: {told}")


def _kept(step: StepRecord) -> Iterable[str]:
    for key, value in step.remembered.items():
        yield quiet(f"value {key} = {value}".replace("\n", " "))
    for key in step.notes:
        yield quiet(f"note {key}".replace("\n", " "))


def _independent(step: StepRecord) -> bool:
    """Whether there is a picture from after the action that is not the decision's own."""
    after = step.after
    if after is None or after.screenshot is None:
        return False
    before = step.observation.screenshot
    return before is None or after.screenshot.sha256 != before.sha256


async def _picture(
    seen: Observation | None, marks: tuple[Mark, ...], artifacts: Artifacts
) -> Image | None:
    """A stored screenshot as a model is shown it, the action marked; None where there is none."""
    if seen is None or seen.screenshot is None or seen.black:
        return None
    try:
        data = await artifacts.get(seen.screenshot)
    except NotFound:
        return None
    drawn: ModelImage | None = await asyncio.to_thread(marked_jpeg, data, marks)
    if drawn is None:
        return None
    ref = await artifacts.put(drawn.data, drawn.media_type)
    return Image(ref=ref, width=drawn.width, height=drawn.height, data=drawn.data)


async def _element_texts(seen: Observation, artifacts: Artifacts) -> str:
    """All texts of a screen's elements: what a picture shows may stand there too."""
    return "\n".join(await element_texts(seen, artifacts))


async def element_texts(seen: Observation, artifacts: Artifacts) -> tuple[str, ...]:
    """Texts, values and hints of a screen's elements, each once, in order."""
    tree = seen.tree
    if not tree.elements and seen.tree_ref is not None:
        try:
            data = await artifacts.get(seen.tree_ref)
        except NotFound:
            return ()
        tree = await asyncio.to_thread(UiTree.model_validate_json, data)
    found = (t for e in tree.elements for t in (e.text, e.value, e.hint) if t)
    return tuple(dict.fromkeys(found))
