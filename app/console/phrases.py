"""Says actions, states and verdicts for people: a word, a shape and a tone for each."""

from __future__ import annotations

from typing import NamedTuple

from app.domain import actions as act
from app.domain.actions import Action, Outcome, Target, Verdict
from app.domain.config import Platform
from app.domain.plans import MilestoneState
from app.domain.summaries import Boundary, ChunkState, SummaryStatus
from app.domain.tasks import StepState, TaskState


class Sign(NamedTuple):
    """How a state is told: never by colour alone."""

    word: str
    shape: str
    """A name in components/icons.html."""
    tone: str
    """A colour role of the stylesheet: run, ok, warn, bad, idle, ask."""


TASK_SIGNS: dict[TaskState, Sign] = {
    TaskState.QUEUED: Sign("Queued", "ring", "idle"),
    TaskState.RUNNING: Sign("Running", "play", "run"),
    TaskState.PAUSED: Sign("Paused", "pause", "warn"),
    TaskState.WAITING: Sign("Waiting for you", "hand", "ask"),
    TaskState.INTERRUPTED: Sign("Interrupted", "broken", "warn"),
    TaskState.COMPLETED: Sign("Completed", "check", "ok"),
    TaskState.FAILED: Sign("Failed", "cross", "bad"),
    TaskState.CANCELLED: Sign("Cancelled", "stop", "idle"),
}

VERDICT_SIGNS: dict[Verdict, Sign] = {
    Verdict.EXECUTED: Sign("executed", "check", "ok"),
    Verdict.NO_VISIBLE_CHANGE: Sign("no visible change", "triangle", "warn"),
    Verdict.UNCERTAIN: Sign("uncertain", "half", "warn"),
    Verdict.ERROR: Sign("error", "cross", "bad"),
    Verdict.BLOCKED: Sign("blocked", "stop", "bad"),
}

STEP_SIGNS: dict[StepState, Sign] = {
    StepState.DECIDED: Sign("acting", "play", "run"),
    StepState.DONE: Sign("done", "check", "ok"),
    StepState.BLOCKED: Sign("blocked", "stop", "bad"),
    StepState.INTERRUPTED: Sign("interrupted, outcome unknown", "broken", "warn"),
}

OUTCOME_SIGNS: dict[Outcome, Sign] = {
    Outcome.OK: Sign("done by the device", "check", "ok"),
    Outcome.ERROR: Sign("refused by the device", "cross", "bad"),
    Outcome.UNKNOWN: Sign("outcome unknown", "half", "warn"),
}

MILESTONE_SIGNS: dict[MilestoneState, Sign] = {
    MilestoneState.OPEN: Sign("open", "ring", "idle"),
    MilestoneState.ACTIVE: Sign("active", "play", "run"),
    MilestoneState.DONE: Sign("done", "check", "ok"),
    MilestoneState.LOOP: Sign("repeats until its condition holds", "loop", "run"),
    MilestoneState.LOOP_CONTINUOUS: Sign("repeats until someone ends it", "loop", "run"),
}

SUMMARY_SIGNS: dict[SummaryStatus, Sign] = {
    SummaryStatus.PENDING: Sign("pending", "clock", "idle"),
    SummaryStatus.VISUAL_READY: Sign("ready", "check", "ok"),
    SummaryStatus.VISUAL_FAILED: Sign("failed", "cross", "bad"),
    SummaryStatus.STALE: Sign("stale", "mend", "warn"),
}

CHUNK_SIGNS: dict[ChunkState, Sign] = {
    ChunkState.PENDING: Sign("pending", "clock", "idle"),
    ChunkState.READY: Sign("ready", "check", "ok"),
    ChunkState.FAILED: Sign("failed", "cross", "bad"),
}

BOUNDARY_WORDS: dict[Boundary, str] = {
    Boundary.STEPS: "its limit of steps",
    Boundary.TOKENS: "its limit of text",
    Boundary.APP: "a change of app",
    Boundary.GOAL: "an instruction",
    Boundary.RECOVERY: "a recovery",
    Boundary.STRATEGY: "a change of strategy",
    Boundary.PAUSE: "a long pause",
    Boundary.EFFECT: "an irreversible effect",
    Boundary.RESULT: "a result from outside",
    Boundary.MILESTONE: "a milestone",
    Boundary.END: "the task's end",
}
"""Why a chunk was closed, after “closed at”."""

PLATFORM_WORDS: dict[Platform, str] = {
    Platform.CHROMIUM: "Chromium phone",
    Platform.ANDROID: "Android",
    Platform.IOS: "iOS",
    Platform.REPLAY: "Recorded run",
}


def step_sign(state: StepState, verdict: Verdict | None) -> Sign:
    """A finished step is told by its verdict, an unfinished one by its state."""
    if state in (StepState.DONE, StepState.BLOCKED) and verdict is not None:
        return VERDICT_SIGNS[verdict]
    return STEP_SIGNS[state]


class Phrase(NamedTuple):
    """An action in parts: `Type` `“9.37”` `into Price` `[7]`."""

    verb: str
    quote: str = ""
    rest: str = ""
    element: int | None = None

    def __str__(self) -> str:
        parts = (self.verb, f"“{self.quote}”" if self.quote else "", self.rest)
        return " ".join(part for part in parts if part)


def phrase(action: Action | None) -> Phrase:
    """What a person reads as the title of a turn."""
    match action:
        case None:
            return Phrase("No usable action")
        case act.Tap(target=target):
            return _on("Tap", target)
        case act.LongPress(target=target):
            return _on("Long-press", target)
        case act.DoubleTap(target=target):
            return _on("Double-tap", target)
        case act.InputText(text=text, target=target, submit=submit, mode=mode):
            where = f"into {target.label()}" if target else "into the focused field"
            more = ", then submit" if submit else ""
            verb = "Append" if mode == "append" else "Type"
            return Phrase(verb, text, where + more, target.element if target else None)
        case act.ClearText(target=target):
            return _on("Clear", target) if target else Phrase("Clear the focused field")
        case act.Swipe(start=start, end=end):
            return Phrase(f"Swipe {_way(start, end)}")
        case act.ScrollTo(text=text):
            return Phrase("Scroll to", text)
        case act.Drag(start=start, end=end):
            return Phrase("Drag", start.label(), f"to {end.label()}", start.element)
        case _:
            return _other(action)


def _other(action: Action) -> Phrase:
    match action:
        case act.PressKey(key=key):
            return Phrase("Press", key)
        case act.LaunchApp(app=app):
            return Phrase("Open the app", app)
        case act.TerminateApp(app=app):
            return Phrase("Close the app", app)
        case act.OpenUrl(url=url):
            return Phrase("Open", url)
        case act.SetOrientation(orientation=orientation):
            return Phrase(f"Turn to {orientation}")
        case act.AcceptAlert(text=text):
            return Phrase("Accept the alert with", text) if text else Phrase("Accept the alert")
        case act.DismissAlert():
            return Phrase("Dismiss the alert")
        case act.HideKeyboard():
            return Phrase("Hide the keyboard")
        case act.Wait(seconds=seconds):
            return Phrase(f"Wait {seconds:g} s")
        case act.Finish(answer=answer):
            return Phrase("Finish with", answer)
        case act.GiveUp(reason=reason):
            return Phrase("Give up:", reason)
        case act.Home():
            return Phrase("Go to the home screen")
        case act.Back():
            return Phrase("Go back")
        case _:
            return Phrase(action.type.replace("_", " ").capitalize())


def _on(verb: str, target: Target) -> Phrase:
    if target.text or target.resource_id:
        return Phrase(verb, target.label(), "", target.element)
    return Phrase(verb, "", f"at {target.point.x:.0f}, {target.point.y:.0f}", target.element)


def _way(start: act.Point, end: act.Point) -> str:
    across, down = end.x - start.x, end.y - start.y
    if abs(across) > abs(down):
        return "right" if across > 0 else "left"
    return "down" if down > 0 else "up"


def target_line(target: Target | None) -> str:
    """How a target was meant: its role and what named it."""
    if target is None:
        return ""
    how = {
        act.LabelSource.INDEX: f"element {target.element}",
        act.LabelSource.HIT_TEST: "found under the point",
        act.LabelSource.OCR: "read from the picture",
        act.LabelSource.NONE: "a bare point",
    }[target.label_source]
    return ", ".join(part for part in (target.role, target.resource_id, how) if part)
