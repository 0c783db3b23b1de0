"""A chunk's sources, a right capsule of it, and ways to spoil it, each with the rule it breaks."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from app.memory.capsule_checks import ChunkSources, Contradiction, StepSource

SOURCES = ChunkSources(
    steps=(
        StepSource(
            3,
            {"screen": "Shop. Order AB-1234, total ¥1,280", "result": "executed"},
            "tap [Orders]. I expect the total 1,300 to be shown.",
        ),
        StepSource(
            4,
            {"screen": "Order. Delivered on 2026-03-01", "notes": "order: AB-1234 seen"},
            "tap [Order]. I write the note order.",
            note_keys=("order",),
        ),
        StepSource(5, {"screen": "A canvas", "tool": "explorer: the row says Paid"}, "look"),
    ),
    open_checks=("Order placed twice",),
    contradictions=(Contradiction("the total", ("1,280", "1,300")),),
    tokens=2_000,
)
CAPSULE: dict[str, Any] = {
    "doing": "I was looking for the order's total.",
    "did": "I opened the orders and asked the explorer once.",
    "effect": "The note order names AB-1234.",
    "entry_state": "the shop was shown",
    "exit_state": "a canvas was shown",
    "verified_facts": [
        "order AB-1234 had the total ¥1,280 (on screen, step 3)",
        "the row says Paid (explorer, step 5)",
    ],
    "unresolved": [
        "required check still open: Order placed twice",
        "the total: 1,280 on screen in step 3, 1,300 in my reasoning in step 3",
    ],
    "failed_paths": [],
    "important_entities": ["AB-1234"],
    "intervals": [
        {
            "start_step": 3,
            "end_step": 4,
            "text": "I opened the orders; order AB-1234 was shown with ¥1,280 and 2026-03-01.",
        },
        {
            "start_step": 5,
            "end_step": 5,
            "text": "I looked at the canvas, and the explorer reported that the row says Paid.",
        },
    ],
}


class Spoilt(NamedTuple):
    """Changes to the right capsule, and the rule they break."""

    rule: str
    changes: dict[str, Any]


def interval(start: int, end: int, text: str = "") -> dict[str, Any]:
    return {"start_step": start, "end_step": end, "text": text or "I looked at the orders. " * 5}


def fact(text: str) -> dict[str, Any]:
    return {"verified_facts": [text]}


LONG = "I opened the orders, looked at them, and opened the orders again. " * 5

SPOILT = (
    Spoilt("interval_range", {"intervals": []}),
    Spoilt("interval_range", {"intervals": [interval(3, 4)]}),
    Spoilt("interval_range", {"intervals": [interval(4, 5)]}),
    Spoilt("interval_range", {"intervals": [interval(3, 6)]}),
    Spoilt("interval_range", {"intervals": [interval(2, 5)]}),
    Spoilt("interval_gap", {"intervals": [interval(3, 3), interval(5, 5)]}),
    Spoilt("interval_overlap", {"intervals": [interval(3, 4), interval(4, 5)]}),
    Spoilt("interval_overlap", {"intervals": [interval(3, 5), interval(3, 5)]}),
    Spoilt("interval_order", {"intervals": [interval(5, 5), interval(3, 4)]}),
    Spoilt("interval_order", {"intervals": [interval(4, 3), interval(5, 5)]}),
    Spoilt("coordinates", {"exit_state": "a canvas with a point [540, 1200]"}),
    Spoilt("coordinates", {"exit_state": "a point (540, 1200) was in view"}),
    Spoilt("coordinates", {"exit_state": "a canvas with [0,12][1080,200] drawn"}),
    Spoilt("coordinates", {"exit_state": "a button @60,40 was in view"}),
    Spoilt("coordinates", {"exit_state": "a button at 60, 40 was in view"}),
    Spoilt("coordinates", {"exit_state": "a button with x=60 and y=40"}),
    Spoilt("coordinates", {"exit_state": "a button with bounds of 60 by 40"}),
    Spoilt("note_key", {"effect": "A note about AB-1234 was left."}),
    Spoilt("note_key", {"effect": "The orders note tells of AB-1234."}),
    Spoilt("synopsis_length", {"did": LONG}),
    Spoilt("schema", {"doing": ""}),
    Spoilt("schema", {"intervals": [interval(3, 5, " x ")]}),
    Spoilt("schema", {"verified_facts": "none"}),
    Spoilt("schema", {"intervals": [{"start_step": 3}]}),
    Spoilt("schema", {"unknown_field": "x"}),
    Spoilt("judging_word", {"did": "I successfully opened the orders."}),
    Spoilt("judging_word", {"failed_paths": ["the tap failed on the order"]}),
    Spoilt("judging_word", {"exit_state": "the order was completed"}),
    Spoilt("judging_word", {"intervals": [interval(3, 5, "I entered the orders. " * 9)]}),
    Spoilt("third_person", {"did": "The agent opened the orders."}),
    Spoilt("value_without_source", {"important_entities": ["AB-9999"]}),
    Spoilt("value_without_source", {"exit_state": "the page “Bestellung” was shown"}),
    Spoilt("value_without_source", {"intervals": [interval(3, 5, "I saw 4,711 there. " * 9)]}),
    Spoilt("fact_unattributed", fact("order AB-1234 had the total ¥1,280")),
    Spoilt("fact_unattributed", fact("order AB-1234 had the total ¥1,280 (on screen)")),
    Spoilt("fact_unattributed", fact("order AB-1234 had the total ¥1,280 (step 3)")),
    Spoilt("fact_unattributed", fact("total ¥1,280 (on screen, step 9)")),
    Spoilt("fact_without_source", fact("total ¥1,280 (on screen, step 4)")),
    Spoilt("fact_without_source", fact("total ¥1,280 (explorer, step 3)")),
    Spoilt("fact_without_source", fact("the total is 1,300 (on screen, step 3)")),
    Spoilt("fact_without_source", fact("delivery van arriving tomorrow (on screen, step 4)")),
    Spoilt(
        "planned_as_verified", fact("order AB-1234 will be paid as planned (on screen, step 3)")
    ),
    Spoilt("planned_as_verified", fact("I expected AB-1234 (on screen, step 3)")),
    Spoilt("planned_as_verified", fact("box of AB-1234 ticked in the plan (tool, step 5)")),
    Spoilt("check_lost", {"unresolved": CAPSULE["unresolved"][1:]}),
    Spoilt("contradiction_lost", {"unresolved": CAPSULE["unresolved"][:1]}),
    Spoilt(
        "contradiction_lost",
        {"unresolved": [CAPSULE["unresolved"][0], "the total: 1,280 on screen in step 3"]},
    ),
    Spoilt("echo", {"exit_state": "── a canvas was shown"}),
    Spoilt("markdown", {"exit_state": "a **canvas** was shown"}),
)


def capsule_json(**changes: Any) -> str:
    return json.dumps({**CAPSULE, **changes}, ensure_ascii=False)
