"""Recorded runs as finished steps, for the tests of the background writers."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.domain.actions import Outcome, Receipt, Verdict
from app.domain.messages import Call, Message, Response, Text
from app.domain.screens import Observation, ScreenDiff, Size, TreeStatus, UiTree
from app.domain.tasks import Recovery, StepRecord, StepState

TRAJECTORIES = Path(__file__).parents[2] / "data" / "trajectories"
START = datetime(2026, 1, 1, tzinfo=UTC)
_TEXTS = re.compile(
    r'(?:text|content-desc|label)="([^"]{1,200})"|"(?:text|label)": "([^"]{1,200})"'
)


def runs(folder: Path = TRAJECTORIES) -> Iterator[tuple[str, list[StepRecord]]]:
    """Every recorded run below a folder."""
    for path in sorted(folder.glob("*/steps.jsonl")):
        yield path.parent.name, list(steps_of(path.parent))


def steps_of(run: Path) -> Iterator[StepRecord]:
    shown: set[str] = set()
    for line in (run / "steps.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        texts = _texts(run, raw)
        new = tuple(t for t in texts if t not in shown)[:20]
        shown = set(texts) or shown
        yield _step(raw, new)


def _texts(run: Path, raw: dict[str, Any]) -> list[str]:
    """Texts of the step's dump, else the lines of what the tool answered."""
    if raw["ui"] and (run / raw["ui"]).exists():
        source = (run / raw["ui"]).read_text(encoding="utf-8", errors="replace")
        found = [html.unescape(a or b) for a, b in _TEXTS.findall(source)]
        return list(dict.fromkeys(t.strip() for t in found if t.strip()))
    return [x.strip()[:200] for x in str(raw["result"] or "").splitlines() if x.strip()]


def _step(raw: dict[str, Any], new: tuple[str, ...]) -> StepRecord:
    number = int(raw["step"])
    action = raw["action"]
    said = action if isinstance(action, str) else json.dumps(action, ensure_ascii=False)
    thinking = "\n".join(str(raw[key]) for key in ("thought", "summary") if raw[key])
    result = str(raw["result"] or "")
    key = f"key{number}" if raw["action_type"] == "meta" else ""
    messages = (
        Message(role="model", parts=(Text(text=thinking), Call(name="explore_ui", args={"q": 1}))),
        Message(
            role="user", parts=(Response(name="explore_ui", response={"result": result[:800]}),)
        ),
    )
    recoveries = ()
    if raw["error"]:
        recoveries = (Recovery(trigger="error", diagnosis=result[:200] or "unknown"),)
    return StepRecord(
        step_id=f"id{number}",
        step_number=number,
        state=StepState.DONE,
        started_at=START + timedelta(seconds=number * 7),
        ended_at=START + timedelta(seconds=number * 7 + 5),
        offset=number * 7.0,
        observation=Observation(
            observation_id=f"o{number}",
            taken_at=START,
            tree=UiTree(status=TreeStatus.OK),
            window=Size(width=412, height=915),
            package=raw["package"] or "",
            activity=raw["activity"] or "",
            title=new[0] if new and not raw["activity"] else "",
        ),
        thinking=thinking,
        action_text=f"{raw['action_type'] or 'none'} [{raw['element'] or raw['text'] or said}]"[
            :300
        ],
        messages=messages,
        receipt=Receipt(
            outcome=Outcome.ERROR if raw["error"] else Outcome.OK, message=result[:500]
        ),
        verdict=Verdict.ERROR if raw["error"] else Verdict.EXECUTED,
        verdict_reason=result.split("\n")[0][:200] if raw["error"] else "",
        diff=ScreenDiff(changed=bool(new), page_changed=bool(new), added=new),
        recoveries=recoveries,
        remembered={key: result[:80]} if key and result else {},
        notes=(key,) if key else (),
    )
