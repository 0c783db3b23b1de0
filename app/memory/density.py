"""What an older chunk is worth in the present prompt, for each token it costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from app.domain.summaries import Boundary, HistoryChunk
from app.domain.tasks import Instruction
from app.memory.pieces import Fact
from app.memory.tail import TailFacts

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "subgoal": 3.0,
        "unresolved": 2.0,
        "trouble": 2.0,
        "screen": 2.0,
        "entities": 2.0,
        "boundary": 1.0,
        "referred": 4.0,
        "recency": 2.0,
        "resolved": -1.0,
        "duplicate": -2.0,
    }
)
BASE = 1.0
SAID_LATELY = 2
"""Newest instructions that count for what the task is about."""
ENTITY_WORDS = 4
"""Words in common with the present that count for all there is."""
_WORD = re.compile(r"\w{3,}")
_STEP = re.compile(r"\bsteps?\s+(\d+)", re.IGNORECASE)
_BORDERS = frozenset({Boundary.GOAL, Boundary.EFFECT, Boundary.RESULT, Boundary.MILESTONE})


class Present(NamedTuple):
    """What the task is about right now."""

    step_number: int
    subgoal: str = ""
    app: str = ""
    page: str = ""
    words: frozenset[str] = frozenset()
    """Of the active milestone, the page, and what people said last."""
    referred: frozenset[int] = frozenset()
    """Step numbers that people named."""
    standing: str = ""
    """What the prompt says anyway."""


def present(facts: TailFacts, instructions: Sequence[Instruction], standing: str) -> Present:
    """What the task is about, from the tail and what people said last."""
    said = [i.text for i in instructions[-SAID_LATELY:]]
    active = facts.plan.active if facts.plan is not None else None
    seen = facts.observation
    return Present(
        step_number=facts.step_number,
        subgoal=facts.plan.subgoal_hash() if facts.plan is not None else "",
        app=seen.app(),
        page=seen.page(),
        words=words(active.text if active is not None else "", seen.page(), *said),
        referred=referred_steps(said),
        standing=standing,
    )


def words(*texts: str) -> frozenset[str]:
    return frozenset(w.casefold() for text in texts for w in _WORD.findall(text))


def referred_steps(texts: Iterable[str]) -> frozenset[int]:
    """Step numbers that texts name, as in “step 12”."""
    return frozenset(int(n) for text in texts for n in _STEP.findall(text) if len(n) < 7)


def value_density(
    chunk: HistoryChunk, facts: Iterable[Fact], tokens: int, present: Present
) -> float:
    """Priority for each token."""
    return priority(chunk, tuple(facts), present) / max(1, tokens)


def priority(chunk: HistoryChunk, facts: tuple[Fact, ...], present: Present) -> float:
    """Adds up what speaks for a chunk and against it; never below a tenth."""
    capsule = chunk.capsule
    verified = capsule.verified_facts if capsule else ()
    unresolved = capsule.unresolved if capsule else ()
    entities = words(*capsule.important_entities) if capsule else frozenset()
    common = len(entities & present.words)
    steps = range(chunk.start_step, chunk.end_step + 1)
    same_subgoal = any(f.subgoal and f.subgoal == present.subgoal for f in facts)
    said = bool(verified) and all(v in present.standing for v in verified)
    grounds = {
        "subgoal": float(same_subgoal),
        "unresolved": float(bool(unresolved)),
        "trouble": float(
            bool(capsule and capsule.failed_paths) or chunk.boundary is Boundary.RECOVERY
        ),
        "screen": float(any((f.app, f.page) == (present.app, present.page) for f in facts)),
        "entities": min(1.0, common / ENTITY_WORDS),
        "boundary": float(chunk.boundary in _BORDERS),
        "referred": float(any(n in present.referred for n in steps)),
        "recency": chunk.end_step / max(1, present.step_number),
        "resolved": float(not unresolved and not same_subgoal),
        "duplicate": float(said),
    }
    return max(0.1, BASE + sum(WEIGHTS[name] * ground for name, ground in grounds.items()))
