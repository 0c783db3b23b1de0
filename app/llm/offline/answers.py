"""The offline outputter and historian: answers taken from what they are given, with steps."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from app.domain.messages import JsonObject, ModelRequest
from app.llm.offline.sections import sections
from app.llm.offline.values import number_in

MAX_CITED = 20
MAX_DEPTH = 6
TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "0"})

_KEPT = re.compile(r'^- ([^\n=]+?) = ("(?:[^"\\\n]|\\.)*") \(step (\d+)\)$', re.MULTILINE)
_EVIDENCE = re.compile(r"^Step (\d+)[^\n:]*: ?(.*)$", re.MULTILINE)


class Kept(NamedTuple):
    """A remembered value and the step it was read in."""

    value: str
    step: int


class Misfit(Exception):
    """The schema asks for something that was never remembered."""


def answer_outputter(request: ModelRequest) -> JsonObject:
    """The operator's answer with the steps of the values that stand in it."""
    told = sections(request, ("GOAL", "ANSWER", "KEPT", "EVIDENCE", "SCHEMA"))
    answer = told["ANSWER"].strip()
    kept = {
        key.strip().casefold(): Kept(str(json.loads(raw, strict=False)), int(step))
        for key, raw, step in _KEPT.findall(told["KEPT"])
    }
    cited = {k.step for k in kept.values() if k.value.strip() and k.value in answer}
    data, used = _data(told["SCHEMA"], kept, answer)
    cited |= used
    if not cited:
        cited = _supporting(told["EVIDENCE"], answer)
    return {"answer": answer, "cited_steps": sorted(cited)[:MAX_CITED], "data": data}


def _supporting(evidence: str, answer: str) -> set[int]:
    """Steps whose excerpt shares a number, code or long word with the answer; else the last."""
    steps = [(int(step), text) for step, text in _EVIDENCE.findall(evidence)]
    words = {w for w in re.findall(r"[\w.-]{4,}", answer.casefold()) if w.strip(".-")}
    found = {
        step for step, text in steps if words & set(re.findall(r"[\w.-]{4,}", text.casefold()))
    }
    return found or ({steps[-1][0]} if steps else set())


def _data(schema_text: str, kept: dict[str, Kept], answer: str) -> tuple[Any, set[int]]:
    """A value that fits the schema, from remembered values only; None where it cannot."""
    try:
        schema = json.loads(schema_text)
    except ValueError:
        return None, set()
    if not isinstance(schema, dict):
        return None, set()
    used: set[int] = set()
    try:
        return _fit(schema, "", kept, answer, used, 0), used
    except Misfit:
        return None, set()


def _fit(
    schema: JsonObject, name: str, kept: dict[str, Kept], answer: str, used: set[int], depth: int
) -> Any:
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), "") if isinstance(kinds, list) else kinds
    if depth > MAX_DEPTH:
        raise Misfit
    if kind == "object" or "properties" in schema:
        return _fit_object(schema, kept, answer, used, depth)
    if name:
        value = _lookup(name, kept)
        if value is None:
            raise Misfit
        used.add(value.step)
        return _convert(value.value, schema, kind)
    return _convert(answer, schema, kind)


def _fit_object(
    schema: JsonObject, kept: dict[str, Kept], answer: str, used: set[int], depth: int
) -> JsonObject:
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    made: JsonObject = {}
    properties = schema.get("properties")
    for key, own in (properties if isinstance(properties, dict) else {}).items():
        try:
            made[key] = _fit(
                own if isinstance(own, dict) else {}, key, kept, answer, used, depth + 1
            )
        except Misfit:
            if key in needed:
                raise
    if needed - set(made):
        raise Misfit
    return made


def _lookup(name: str, kept: dict[str, Kept]) -> Kept | None:
    """The remembered key that equals the property's name, but for case and separators."""

    def bare(text: str) -> str:
        return re.sub(r"[\W_]+", "", text).casefold()

    return next((value for key, value in kept.items() if bare(key) == bare(name)), None)


def _convert(text: str, schema: JsonObject, kind: Any) -> Any:
    if "enum" in schema:
        for allowed in schema["enum"] if isinstance(schema["enum"], list) else []:
            if str(allowed).casefold() == text.strip().casefold():
                return allowed
        raise Misfit
    match kind:
        case "integer" | "number":
            return _number(text, whole=kind == "integer")
        case "boolean":
            word = text.strip().casefold()
            if word not in TRUE_WORDS | FALSE_WORDS:
                raise Misfit
            return word in TRUE_WORDS
        case "array":
            items = schema.get("items")
            parts = [part.strip() for part in re.split(r"[,;\n]", text) if part.strip()]
            own = items if isinstance(items, dict) else {}
            return [_convert(part, own, own.get("type")) for part in parts]
        case "object":
            raise Misfit
        case "null":
            return None
    return text


def _number(text: str, *, whole: bool) -> int | float:
    """1,280.50 and 1280.5 alike; a lone comma before two digits is a decimal comma."""
    digits = number_in(text).replace("\u00a0", "").replace(" ", "")
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    try:
        value = float(digits)
    except ValueError:
        raise Misfit from None
    if not whole:
        return value
    if value != int(value):
        raise Misfit
    return int(value)


def answer_historian(request: ModelRequest) -> JsonObject:
    """The recalled excerpts that share most words with the question."""
    told = sections(request, ("QUESTION", "RECALLED"))
    words = set(re.findall(r"\w{3,}", told["QUESTION"].casefold()))
    hits = [
        (len(words & set(re.findall(r"\w{3,}", text.casefold()))), int(step), text.strip())
        for step, text in _EVIDENCE.findall(told["RECALLED"])
    ]
    best = sorted((hit for hit in hits if hit[0]), key=lambda hit: -hit[0])[:3]
    best = best or hits[:3]
    if not best:
        return {"answer": "The history holds nothing on this question.", "cited_steps": []}
    told_lines = [f"Step {step}: {text}" for _, step, text in best]
    return {
        "answer": "\n".join(told_lines),
        "cited_steps": sorted({step for _, step, _ in best}),
    }
