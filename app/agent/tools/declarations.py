"""The functions the operator may call, as declared to the model.

The declarations never change within a task; restrictions go through `allowed_tools`.
"""

from __future__ import annotations

from app.domain.messages import JsonObject, ToolSpec

_INTEGER: JsonObject = {"type": "integer"}
_STRING: JsonObject = {"type": "string"}
_BOOLEAN: JsonObject = {"type": "boolean"}
_COORDINATE: JsonObject = {"type": "number", "description": "0-1000"}
_PLACE: dict[str, JsonObject] = {
    "element": {"type": "integer", "description": "index in the current element list"},
    "x": _COORDINATE,
    "y": _COORDINATE,
}


def _tool(name: str, description: str, /, *required: str, **properties: JsonObject) -> ToolSpec:
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return ToolSpec(name=name, description=description, parameters=schema)


def _enum(*words: str) -> JsonObject:
    return {"type": "string", "enum": list(words)}


def _list(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item}


RECALL = _tool(
    "recall_history",
    "Search everything recorded in this task: screens, values, actions, notes, results. "
    "Any words, codes or quotes; or a step_range alone for its lines.",
    query=_STRING,
    step_range=_list(_INTEGER),
    include_details=_BOOLEAN,
    include_images=_BOOLEAN,
    max_results=_INTEGER,
)
SHELL = _tool("shell", "Run a command on the device.", "command", command=_list(_STRING))

_IN_TURN = (
    _tool(
        "notes",
        "Long-term notes of this task.",
        "op",
        op=_enum("save", "append", "read", "list"),
        key=_STRING,
        text=_STRING,
    ),
    _tool(
        "remember",
        "Keep exact values that later steps or the answer need; they stay in view.",
        "values",
        values=_list(
            {
                "type": "object",
                "properties": {"key": _STRING, "value": _STRING},
                "required": ["key", "value"],
            }
        ),
    ),
    _tool(
        "update_plan",
        "Tick milestones (done), mark the one being worked on (active), note loop progress; "
        "or ask the planner for a rewrite (request).",
        done=_list(_INTEGER),
        active=_INTEGER,
        progress=_STRING,
        request=_STRING,
    ),
    _tool(
        "explore_ui",
        "Search the full element tree of this screen, beyond the list shown.",
        "query",
        query=_STRING,
    ),
    _tool(
        "ask_user",
        "Ask the person who gave the goal; waits for the answer. Only when nothing else helps.",
        "question",
        question=_STRING,
    ),
)

_ACTIONS = (
    _tool("tap", "Tap an element or a point.", **_PLACE),
    _tool("long_press", "Press and hold.", **_PLACE, seconds={"type": "number"}),
    _tool("double_tap", "Tap twice.", **_PLACE),
    _tool(
        "input_text",
        "Type into a field (or choose an option of a select by its text). `secret:NAME` types "
        "a stored secret.",
        "text",
        text=_STRING,
        **_PLACE,
        mode=_enum("replace", "append"),
        submit=_BOOLEAN,
    ),
    _tool("clear_text", "Empty a field.", **_PLACE),
    _tool(
        "swipe",
        "Move a finger: a direction over the whole screen (up shows what is below), or from "
        "x,y to x2,y2.",
        direction=_enum("up", "down", "left", "right"),
        x=_COORDINATE,
        y=_COORDINATE,
        x2=_COORDINATE,
        y2=_COORDINATE,
        seconds={"type": "number"},
    ),
    _tool(
        "scroll_to",
        "Scroll until a text is in view (direction up looks further down the page).",
        "text",
        text=_STRING,
        direction=_enum("up", "down", "left", "right"),
    ),
    _tool(
        "drag",
        "Press, move, release.",
        **_PLACE,
        to_element=_INTEGER,
        to_x=_COORDINATE,
        to_y=_COORDINATE,
    ),
    _tool(
        "press_key",
        "Press a key: enter, tab, escape, delete, space, arrow_up, volume_up, …",
        "key",
        key=_STRING,
    ),
    _tool("back", "Go back."),
    _tool("home", "Go to the launcher."),
    _tool("launch_app", "Open an app by name.", "app", app=_STRING),
    _tool("terminate_app", "Close an app.", "app", app=_STRING),
    _tool("open_url", "Open an address.", "url", url=_STRING),
    _tool("hide_keyboard", "Hide the on-screen keyboard."),
    _tool(
        "set_orientation",
        "Rotate.",
        "orientation",
        orientation=_enum("portrait", "landscape"),
    ),
    _tool("accept_alert", "Accept the open alert; text fills its prompt.", text=_STRING),
    _tool("dismiss_alert", "Dismiss the open alert."),
    _tool(
        "wait",
        "Let time pass, at most 60 s, then look again.",
        "seconds",
        seconds={"type": "number"},
    ),
    _tool("finish", "The goal is reached: give the answer.", "answer", answer=_STRING),
    _tool("give_up", "The goal cannot be reached: say why.", "reason", reason=_STRING),
)

ACTION_NAMES = tuple(t.name for t in _ACTIONS)


def declare(*, recall: bool, shell: bool) -> tuple[ToolSpec, ...]:
    """All declarations of a task, in a fixed order."""
    return (
        *((RECALL,) if recall else ()),
        *_IN_TURN,
        *((SHELL,) if shell else ()),
        *_ACTIONS,
    )
