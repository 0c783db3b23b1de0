"""Runs one task from its start, or from where it was interrupted, to its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import structlog

from app.agent.control import Control
from app.agent.flow import EndTask
from app.agent.graph import Node, Signal, next_node
from app.agent.nodes import (
    convergence,
    execution_check,
    failure_analyzer,
    operator,
    outputter,
    perception,
    planner,
    summarizer,
    validator,
)
from app.agent.prompts import load
from app.agent.run import Ports, Rules, Run
from app.agent.stepping import close_open, take_in
from app.agent.tools.declarations import declare
from app.domain.events import (
    ChunkClosed,
    ControlApplied,
    PrefixStored,
    QuestionAnswered,
    TaskStateChanged,
)
from app.domain.memory import TextKind, WorldState
from app.domain.tasks import Ability, StepState, TaskHistory, TaskState
from app.errors import ArtemisError
from app.memory.kept import KeptFacts
from app.memory.tokens import Counter, count_text
from app.memory.transcript import GOAL_TOKENS, LEAST_GOAL_TOKENS, Transcript
from app.memory.zones import Stable
from app.world.model import WorldModel

log = structlog.get_logger(__name__)

NODES: dict[Node, Callable[[Run], Awaitable[Signal]]] = {
    Node.PLANNER: planner.run,
    Node.CONVERGENCE: convergence.run,
    Node.PERCEPTION: perception.run,
    Node.OPERATOR: operator.run,
    Node.EXECUTION_CHECK: execution_check.run,
    Node.VALIDATOR: validator.run,
    Node.FAILURE_ANALYZER: failure_analyzer.run,
    Node.SUMMARIZER: summarizer.run,
    Node.OUTPUTTER: outputter.run,
}
CLOSE_DEADLINE = 30.0
"""Seconds for ending a device session."""


def build_run(history: TaskHistory, ports: Ports, rules: Rules, control: Control) -> Run:
    """A run from what the store holds; a fresh task has an empty history."""
    stable = (
        Stable.from_json(history.stable_prefix)
        if history.stable_prefix
        else Stable(
            _operator_rules(recall=rules.memory.operator_history_recall),
            declare(
                recall=rules.memory.operator_history_recall,
                shell=rules.device.shell and Ability.SHELL in ports.device.abilities,
            ),
        )
    )
    kept = KeptFacts()
    kept.instructions = list(history.instructions)
    kept.answers = [a for a in history.answers if a[1]]
    for key, (value, seen_in) in sorted(history.remembered.items(), key=lambda item: item[1][1]):
        kept.remember({key: value}, seen_in)
    transcript = Transcript(
        goal=history.task.spec.goal,
        stable=stable,
        config=rules.memory,
        counter=Counter(rules.memory.image_tokens),
        kept=kept,
        session_id=history.task.task_id,
    )
    transcript.restore(history.frozen, history.chunks)
    if (call := history.last_first_call) is not None and call.figures is not None:
        transcript.counter.resume(call.figures.ratio)
        transcript.counter.learn(call.figures.zones.total, call.usage.prompt)
    if not rules.memory.visual_step_summary_shadow:
        transcript.summaries.update((n, s.text) for n, s in history.summaries.items())
    world = WorldModel(WorldState(variables={k: v for k, (v, _) in history.remembered.items()}))
    spent = history.own_spent()
    run = Run(
        task=history.task,
        ports=ports,
        rules=rules,
        control=control,
        transcript=transcript,
        world=world,
        started=ports.clock.monotonic(),
        seconds_before=history.seconds_spent,
        plan=history.plan,
        checks=history.checks,
        notes={n.key: n for n in history.notes},
        instructions=len(history.instructions),
        usage=spent.usage,
        cost_usd=spent.cost_usd,
    )
    for step in history.steps:
        # Closes what a step of a former process should have closed, never anything twice.
        run.note(*(ChunkClosed(chunk=c) for c in transcript.close_chunks(step, again=True)))
        take_in(run, step)
        if step.verdict is not None:
            world.observe(step.step_number, step.after, step.action, step.verdict)
    run.step_number = history.steps[-1].step_number + 1 if history.steps else 1
    if history.steps and history.steps[-1].state is StepState.INTERRUPTED:
        run.remarks.append(
            "The last step was interrupted: whether it happened is unknown. Look before repeating."
        )
    return run


def _operator_rules(*, recall: bool) -> str:
    """The operator's system text; without the recall, nothing in it speaks of it."""
    lines = load("operator").splitlines()
    return "\n".join(line for line in lines if recall or "recall_history" not in line)


async def run_task(run: Run, history: TaskHistory) -> EndTask:
    """Takes turns until the task ends; records the end and closes the device session."""
    try:
        end = await _until_end(run, history)
    finally:
        run.session_open = False
        try:
            async with asyncio.timeout(CLOSE_DEADLINE):
                await run.ports.device.close()
        except TimeoutError:
            log.warning("device_close_timed_out", device=run.ports.device.name)
    await _record_end(run, end)
    return end


async def _until_end(run: Run, history: TaskHistory) -> EndTask:
    try:
        await _begin(run, history)
        node = Node.PLANNER
        while node is not Node.END:
            node = next_node(node, await NODES[node](run))
        return EndTask(TaskState.COMPLETED, "the graph ended")
    except EndTask as end:
        return end
    except ArtemisError as error:
        return EndTask(TaskState.FAILED, str(error), code=error.code)
    except Exception as error:  # the session runner: whatever happens, the task ends readably
        log.exception("task_failed_unexpectedly", task=run.task.task_id)
        reason = f"Artemis itself failed: {type(error).__name__}"
        return EndTask(TaskState.FAILED, reason, code="internal")


async def _begin(run: Run, history: TaskHistory) -> None:
    """Opens the device, stores S once, and closes what a former process left open."""
    run.raise_if_cancelled()
    await convergence.open_session(run, again=bool(history.steps))
    if not history.stable_prefix:
        body = run.transcript.stable.to_json().encode()
        ref = await run.ports.artifacts.put(body, "application/json")
        run.note(PrefixStored(stable_ref=ref, offline=run.rules.offline))
        if (tokens := count_text(run.task.spec.goal)) > LEAST_GOAL_TOKENS:
            # What may be cut must be found by its words.
            run.index(TextKind.INSTRUCTION, run.task.spec.goal)
            if tokens > GOAL_TOKENS:
                run.fallback("goal_excerpt", f"the goal's {tokens:,} tokens are shown in part")
    if history.open_question is not None:
        run.note(
            QuestionAnswered(
                question_id=history.open_question.question_id,
                question=history.open_question.text,
                answer="",
                by="artemis: the process was restarted",
                step_number=run.step_number,
            )
        )


async def _record_end(run: Run, end: EndTask) -> None:
    await close_open(run, f"the task ended: {end.reason}")
    _answer_receipts(run, cancelled=end.state is TaskState.CANCELLED)
    await run.write(
        TaskStateChanged(
            state=end.state,
            previous=run.task.state,
            reason=end.reason,
            code=end.code,
            answer=end.answer,
            answer_data=json.loads(json.dumps(end.answer_data)),
            cited_steps=end.cited_steps,
        )
    )


def _answer_receipts(run: Run, *, cancelled: bool) -> None:
    """Everything asked for gets its word, also what came too late."""
    control = run.control
    late = "the task ended before its next turn"
    asked = [
        (name, r)
        for name in ("cancel", "pause", "resume", "look")
        for r in control.take_receipts(name)
    ]
    asked += [("inject", i.receipt_id) for i in control.take_instructions()]
    asked += [
        ({True: "approve", False: "deny", None: "answer"}[r.approved], r.receipt_id)
        for r in control.take_replies()
    ]
    for name, receipt in asked:
        applied = name == "cancel" and cancelled
        run.note(
            ControlApplied.model_validate(
                {
                    "receipt_id": receipt,
                    "control": name,
                    "applied": applied,
                    "step_number": run.step_number,
                    "reason": "" if applied else late,
                }
            )
        )
