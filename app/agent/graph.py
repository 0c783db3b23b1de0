"""Which node comes next: the whole graph as one table."""

from __future__ import annotations

from enum import StrEnum


class Node(StrEnum):
    """The places of a turn."""

    PLANNER = "planner"
    CONVERGENCE = "convergence"
    PERCEPTION = "perception"
    OPERATOR = "operator"
    EXECUTION_CHECK = "execution_check"
    VALIDATOR = "validator"
    FAILURE_ANALYZER = "failure_analyzer"
    SUMMARIZER = "summarizer"
    OUTPUTTER = "outputter"
    END = "end"


class Signal(StrEnum):
    """What a node says when it is done."""

    READY = "ready"
    GO = "go"
    SEEN = "seen"
    LOST = "lost"
    """The device session is gone; it is reopened where a turn starts."""
    DECIDED = "decided"
    ALLOWED = "allowed"
    REFUSED = "refused"
    BLOCKED = "blocked"
    """Refused for the last time in this turn."""
    FINISHED = "finished"
    DONE = "done"
    TROUBLE = "trouble"
    ANSWERED = "answered"


GRAPH: dict[tuple[Node, Signal], Node] = {
    (Node.PLANNER, Signal.READY): Node.CONVERGENCE,
    (Node.CONVERGENCE, Signal.GO): Node.PERCEPTION,
    (Node.PERCEPTION, Signal.SEEN): Node.OPERATOR,
    (Node.PERCEPTION, Signal.LOST): Node.CONVERGENCE,
    (Node.OPERATOR, Signal.DECIDED): Node.EXECUTION_CHECK,
    (Node.EXECUTION_CHECK, Signal.ALLOWED): Node.VALIDATOR,
    (Node.EXECUTION_CHECK, Signal.REFUSED): Node.OPERATOR,
    (Node.EXECUTION_CHECK, Signal.BLOCKED): Node.SUMMARIZER,
    (Node.EXECUTION_CHECK, Signal.FINISHED): Node.OUTPUTTER,
    (Node.VALIDATOR, Signal.DONE): Node.SUMMARIZER,
    (Node.VALIDATOR, Signal.TROUBLE): Node.FAILURE_ANALYZER,
    (Node.VALIDATOR, Signal.LOST): Node.SUMMARIZER,
    (Node.FAILURE_ANALYZER, Signal.DONE): Node.SUMMARIZER,
    (Node.SUMMARIZER, Signal.DONE): Node.CONVERGENCE,
    (Node.OUTPUTTER, Signal.ANSWERED): Node.END,
}
"""A task also ends from any node by `flow.EndTask`: cancelled, a limit, no way on."""


def next_node(node: Node, signal: Signal) -> Node:
    """The next node; a pair that is not in the table is a fault of ours."""
    try:
        return GRAPH[node, signal]
    except KeyError:
        raise RuntimeError(f"{node} may not say {signal}") from None
