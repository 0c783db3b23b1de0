"""Contacts: list with search, detail, add, edit, favourite, delete."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.devices.demo.phone import Phone, PhoneDep, clean, missing
from app.devices.demo.records import Contact
from app.devices.demo.state import LIST_LIMIT, PhoneState

router = APIRouter(prefix="/{device}/contacts")
FormText = Annotated[str, Form()]


@router.get("/")
def list_contacts(phone: PhoneDep, q: str = "") -> HTMLResponse:
    wanted = clean(q, 60)
    found = [
        c for c in phone.state.contacts if wanted.casefold() in f"{c.name} {c.city}".casefold()
    ]
    found.sort(key=lambda contact: contact.name.casefold())
    return phone.page("contacts/list.html", contacts=found, query=wanted)


@router.get("/new")
def new_contact(phone: PhoneDep) -> HTMLResponse:
    blank = Contact(id="", name="", phone="", email="", city="")
    return phone.page("contacts/form.html", contact=blank, error="")


@router.post("/new")
def add_contact(
    phone: PhoneDep,
    name: FormText = "",
    number: FormText = "",
    email: FormText = "",
    city: FormText = "",
) -> Response:
    contact = _from_form("", name, number, email, city)
    error = _complaint(contact, phone.state)
    if error:
        return phone.page("contacts/form.html", status=422, contact=contact, error=error)
    with phone.change() as state:
        contact = contact.model_copy(update={"id": state.take_id("c")})
        state.contacts.append(contact)
        state.toast = "Contact saved"
    return phone.go(f"contacts/{contact.id}")


@router.get("/{contact_id}")
def show_contact(phone: PhoneDep, contact_id: str) -> HTMLResponse:
    return phone.page("contacts/detail.html", contact=_find(phone, contact_id))


@router.get("/{contact_id}/edit")
def edit_contact(phone: PhoneDep, contact_id: str) -> HTMLResponse:
    return phone.page("contacts/form.html", contact=_find(phone, contact_id), error="")


@router.post("/{contact_id}/edit")
def save_contact(
    phone: PhoneDep,
    contact_id: str,
    name: FormText = "",
    number: FormText = "",
    email: FormText = "",
    city: FormText = "",
) -> Response:
    old = _find(phone, contact_id)
    edited = _from_form(contact_id, name, number, email, city)
    contact = edited.model_copy(update={"company": old.company, "favourite": old.favourite})
    error = _complaint(contact, phone.state)
    if error:
        return phone.page("contacts/form.html", status=422, contact=contact, error=error)
    _replace(phone, contact, "Contact saved")
    return phone.go(f"contacts/{contact_id}")


@router.post("/{contact_id}/favourite")
def toggle_favourite(phone: PhoneDep, contact_id: str) -> RedirectResponse:
    contact = _find(phone, contact_id)
    added = not contact.favourite
    message = "Added to favourites" if added else "Removed from favourites"
    _replace(phone, contact.model_copy(update={"favourite": added}), message)
    return phone.go(f"contacts/{contact_id}")


@router.post("/{contact_id}/delete")
def delete_contact(phone: PhoneDep, contact_id: str) -> RedirectResponse:
    _find(phone, contact_id)
    with phone.change() as state:
        state.contacts = [c for c in state.contacts if c.id != contact_id]
        state.toast = "Contact deleted"
    return phone.go("contacts/")


def _find(phone: Phone, contact_id: str) -> Contact:
    for contact in phone.state.contacts:
        if contact.id == contact_id:
            return contact
    raise missing("contact")


def _from_form(contact_id: str, name: str, number: str, email: str, city: str) -> Contact:
    return Contact(
        id=contact_id,
        name=clean(name, 80),
        phone=clean(number, 40),
        email=clean(email, 80),
        city=clean(city, 60),
    )


def _complaint(contact: Contact, state: PhoneState) -> str:
    if not contact.name:
        return "A contact needs a name."
    if contact.email and "@" not in contact.email:
        return "This e-mail address has no @."
    if not contact.id and len(state.contacts) >= LIST_LIMIT:
        return "The phone book is full."
    return ""


def _replace(phone: Phone, contact: Contact, toast: str) -> None:
    with phone.change() as state:
        state.contacts = [contact if c.id == contact.id else c for c in state.contacts]
        state.toast = toast
