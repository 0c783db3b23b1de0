"""Which trigger of the rules held when the operator asked for its history; empty for none.

What can be read off the record is read there. Of an old value it is the task's own words that
tell whether it is needed; a recall without any trigger is counted, never refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from app.agent.run import Run
from app.domain.actions import Verdict
from app.domain.tasks import StepRecord

SIMILAR = "the screen resembles an older one"
RECOVERY = "a recovery needs review"
NO_PROGRESS = "two steps without progress"
REPEATED = "the same action a third time"
PERSON = "the person points back"
CONFLICT = "a conflict with a summary"
OLD_VALUE = "an old exact value is needed"
TRIGGERS = (SIMILAR, RECOVERY, NO_PROGRESS, REPEATED, PERSON, CONFLICT, OLD_VALUE)
HEARD_FOR = 2
"""Turns for which what a person said may be what a recall is about."""
_WORD = re.compile(r"\w\w+")


class Asked(NamedTuple):
    """What a recall looks for."""

    query: str
    step_range: tuple[int, int] | None = None


def trigger(run: Run, asked: Asked) -> str:
    """The first trigger that holds in the present turn."""
    return next((name for name, holds in _CHECKS if holds(run, asked)), "")


def _similar(run: Run, asked: Asked) -> bool:
    return bool(run.current_turn().hint)


def _recovery(run: Run, asked: Asked) -> bool:
    return any(step.recoveries for step in _last(run, 1))


def _no_progress(run: Run, asked: Asked) -> bool:
    last = _last(run, 2)
    return len(last) == 2 and all(step.verdict is not Verdict.EXECUTED for step in last)


def _repeated(run: Run, asked: Asked) -> bool:
    """Twice the same action on the same screen: what it would do now is the third time."""
    done = {(s.action_text, s.observation.content_hash) for s in _last(run, 2)}
    same = len(run.recent) >= 2 and len(done) == 1
    return same and run.current_turn().observation.content_hash in {screen for _, screen in done}


def _person(run: Run, asked: Asked) -> bool:
    now = run.current_turn().step_number
    said = run.transcript.kept.instructions
    return bool(said) and said[-1].step_number > now - HEARD_FOR


def _conflict(run: Run, asked: Asked) -> bool:
    return bool(run.background_state().conflicts)


def _old_value(run: Run, asked: Asked) -> bool:
    """It looks for what the task itself names, or for steps that are not word for word in view."""
    if run.step_number == 1 or _in_view(run, asked.query):
        return False
    if asked.step_range is not None and asked.step_range[0] < run.transcript.first_in_view:
        return True
    return not _words((asked.query,)).isdisjoint(_words(_task_texts(run)))


def _in_view(run: Run, query: str) -> bool:
    """Whether a kept value of this name has a line in the prompt."""
    name = query.strip().casefold()
    keys = (key for key in run.transcript.kept.remembered if key.casefold() == name)
    shown = "\n".join(message.text for message in run.current_turn().prompt)
    return any(f"\n- {key} = " in shown for key in keys)


def _task_texts(run: Run) -> Iterable[str]:
    kept = run.transcript.kept
    yield run.task.spec.goal
    yield from (milestone.text for milestone in (run.plan.milestones if run.plan else ()))
    yield from (instruction.text for instruction in kept.instructions)
    yield from (f"{question} {answer}" for question, answer, _ in kept.answers)
    yield from kept.remembered
    yield from run.notes


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(w.casefold() for text in texts for w in _WORD.findall(text))


def _last(run: Run, count: int) -> list[StepRecord]:
    return list(run.recent)[-count:]


_CHECKS: tuple[tuple[str, Callable[[Run, Asked], bool]], ...] = (
    (SIMILAR, _similar),
    (RECOVERY, _recovery),
    (NO_PROGRESS, _no_progress),
    (REPEATED, _repeated),
    (PERSON, _person),
    (CONFLICT, _conflict),
    (OLD_VALUE, _old_value),
)
