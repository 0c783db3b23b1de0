"""Keeps the believed state of one task, updated once per executed step.

Beliefs are derived from what the loop already has; nothing here reads, calls or raises.
"""

from __future__ import annotations

from collections import deque

from app.domain.actions import Action, LaunchApp, TerminateApp, Verdict
from app.domain.memory import WorldEvent, WorldState
from app.domain.screens import Observation

HISTORY = 10
"""Events kept in the believed history."""
MAX_VALUE = 2_000
"""Characters of one remembered value."""


class WorldModel:
    """Observes executed steps and believes things about the phone."""

    def __init__(self, state: WorldState | None = None, history: int = HISTORY) -> None:
        state = state or WorldState()
        self._app = state.current_app
        self._page = state.current_page
        self._variables = dict(state.variables)
        self._history: deque[WorldEvent] = deque(state.history, maxlen=history)

    @property
    def state(self) -> WorldState:
        """The present beliefs; a new frozen value each time."""
        return WorldState(
            current_app=self._app,
            current_page=self._page,
            variables=dict(self._variables),
            history=tuple(self._history),
        )

    def remember(self, values: dict[str, str]) -> None:
        """Takes an explicit mapping; later values replace earlier ones of the same key."""
        for key, value in values.items():
            self._variables[key] = value[:MAX_VALUE]

    def observe(
        self,
        step_number: int,
        observation: Observation | None,
        action: Action | None,
        verdict: Verdict,
        semantic_page: str = "",
    ) -> WorldState:
        """Takes in one executed step and the screen after it."""
        success = _success(verdict)
        match action:
            case LaunchApp(app=app) if success:
                self._app = app
            case TerminateApp(app=app) if success and self._app == app:
                self._app = None
        if observation is not None:
            # What was seen beats what a launch receipt said.
            self._app = observation.app() or self._app
        page = semantic_page or (observation.page() if observation is not None else "")
        self._page = page or self._page
        self._history.append(
            WorldEvent(
                step_number=step_number,
                page=self._page or "",
                action=action.type if action is not None else "none",
                success=success,
            )
        )
        return self.state


def _success(verdict: Verdict) -> bool | None:
    if verdict is Verdict.UNCERTAIN:
        return None
    return verdict is Verdict.EXECUTED
