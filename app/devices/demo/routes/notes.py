"""Notes: list, create, edit, delete with a question first."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.devices.demo.phone import Phone, PhoneDep, clean, missing
from app.devices.demo.records import Note
from app.devices.demo.state import LIST_LIMIT

router = APIRouter(prefix="/{device}/notes")
FormText = Annotated[str, Form()]


@router.get("/")
def list_notes(phone: PhoneDep) -> HTMLResponse:
    return phone.page("notes/list.html", notes=phone.state.notes)


@router.get("/new")
def new_note(phone: PhoneDep) -> HTMLResponse:
    return phone.page("notes/form.html", note=Note(id="", title="", body=""), error="")


@router.post("/new")
def add_note(phone: PhoneDep, title: FormText = "", body: FormText = "") -> Response:
    note = _from_form("", title, body)
    full = len(phone.state.notes) >= LIST_LIMIT
    error = "There is no room for another note." if full else _complaint(note)
    if error:
        return phone.page("notes/form.html", status=422, note=note, error=error)
    with phone.change() as state:
        note = note.model_copy(update={"id": state.take_id("n")})
        state.notes.insert(0, note)
        state.toast = "Note saved"
    return phone.go(f"notes/{note.id}")


@router.get("/{note_id}")
def show_note(phone: PhoneDep, note_id: str) -> HTMLResponse:
    return phone.page("notes/detail.html", note=_find(phone, note_id))


@router.get("/{note_id}/edit")
def edit_note(phone: PhoneDep, note_id: str) -> HTMLResponse:
    return phone.page("notes/form.html", note=_find(phone, note_id), error="")


@router.post("/{note_id}/edit")
def save_note(phone: PhoneDep, note_id: str, title: FormText = "", body: FormText = "") -> Response:
    _find(phone, note_id)
    note = _from_form(note_id, title, body)
    error = _complaint(note)
    if error:
        return phone.page("notes/form.html", status=422, note=note, error=error)
    with phone.change() as state:
        state.notes = [note if n.id == note_id else n for n in state.notes]
        state.toast = "Note saved"
    return phone.go(f"notes/{note_id}")


@router.post("/{note_id}/delete")
def delete_note(phone: PhoneDep, note_id: str) -> RedirectResponse:
    _find(phone, note_id)
    with phone.change() as state:
        state.notes = [n for n in state.notes if n.id != note_id]
        state.toast = "Note deleted"
    return phone.go("notes/")


def _find(phone: Phone, note_id: str) -> Note:
    for note in phone.state.notes:
        if note.id == note_id:
            return note
    raise missing("note")


def _from_form(note_id: str, title: str, body: str) -> Note:
    return Note(id=note_id, title=clean(title, 120), body=clean(body, 4_000))


def _complaint(note: Note) -> str:
    return "" if note.title else "A note needs a title."
