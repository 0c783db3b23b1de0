"""The offline planner, analyzer, outputter and historian."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from app.domain.config import RoleModel
from app.domain.messages import ModelRequest, Role, user
from app.llm.offline.language import goal_program
from app.llm.offline.milestones import group_at, groups
from app.llm.offline.model import OfflineModel, answer
from app.llm.provider import Try

TRY = Try(model="offline-1", timeout=5, thinking="", max_output_tokens=100)


def ask(role: Role, text: str) -> Any:
    request = ModelRequest(role=role, system="", messages=(user(text),))
    return json.loads(answer(request).text)


def plan(goal: str, old: str = "none", request: str = "Write the first plan.") -> Any:
    device = "a phone; apps: Shop, Notes"
    text = f"# GOAL\n{goal}\n# DEVICE\n{device}\n# PLAN\n{old}\n# REQUEST\n{request}"
    return ask(Role.PLANNER, text)


GOAL = """open "Contacts"; tap "Anna"; read "Phone" as phone
check "Anna Berg"
open "Shop"; tap "Tea"; tap "Add"
check "1 item"; check "For {phone}"
answer "{phone}"
"""


def test_the_plan_has_a_milestone_per_app_and_the_checks_their_own() -> None:
    made = plan(GOAL)
    assert [(m["text"], m["state"]) for m in made["milestones"]] == [
        ("Open Contacts, tap “Anna”, read “Phone”, see “Anna Berg”", "active"),
        (
            "Open Shop, tap “Tea”, tap “Add”, see “1 item”, see “For {phone}”, give the answer",
            "open",
        ),
    ]
    assert made["checks"] == [
        {"text": "Anna Berg", "milestone": 1},
        {"text": "1 item", "milestone": 2},
    ]


def test_a_request_revises_the_plan_visibly() -> None:
    old = "- [x] 1. Open Contacts\n- [/] 2. Open Shop (1 of 2)\n- [ ] 3. End"
    made = plan(GOAL, old, "look at the total again")
    assert [(m["text"], m["state"]) for m in made["milestones"]] == [
        ("Open Contacts", "done"),
        ("Open Shop (1 of 2)", "active"),
        ("look at the total again", "open"),
        ("End", "open"),
    ]
    assert made["reason"] == "look at the total again"


def test_an_unreadable_goal_is_one_milestone() -> None:
    made = plan("Order a pizza")
    assert [m["text"] for m in made["milestones"]] == ["Order a pizza"]
    assert made["checks"] == []


def test_groups_cover_the_program_and_stay_few() -> None:
    for goal in ("back", "; ".join(["home"] * 500), "repeat 5000 times { open “A”; tap “B” }"):
        commands = goal_program(goal).commands
        made = groups(commands)
        assert len(made) <= 40
        assert len({group.text for group in made}) == len(made)
        covered = [n for group in made for n in range(group.first, group.last + 1)]
        assert covered == list(range(len(commands)))
        assert group_at(made, len(commands) - 1) == len(made) - 1


def test_a_group_never_starts_with_a_look() -> None:
    goal = "; ".join(['tap "a"'] * 6 + ['check "b"', 'read "c" as d'] + ['tap "e"'] * 6)
    commands = goal_program(goal).commands
    assert [g.first for g in groups(commands)] == [0, 8]


SCREEN = '## Screen\npage "X"\n## Elements (3 shown of 3)\n'


def analyse(trigger: str, action: str, screen: str) -> Any:
    return ask(Role.ANALYZER, f"# TRIGGER\n{trigger}\n# ACTION\n{action}\n# SCREEN\n{screen}")


@pytest.mark.parametrize(
    ("trigger", "action", "screen", "recovery", "element", "text"),
    [
        ("error: stale", "tap [Save]", 'alert: "Sure?"\n' + SCREEN, "dismiss", None, ""),
        ("error: x", "tap [Save]", SCREEN + '[4] button "Not now" @1,2', "dismiss", 4, ""),
        ("error: x", "tap [Save]", SCREEN + '[7] button "Save" @1,2', "other_locator", 7, ""),
        ("error: x", "tap [Save]", SCREEN + '[7] text "Hi" @1,2', "scroll_into_view", None, "Save"),
        ("no_visible_change: x", "tap [Save]", SCREEN + '[7] button "Save" @1,2', "none", None, ""),
        ("error: x", "scroll to “Save”", SCREEN + '[7] text "Hi" @1,2', "none", None, ""),
        (
            "error: x",
            "tap [A]\ntried: scroll to “A”",
            SCREEN + '[7] text "B" @1,2',
            "none",
            None,
            "",
        ),
        ("error: the app crashed", "back", SCREEN, "relaunch", None, ""),
        ("error: x", "back", SCREEN, "none", None, ""),
        ("error: x", "tap [Close]", SCREEN + '[4] button "Close" @1,2', "other_locator", 4, ""),
    ],
)
def test_a_diagnosis(
    trigger: str, action: str, screen: str, recovery: str, element: int | None, text: str
) -> None:
    found = analyse(trigger, action, screen)
    assert (found["recovery"], found["element"], found["text"]) == (recovery, element, text)
    assert found["diagnosis"]


def output(said: str, kept: str = "", evidence: str = "nothing", schema: Any = None) -> Any:
    shown = json.dumps(schema) if schema else "none"
    text = f"# GOAL\nx\n# ANSWER\n{said}\n# KEPT\n{kept}\n# EVIDENCE\n{evidence}\n# SCHEMA\n{shown}"
    return ask(Role.OUTPUTTER, text)


KEPT = '- phone = "555-0142" (step 4)\n- total = "1,280.50" (step 9)\n- paid = "yes" (step 11)'


def test_an_answer_cites_the_steps_of_its_values() -> None:
    made = output("Call 555-0142, pay 1,280.50.", KEPT)
    assert made == {
        "answer": "Call 555-0142, pay 1,280.50.", "cited_steps": [4, 9], "data": None,
    }  # fmt: skip


def test_an_answer_without_values_cites_what_supports_it() -> None:
    evidence = "Step 3: “Hello world”\nStep 8: “Order A-17 placed”"
    assert output("A-17 it is", evidence=evidence)["cited_steps"] == [8]
    assert output("nothing alike", evidence="Step 3: “zzz”")["cited_steps"] == [3]
    assert output("nothing")["cited_steps"] == []


def test_data_is_built_from_remembered_values() -> None:
    schema = {
        "type": "object",
        "properties": {
            "Phone": {"type": "string"},
            "total": {"type": "number"},
            "paid": {"type": "boolean"},
            "colour": {"type": "string"},
        },
        "required": ["total", "Phone"],
    }
    made = output("done", KEPT, schema=schema)
    assert made["data"] == {"Phone": "555-0142", "total": 1280.5, "paid": True}
    assert made["cited_steps"] == [4, 9, 11]


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"type": "string"}, "It is 42."),
        ({"type": "integer"}, 42),
        ({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, None),
        (
            {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
            None,
        ),
        ({"type": "object", "properties": {"paid": {"enum": ["no", "yes"]}}}, {"paid": "yes"}),
        ({"type": ["string", "null"]}, "It is 42."),
    ],
)
def test_data_fits_or_is_null(schema: Any, data: Any) -> None:
    assert output("It is 42.", KEPT, schema=schema)["data"] == data


def test_a_correction_behind_the_schema_does_no_harm() -> None:
    text = '# GOAL\nx\n# ANSWER\ny\n# KEPT\n\n# EVIDENCE\n\n# SCHEMA\n{"type": "string"}'
    request = ModelRequest(
        role=Role.OUTPUTTER, system="", messages=(user(text, "\n# CORRECTION\nagain"),)
    )
    assert json.loads(answer(request).text)["data"] == "y"


def test_the_historian_cites_what_it_quotes() -> None:
    recalled = "Step 3 (screen): the total was 12\nStep 9 (note): birds sing"
    made = ask(Role.HISTORIAN, f"# QUESTION\nWhat was the total?\n# RECALLED\n{recalled}")
    assert made == {"answer": "Step 3: the total was 12", "cited_steps": [3]}
    nothing = ask(Role.HISTORIAN, "# QUESTION\nWhat?\n# RECALLED\nNothing recorded matches.")
    assert nothing["cited_steps"] == []


async def test_the_provider_estimates_usage_and_says_that_it_is_offline() -> None:
    request = ModelRequest(role=Role.PLANNER, system="x" * 400, messages=(user("# GOAL\nback"),))
    reply = await OfflineModel().generate(request, TRY)
    assert reply.offline and (reply.provider, reply.model) == ("offline", "offline-1")
    assert reply.usage.prompt > 100 and reply.usage.output > 0
    assert OfflineModel().models(RoleModel(model="any", fallback="other")) == ("offline-1",)


@pytest.mark.parametrize("role", Role)
async def test_every_role_answers_even_nonsense(role: Role) -> None:
    request = ModelRequest(role=role, system="", messages=(user("x"),))
    reply = await asyncio.wait_for(OfflineModel().generate(request, TRY), 5)
    assert reply.offline and reply.message.parts
