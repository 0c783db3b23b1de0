"""How a task leaves its loop: one exception that carries the task's end."""

from __future__ import annotations

from app.domain.messages import JsonObject
from app.domain.tasks import TaskState


class EndTask(Exception):
    """Ends the task in the given state, from wherever it is raised."""

    def __init__(
        self,
        state: TaskState,
        reason: str,
        *,
        code: str = "",
        answer: str = "",
        answer_data: JsonObject | list[object] | str | float | bool | None = None,
        cited_steps: tuple[int, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.code = code
        self.answer = answer
        self.answer_data = answer_data
        self.cited_steps = cited_steps


def failed(reason: str, code: str) -> EndTask:
    """The end of a task that cannot go on."""
    return EndTask(TaskState.FAILED, reason, code=code)
