"""What was changed on a demo phone since its reset: one JSON file per device."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from app.devices.demo.records import Alarm, Contact, Conversation, Note, Order
from app.devices.demo.world import DEFAULT_SEED, DemoWorld, demo_world

LIST_LIMIT = 200  # entries a person or an agent may add to any one list
log = logging.getLogger(__name__)


class Timer(BaseModel):
    """A countdown: running while `ends_at` is set, paused while only `left` is."""

    length: float = 0.0  # seconds
    left: float = 0.0  # seconds, as of the last pause
    ends_at: float | None = None  # seconds since the epoch

    def remaining(self, now: float) -> float:
        return max(0.0, self.ends_at - now) if self.ends_at is not None else self.left

    def phase(self, now: float) -> Literal["idle", "running", "paused", "finished"]:
        if self.ends_at is not None:
            return "running" if self.ends_at > now else "finished"
        return "paused" if self.left > 0 else "idle"


class Stopwatch(BaseModel):
    counted: float = 0.0  # seconds, as of the last stop
    started_at: float | None = None  # seconds since the epoch
    laps: list[float] = []

    def elapsed(self, now: float) -> float:
        return self.counted + (max(0.0, now - self.started_at) if self.started_at else 0.0)


class PhoneState(BaseModel):
    """The record that pages read and forms change, always under its store's lock."""

    model_config = ConfigDict(extra="forbid")

    seed: int
    toast: str = ""
    """Shown by the next page, once."""

    switches: dict[str, bool]
    levels: dict[str, int]
    choices: dict[str, str]
    device_name: str
    wifi_network: str | None
    cache_cleared: bool = False

    contacts: list[Contact]
    notes: list[Note]
    conversations: list[Conversation]
    alarms: list[Alarm]
    timer: Timer = Timer()
    stopwatch: Stopwatch = Stopwatch()
    next_id: int = 100

    cart: dict[str, int] = {}
    discount_code: str = ""
    orders: list[Order]

    signed_in: bool = False
    gauge: int
    gauge_locked: bool = False
    dialog_result: str = "none"
    location_permission: str = "not asked"
    article_liked: bool = False

    @property
    def world(self) -> DemoWorld:
        return demo_world(self.seed)

    def take_id(self, prefix: str) -> str:
        self.next_id += 1
        return f"{prefix}{self.next_id}"


def fresh_state(seed: int) -> PhoneState:
    world = demo_world(seed)
    return PhoneState(
        seed=seed,
        switches=dict(world.switches),
        levels=dict(world.levels),
        choices={
            "font_size": "Default",
            "screen_timeout": "1 minute",
            "ringtone": "Morning bell",
            "time_zone": "Coordinated Universal Time",
        },
        device_name=world.about.device_name,
        wifi_network=world.wifi_networks[0].id,
        contacts=list(world.contacts),
        notes=list(world.notes),
        conversations=list(world.conversations),
        alarms=list(world.alarms),
        orders=list(world.past_orders),
        gauge=world.gauge_value,
    )


class StateStore:
    """Reads and writes the state files. Blocking: called from worker threads only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def read(self, device: str) -> PhoneState:
        with self._lock:
            return self._load(device)

    @contextmanager
    def change(self, device: str) -> Iterator[PhoneState]:
        """Hold the lock, hand out the state, save it unless the block raises."""
        with self._lock:
            state = self._load(device)
            yield state
            self._save(device, state)

    def reset(self, device: str, seed: int) -> None:
        with self._lock:
            self._save(device, fresh_state(seed))

    def _load(self, device: str) -> PhoneState:
        path = self._path(device)
        try:
            return PhoneState.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return fresh_state(DEFAULT_SEED)
        except ValidationError as error:
            kept = path.with_suffix(".unreadable")
            log.warning("State of %s is unreadable, kept as %s: %s", device, kept.name, error)
            os.replace(path, kept)
            return fresh_state(DEFAULT_SEED)

    def _save(self, device: str, state: PhoneState) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=self._folder, suffix=".tmp", delete=False) as file:
            file.write(state.model_dump_json().encode())
        os.replace(file.name, self._path(device))

    def _path(self, device: str) -> Path:
        return self._folder / f"{device}.json"
