"""The graph's table: complete, without dead ends, and the nodes that go with it."""

import inspect

import pytest

from app.agent.graph import GRAPH, Node, Signal, next_node
from app.agent.runner import NODES

OUT_OF = {node: {s for n, s in GRAPH if n is node} for node in Node}


def test_every_node_is_reached_from_the_planner_and_reaches_the_end() -> None:
    forward, backward = {Node.PLANNER}, {Node.END}
    for _ in Node:
        forward |= {after for (node, _), after in GRAPH.items() if node in forward}
        backward |= {node for (node, _), after in GRAPH.items() if after in backward}
    assert forward == backward == set(Node)


def test_every_signal_is_said_by_some_node_and_the_end_says_nothing() -> None:
    assert {signal for _, signal in GRAPH} == set(Signal)
    assert not OUT_OF[Node.END]
    assert set(NODES) == set(Node) - {Node.END}


@pytest.mark.parametrize("node", NODES)
def test_a_node_says_what_the_table_lets_it_say(node: Node) -> None:
    source = inspect.getsource(inspect.getmodule(NODES[node]))  # type: ignore[arg-type]
    said = {signal for signal in Signal if f"Signal.{signal.name}" in source}
    # The outputter ends the task by an exception, so its one row is never taken.
    assert said == OUT_OF[node] or node is Node.OUTPUTTER


def test_a_pair_outside_the_table_is_a_fault_of_ours() -> None:
    with pytest.raises(RuntimeError, match="planner may not say lost"):
        next_node(Node.PLANNER, Signal.LOST)
