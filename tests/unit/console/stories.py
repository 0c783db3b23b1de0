"""Tasks with everything in them, told to a store through its recorder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI
from PIL import Image as Pictures

from app.domain import actions as act
from app.domain.actions import Action, Outcome, Point, Receipt, Target, Verdict, describe
from app.domain.events import (
    ActionRefused,
    BackgroundChanged,
    ChecksChanged,
    ChunkChanged,
    ChunkClosed,
    Compacted,
    FallbackUsed,
    LoopNoticed,
    ModelCalled,
    ModelWaiting,
    NoteWritten,
    PlanRevised,
    Remembered,
    SessionOpened,
    StepDecided,
    StepFinished,
    SummaryChanged,
    TaskStateChanged,
    ToolServed,
    TurnStarted,
)
from app.domain.memory import (
    Departure,
    PromptFigures,
    SearchEntry,
    TextKind,
    WorldState,
    ZoneTokens,
)
from app.domain.messages import Call, Image, ModelRequest, Role, Text, ToolSpec, Usage, user
from app.domain.plans import Check, Milestone, MilestoneState, Plan
from app.domain.screens import (
    ArtifactRef,
    Bounds,
    Dialect,
    Element,
    Observation,
    ScreenDiff,
    Size,
    TreeStatus,
    UiTree,
)
from app.domain.summaries import (
    Boundary,
    Capsule,
    ChunkState,
    HistoryChunk,
    Interval,
    Refusal,
    StepSummary,
    SummaryEvidenceMetadata,
    SummaryStatus,
)
from app.domain.tasks import (
    Limits,
    ModelCallRecord,
    Note,
    Recovery,
    StepState,
    Task,
    TaskSpec,
    TaskState,
)
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.tasks.clock import SystemClock

WINDOW = Size(width=360, height=780)


def picture(number: int) -> bytes:
    """A small picture that differs for each number."""
    image = Pictures.new("RGB", (180, 390), ((number * 37) % 256, 120, 200))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@dataclass
class Story:
    """One task being told."""

    app: FastAPI
    task: Task
    recorder: TaskRecorder
    goal: str
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    number: int = 0

    @property
    def task_id(self) -> str:
        return self.task.task_id

    async def opened(self) -> None:
        await self.recorder.record(
            SessionOpened(device=self.task.spec.device, description="a phone, 360 x 780")
        )

    async def planned(
        self, *texts: str, revision: int = 1, reason: str = "", done: int = 0
    ) -> None:
        milestones = tuple(
            Milestone(
                number=i,
                text=text,
                state=MilestoneState.DONE
                if i <= done
                else (MilestoneState.ACTIVE if i == done + 1 else MilestoneState.OPEN),
            )
            for i, text in enumerate(texts, 1)
        )
        plan = Plan(revision=revision, milestones=milestones, reason=reason)
        await self.recorder.record(PlanRevised(plan=plan, step_number=self.number))

    async def checked(self, **closed: int | None) -> None:
        checks = tuple(
            Check(number=i, text=text, closed_by_step=step)
            for i, (text, step) in enumerate(closed.items(), 1)
        )
        await self.recorder.record(ChecksChanged(checks=checks, step_number=self.number))

    async def observation(self, elements: Sequence[str], shot: bytes, **more: Any) -> Observation:
        artifacts = self.app.state.artifacts
        image = Pictures.open(io.BytesIO(shot))
        kind = "image/png" if shot.startswith(b"\x89PNG") else "image/jpeg"
        ref = await artifacts.put(shot, kind)
        tree = UiTree(
            status=TreeStatus.OK,
            dialect=Dialect.DOM,
            elements=tuple(
                Element(
                    index=i,
                    role="button",
                    text=text,
                    clickable=True,
                    bounds=Bounds(left=24, top=40 + i * 56, right=336, bottom=88 + i * 56),
                )
                for i, text in enumerate(elements)
            ),
        )
        values: dict[str, Any] = {
            "observation_id": f"{self.task_id}-{self.number}-{len(elements)}",
            "taken_at": datetime.now(UTC),
            "tree": tree,
            "window": WINDOW,
            "package": "dev.example.shop",
            "title": "Checkout",
            "screenshot": ref,
            "model_image": ref,
            "image_size": Size(width=image.width, height=image.height),
            "dhash": hashlib.sha256(shot).hexdigest()[:16],
            "signature": hashlib.sha256(" ".join(elements).encode()).hexdigest()[:16],
        }
        return Observation(**{**values, **more})

    async def turn(
        self,
        action: Action | None = None,
        *,
        thinking: str = "I tap the button and read the total afterwards.",
        elements: Sequence[str] = ("Back", "Apply discount", "Total $25"),
        shot: bytes | None = None,
        verdict: Verdict = Verdict.EXECUTED,
        outcome: Outcome = Outcome.OK,
        message: str = "",
        tools: Sequence[ToolServed] = (),
        recoveries: Sequence[Recovery] = (),
        remembered: dict[str, str] | None = None,
        finish: bool = True,
        extra: Sequence[Any] = (),
        **more: Any,
    ) -> int:
        """Observe, call, decide and, unless told otherwise, finish."""
        self.number += 1
        number = self.number
        action = action or tap(1, "Apply discount")
        shown = await self.observation(elements, shot or picture(number), **more)
        await self.recorder.record(TurnStarted(step_number=number, observation=shown), *extra)
        await self.recorder.record(await self.call(number, shown), *tools)
        if remembered:
            await self.recorder.record(Remembered(values=remembered, step_number=number))
        await self.recorder.record(
            StepDecided(
                step_id=f"{self.task_id}-{number}",
                step_number=number,
                started_at=self.began + timedelta(seconds=9 * number),
                offset=9.0 * number,
                observation=shown,
                action=action,
                action_text=describe(action),
                thinking=thinking,
                tools=tuple(t.name for t in tools),
                remembered=remembered or {},
                plan_revision=1,
            ),
            index=[
                SearchEntry(step_number=number, kind=TextKind.SCREEN, text=" ".join(elements)),
                SearchEntry(step_number=number, kind=TextKind.ACTION, text=describe(action)),
            ],
        )
        if finish:
            await self.finish(verdict, outcome, message, recoveries, shot)
        return number

    async def finish(
        self,
        verdict: Verdict = Verdict.EXECUTED,
        outcome: Outcome = Outcome.OK,
        message: str = "",
        recoveries: Sequence[Recovery] = (),
        shot: bytes | None = None,
    ) -> None:
        number = self.number
        changed = verdict is Verdict.EXECUTED
        await self.recorder.record(
            StepFinished(
                step_id=f"{self.task_id}-{number}",
                step_number=number,
                state=StepState.BLOCKED if verdict is Verdict.BLOCKED else StepState.DONE,
                receipt=None
                if verdict is Verdict.BLOCKED
                else Receipt(outcome=outcome, message=message, seconds=0.31),
                verdict=verdict,
                verdict_reason="",
                diff=ScreenDiff(
                    changed=changed,
                    screenshot_distance=12 if changed else 0,
                    added=("Total $17",) if changed else (),
                    removed=("Total $25",) if changed else (),
                ),
                after=await self.observation(["Back", "Total $17"], shot or picture(number + 100)),
                recoveries=tuple(recoveries),
                world=WorldState(current_app="Shop", current_page="Checkout"),
                ended_at=datetime.now(UTC),
            )
        )

    async def call(self, number: int, shown: Observation) -> ModelCalled:
        artifacts = self.app.state.artifacts
        grow = min(number, 30)
        zones = ZoneTokens(
            stable=4004, frozen=60 * grow, active=min(3000, 380 * number), tail=3020, image=2064
        )
        request = ModelRequest(
            role=Role.OPERATOR,
            system="You operate a phone. Answer with one call.",
            messages=(
                user(self.goal),
                user("The screen now:"),
                user("Elements:\n" + "\n".join(e.text for e in shown.tree.elements)),
            ),
            tools=(
                ToolSpec(name="tap", description="Tap an element.", parameters={"type": "object"}),
            ),
            task_id=self.task_id,
            step_number=number,
        )
        if shown.model_image is not None:
            image = Image(ref=shown.model_image, width=180, height=390)
            message = request.messages[1].model_copy(
                update={"parts": (Text(text="The screen now:"), image)}
            )
            request = request.model_copy(
                update={"messages": (request.messages[0], message, request.messages[2])}
            )
        ref = await artifacts.put(request.model_dump_json().encode(), "application/json")
        return ModelCalled(
            call=ModelCallRecord(
                call_id=f"{self.task_id}-c{number}",
                role="operator",
                step_number=number,
                provider="gemini",
                model="gemini-3.8-flash",
                usage=Usage(
                    prompt=zones.total + 40, cached=int(zones.total * 0.7), thinking=60, output=44
                ),
                cost_usd=0.0021,
                seconds=1.8,
                first_of_turn=True,
                prompt_ref=ref,
                figures=PromptFigures(
                    zones=zones,
                    estimated=zones.total,
                    shared_prefix=int(zones.total * 0.71),
                    images=1,
                    turns_in_active=min(4, number),
                    frozen_lines=grow,
                    departures=(
                        (Departure(what="steps 13 to 24", why="two milestones back", tokens=1820),)
                        if number > 24
                        else ()
                    ),
                ),
            )
        )

    async def summary_pending(self, number: int) -> None:
        await self.recorder.record(
            SummaryChanged(
                step_id=f"{self.task_id}-{number}",
                step_number=number,
                status=SummaryStatus.PENDING,
            )
        )

    async def summary_ready(self, number: int, text: str, version: int = 1, **more: Any) -> None:
        """A version with the step's own picture as its evidence."""
        step_id = f"{self.task_id}-{number}"
        step = (await self.app.state.queries.steps.one(self.task_id, number)).step
        shot = step.observation.screenshot
        evidence = SummaryEvidenceMetadata(
            step_id=step_id,
            decision_image_name=shot.sha256 if shot else None,
            used_ui_diff=True,
            model="gemini-3.8-flash",
            prompt_version=3,
            summary_version=version,
            seconds_to_ready=4.2,
        )
        values = {"text": text, "evidence": evidence, "version": version, **more}
        summary = StepSummary(step_id=step_id, step_number=number, **values)
        await self.summary_moved(
            number, SummaryStatus.VISUAL_READY, summary=summary, pictures=(shot,) if shot else ()
        )

    async def summary_moved(self, number: int, status: SummaryStatus, **more: Any) -> None:
        await self.recorder.record(
            SummaryChanged(
                step_id=f"{self.task_id}-{number}",
                step_number=number,
                status=status,
                **{"attempts": 1, **more},
            )
        )

    def chunk(self, first: int, last: int, **more: Any) -> HistoryChunk:
        """A closed range of steps, its capsule pending unless told otherwise."""
        ids = tuple(f"{self.task_id}-{n}" for n in range(first, last + 1))
        values: dict[str, Any] = {"boundary": Boundary.APP, **more}
        return HistoryChunk(
            chunk_id=f"{self.task_id}-chunk-{first}",
            session_id=self.task_id,
            start_step=first,
            end_step=last,
            start_step_id=ids[0],
            end_step_id=ids[-1],
            source_step_ids=ids,
            **values,
        )

    async def chunk_closed(self, first: int, last: int, **more: Any) -> None:
        await self.recorder.record(ChunkClosed(chunk=self.chunk(first, last, **more)))

    async def chunk_ready(self, first: int, last: int, version: int = 1, **more: Any) -> None:
        middle = (first + last) // 2
        capsule = Capsule(
            doing="I compare the totals with the price list.",
            did="I opened the shop and set the quantity to 3.",
            effect="The note prices holds three rows.",
            entry_state="the home screen",
            exit_state="Checkout",
            verified_facts=(f"Base price $9.37 (screen, step {first})",),
            unresolved=("The total for 5 is not read yet.",),
            important_entities=("Shop", "Apply discount"),
            intervals=(
                Interval(start_step=first, end_step=middle, text="I look for the price list."),
                Interval(start_step=middle + 1, end_step=last, text="I read the totals."),
            ),
        )
        values: dict[str, Any] = {
            "state": ChunkState.READY,
            "version": version,
            "capsule": capsule,
            "model": "gemini-3.8-flash",
            "prompt_version": 2,
            "attempts": 1,
            "seconds_to_ready": 9.5,
            **more,
        }
        await self.recorder.record(ChunkChanged(chunk=self.chunk(first, last, **values)))

    async def background(self, kind: Any, state: Any, reason: str) -> None:
        await self.recorder.record(BackgroundChanged(kind=kind, state=state, reason=reason))

    async def ends(
        self, state: TaskState, answer: str = "", reason: str = "", cited: Sequence[int] = ()
    ) -> None:
        await self.recorder.record(
            TaskStateChanged(
                state=state,
                previous=TaskState.RUNNING,
                answer=answer,
                reason=reason,
                cited_steps=tuple(cited),
            )
        )


def tap(index: int, text: str) -> act.Tap:
    point = Point(x=500, y=min(1000, (64 + index * 56) / 780 * 1000))
    return act.Tap(
        target=Target(
            point=point,
            element=index,
            text=text,
            role="button",
            label_source=act.LabelSource.INDEX,
        )
    )


async def begin(
    app: FastAPI,
    goal: str = "Check that the totals follow the discount",
    device: str = "phone",
    *,
    claim: bool = True,
    **spec: Any,
) -> Story:
    """A new task, running unless told otherwise, on a device that no worker serves."""
    service = app.state.service
    clock = SystemClock()
    stores = app.state.queries
    db, artifacts = stores.tasks._db, app.state.artifacts
    repository = TaskRepository(db, service.bus.publish, clock)
    values: dict[str, Any] = {"goal": goal, "device": device, "limits": Limits(), **spec}
    name = hashlib.sha256(f"{goal}{datetime.now(UTC)}".encode()).hexdigest()[:12]
    task = (await repository.create(name, TaskSpec(**values))).task
    if claim:
        claimed = await repository.claim(device, task_id=task.task_id)
        assert claimed is not None
        task = claimed
    recorder = TaskRecorder(db, artifacts, task.task_id, service.bus.publish, clock)
    return Story(app, task, recorder, goal)


async def rich_story(app: FastAPI, pictures: Sequence[bytes] = (), **more: Any) -> Story:
    """One of everything that the task page can show, still running."""

    def shot(i: int) -> bytes | None:
        return pictures[i % len(pictures)] if pictures else None

    story = await begin(app, **more)
    await story.opened()
    texts = ("Read the base price", "Totals for quantities 1 to 5", "Report differences")
    await story.planned(*texts)
    await story.checked(**{"Total $17": None, "Thank you": None})
    await story.turn(act.LaunchApp(app="Shop"), thinking="I open the shop first.", shot=shot(0))
    await story.turn(
        tap(0, "Catalogue"), thinking="The price list is in the catalogue.", shot=shot(1)
    )
    await story.turn(
        act.Swipe(start=Point(x=500, y=800), end=Point(x=500, y=250)),
        thinking="The item is further down.",
        shot=shot(2),
        extra=[FallbackUsed(kind="model", detail="gemini-3.5-flash answered", step_number=3)],
    )
    await story.turn(
        act.InputText(text="3", target=tap(1, "Quantity").target, submit=True),
        thinking="I set the quantity.",
        remembered={"base price": "$9.37"},
        shot=shot(3),
        tools=[
            ToolServed(
                step_number=4,
                name="recall_history",
                args={"query": "base price"},
                result="step 2: Base price $9.37 a unit",
                tokens=38,
            )
        ],
    )
    await story.planned(*texts, revision=2, reason="The price was read.", done=1)
    await story.turn(
        tap(1, "Apply discount"),
        verdict=Verdict.NO_VISIBLE_CHANGE,
        thinking="",
        shot=shot(4),
        recoveries=[
            Recovery(
                trigger="second time without change",
                diagnosis="a dialog “Rate this app” covers the button",
                action=act.DismissAlert(),
                receipt=Receipt(outcome=Outcome.OK),
                verdict=Verdict.EXECUTED,
            )
        ],
        extra=[LoopNoticed(step_number=5, detail="the same tap came twice without effect")],
    )
    await story.turn(
        tap(2, "Pay"),
        verdict=Verdict.ERROR,
        outcome=Outcome.ERROR,
        message="element is not interactable",
        shot=shot(5),
        extra=[
            ActionRefused(
                step_number=6, name="finish", args={}, reason="2 checks are open", refusal=1
            )
        ],
    )
    await story.recorder.record(
        NoteWritten(note=Note(key="prices", text="1: $9\n2: $17\n3: $25", step_number=6)),
        Compacted(
            step_number=6,
            before=ZoneTokens(stable=4004, frozen=4000, active=3000, tail=3020),
            after=ZoneTokens(stable=4004, frozen=1600, active=900, tail=3020),
        ),
    )
    await story.checked(**{"Total $17": 5, "Thank you": None})
    await story.turn(
        act.Drag(start=tap(1, "Slider").target, end=tap(2, "End").target), shot=shot(6)
    )
    await remembers(story)
    return story


async def remembers(story: Story) -> None:
    """What the memory makes of seven steps: summaries in every state, chunks in each."""
    for number in range(1, 8):
        await story.summary_pending(number)
    await story.summary_ready(1, "I open the app “Shop” to reach its catalogue.")
    await story.summary_ready(
        2,
        "I tap “Catalogue”; the list shows the base price $9.37, the badge on the picture “NEW”.",
        image_only=("NEW",),
    )
    await story.summary_moved(2, SummaryStatus.STALE, reason="the picture's text was read later")
    await story.summary_ready(2, "I tap “Catalogue” to find the base price $9.37.", version=2)
    await story.summary_ready(3, "I swipe up to bring the item into view.")
    await story.summary_moved(3, SummaryStatus.STALE, reason="the prompt's version moved on")
    await story.summary_ready(
        4,
        "I set the quantity to “3”; the total stays at “$25”.",
        conflict="the validator saw the screen change",
        lite=True,
    )
    await story.summary_moved(
        5,
        SummaryStatus.VISUAL_FAILED,
        attempts=2,
        reason="refused twice",
        refusals=(
            Refusal(rule="judging_word", detail="“successfully”"),
            Refusal(rule="value_without_source", detail="$26"),
        ),
    )
    await story.chunk_closed(1, 3)
    await story.chunk_ready(1, 3)
    await story.chunk_closed(4, 5, boundary=Boundary.RECOVERY)
    await story.chunk_ready(4, 5, state=ChunkState.FAILED, version=0, capsule=None, attempts=3)
    await story.chunk_closed(6, 7, boundary=Boundary.MILESTONE)
    await story.background("summaries", "lite", "quota pressure: the service said 429")
    await story.background("chunks", "stopped", "the ceiling of $2 is reached")


async def goes_on(story: Story, shot: bytes | None = None) -> None:
    """A turn that has begun and waits for its model."""
    story.number += 1
    shown = await story.observation(["Back", "Apply discount", "Total $25"], shot or picture(99))
    await story.recorder.record(
        TurnStarted(step_number=story.number, observation=shown),
        ModelWaiting(
            role="operator",
            model="gemini-3.8-flash",
            reason="the service is busy (503)",
            seconds=4,
            attempt=2,
            step_number=story.number,
        ),
    )
    story.number -= 1


__all__ = ["ArtifactRef", "Call", "Story", "begin", "goes_on", "picture", "rich_story", "tap"]
