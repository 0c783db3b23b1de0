"""Messages: conversations, a thread, sending; one person answers a second later."""

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse

from app.devices.demo.phone import Phone, PhoneDep, clean, missing
from app.devices.demo.records import Conversation, Message
from app.devices.demo.state import LIST_LIMIT, PhoneState

router = APIRouter(prefix="/{device}/messages")
REPLY_DELAY = 1.0  # seconds


class ThreadView(NamedTuple):
    messages: list[Message]
    due_in_ms: int | None
    """Milliseconds until an answer arrives; None when none is on its way."""


@router.get("/")
def list_conversations(phone: PhoneDep) -> HTMLResponse:
    now = phone.now()
    previews = [(c, _visible(c, now)[-1]) for c in phone.state.conversations]
    return phone.page("messages/list.html", previews=previews)


@router.get("/{conversation_id}")
def show_thread(phone: PhoneDep, conversation_id: str) -> HTMLResponse:
    conversation = _find(phone.state, conversation_id)
    view = _thread(phone, conversation)
    return phone.page("messages/thread.html", conversation=conversation, thread=view)


@router.get("/{conversation_id}/bubbles")
def show_bubbles(phone: PhoneDep, conversation_id: str) -> HTMLResponse:
    """The thread's inside alone, for the page to fetch when an answer is due."""
    conversation = _find(phone.state, conversation_id)
    view = _thread(phone, conversation)
    bubbles = phone.render("messages/bubbles.html", conversation=conversation, thread=view)
    return HTMLResponse(bubbles)


@router.post("/{conversation_id}")
def send_message(
    phone: PhoneDep, conversation_id: str, text: Annotated[str, Form()] = ""
) -> RedirectResponse:
    written = clean(text, 1_000)
    with phone.change() as state:
        conversation = _find(state, conversation_id)
        if not written:
            state.toast = "Write something first"
        elif len(conversation.messages) >= LIST_LIMIT:
            state.toast = "This conversation is full"
        else:
            added = [Message(mine=True, text=written)]
            if conversation.reply:
                due = phone.now() + REPLY_DELAY
                added.append(Message(mine=False, text=conversation.reply, due_at=due))
            longer = conversation.model_copy(update={"messages": (*conversation.messages, *added)})
            state.conversations = [
                longer if c.id == conversation_id else c for c in state.conversations
            ]
    return phone.go(f"messages/{conversation_id}")


def _find(state: PhoneState, conversation_id: str) -> Conversation:
    for conversation in state.conversations:
        if conversation.id == conversation_id:
            return conversation
    raise missing("conversation")


def _visible(conversation: Conversation, now: float) -> list[Message]:
    return [m for m in conversation.messages if m.due_at <= now]


def _thread(phone: Phone, conversation: Conversation) -> ThreadView:
    now = phone.now()
    waits = [m.due_at - now for m in conversation.messages if m.due_at > now]
    return ThreadView(
        messages=_visible(conversation, now),
        due_in_ms=round(max(waits) * 1000) if waits else None,
    )
