"""A phone driven through Appium: opened for a task, observed and touched, closed after it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from app.devices import capabilities
from app.devices.abilities import abilities_of
from app.devices.appium_android import AndroidPhone
from app.devices.appium_chromium import ChromiumPhone
from app.devices.appium_errors import NoAnswer
from app.devices.appium_ios import IosPhone
from app.devices.appium_wire import Wire, connect, release_port, reserve_port
from app.devices.installation import chromedriver_path, chromium_path
from app.devices.places import Places, bare_url, check_server, is_local
from app.devices.processes import end_browser, remove_profile
from app.devices.secrets import Redactor, Secrets
from app.devices.session import SessionThread
from app.domain.actions import (
    DeviceAction,
    DoubleTap,
    Drag,
    LongPress,
    Outcome,
    Receipt,
    Swipe,
    Tap,
)
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.domain.messages import JsonObject
from app.domain.screens import DeviceView, Screenshot
from app.domain.tasks import Ability
from app.errors import (
    AbilityMissing,
    ArtemisError,
    DeviceError,
    DeviceTimeout,
    DeviceUnreachable,
    SessionLost,
)

T = TypeVar("T")
QUIT_TIMEOUT = 8.0
"""Seconds for a session to end by itself; after them its browser is ended by process id."""
SLACK = 5.0
"""Seconds a call may take beyond the client's own time-out."""
TOUCHES = (Tap, LongPress, DoubleTap, Swipe, Drag)
LOOKS = 3
"""Native drivers are asked for several parts, each with its own time-out."""


class Phone(Protocol):
    """A platform's blocking half."""

    def start(self) -> None: ...
    def look(self) -> DeviceView: ...
    def glance(self) -> Screenshot | None: ...
    def perform(self, action: DeviceAction) -> str: ...
    def shell(self, command: Sequence[str]) -> str: ...
    def ping(self) -> None: ...


def utc_now() -> datetime:
    return datetime.now(UTC)


class AppiumDevice:
    """Implements domain.ports.Device; see there for what raises and what does not."""

    def __init__(
        self,
        config: DeviceConfig,
        appium: AppiumConfig,
        secrets: Secrets,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        check_server(config.server_url, appium.allowed_servers)
        self._config = config
        self._appium = appium
        self._now = now
        self._places = Places(config.apps, config.allowed_apps, config.blocked_origins)
        self._redactor = Redactor(secrets)
        self._thread = SessionThread(config.name)
        self._wire: Wire | None = None
        self._phone: Phone | None = None
        self._port = 0
        self._attempt: object = None
        self._lost = ""

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def abilities(self) -> frozenset[Ability]:
        return abilities_of(self._config)

    @property
    def description(self) -> str:
        kind = {
            Platform.CHROMIUM: "a phone-sized Chromium browser, 412 x 915",
            Platform.ANDROID: "an Android phone",
            Platform.IOS: "an iPhone",
        }[self._config.platform]
        return f"{self._config.name}: {kind}, through Appium at {bare_url(self._config.server_url)}"

    @property
    def apps(self) -> dict[str, str]:
        return dict(self._config.apps)

    def app_at(self, place: str) -> str:
        """The name of the app that a URL or package belongs to; empty for none."""
        return self._places.current_app(place)

    # --- the session -----------------------------------------------------------------------

    async def open(self) -> None:
        if self._wire is not None:
            await self.close()
        limit = self._appium.session_timeout
        self._lost = ""
        attempt = self._attempt = object()
        try:
            await self._thread.run(lambda: self._connect(limit, attempt), limit + 2 * SLACK)
            await self._thread.run(self._start, self._appium.call_timeout + SLACK)
        except DeviceTimeout as error:
            await self.close()
            raise DeviceUnreachable(
                f"No session with {self.name} could be opened: {error.message}"
            ) from None
        except ArtemisError:
            await self.close()
            raise

    def _connect(self, limit: float, attempt: object) -> None:
        wire = connect(
            self._config.server_url, self._capabilities(), self._appium.call_timeout, limit
        )
        if self._attempt is not attempt:
            wire.quit()  # nobody waited for it
            return
        self._wire = wire

    def _capabilities(self) -> JsonObject:
        config, appium = self._config, self._appium
        if config.platform is Platform.ANDROID:
            return capabilities.android(config, appium)
        if config.platform is Platform.IOS:
            return capabilities.ios(config, appium)
        local = is_local(config.server_url)
        self._port = reserve_port() if local else 0
        return capabilities.chromium(
            config,
            appium,
            browser=appium.chromium or (chromium_path() if local else ""),
            driver=appium.chromedriver or (chromedriver_path() if local else ""),
            port=self._port,
            as_root=not local or os.geteuid() == 0,
        )

    def _start(self) -> None:
        if self._wire is None:
            raise SessionLost()
        phone: Phone
        match self._config.platform:
            case Platform.ANDROID:
                phone = AndroidPhone(self._wire, self._places, self._redactor, self._now)
            case Platform.IOS:
                phone = IosPhone(self._wire, self._places, self._redactor, self._now)
            case _:
                home = self._config.home or self._config.apps.get("Launcher", "")
                phone = ChromiumPhone(self._wire, self._places, home, self._redactor, self._now)
        phone.start()
        self._phone = phone

    async def close(self) -> None:
        wire, self._wire, self._phone, self._attempt = self._wire, None, None, None
        if wire is not None:
            try:
                await self._thread.run(wire.quit, QUIT_TIMEOUT)
            except DeviceTimeout:
                self._thread.abandon()
            await self._clean_up(wire)
        self._thread.abandon()
        release_port(self._port)
        self._port = 0

    async def _clean_up(self, wire: Wire) -> None:
        """What `quit` leaves behind: always the profile, after a broken session the browser."""
        if self._config.platform is not Platform.CHROMIUM or not is_local(self._config.server_url):
            return
        pid, profile = wire.browser_pid, wire.profile

        def clean() -> None:
            end_browser(pid, profile)
            remove_profile(profile)

        cleaner = SessionThread(f"{self.name}-clean")
        try:
            await cleaner.run(clean, QUIT_TIMEOUT)
        except DeviceTimeout:
            pass
        finally:
            cleaner.abandon()

    async def _call(self, work: Callable[[Phone], T], seconds: float) -> T:
        """Runs a blocking call; a session that is lost stays lost until it is opened again."""
        phone = self._phone
        if phone is None or self._lost:
            raise SessionLost(self._lost or "The device has no open session.")
        try:
            return await self._thread.run(lambda: work(phone), seconds)
        except SessionLost as error:
            self._lost = error.message
            raise
        except DeviceTimeout as error:
            # The thread is stuck, or the browser is: ending the browser frees both.
            if type(error) is DeviceTimeout or (
                isinstance(error, NoAnswer) and self._config.platform is Platform.CHROMIUM
            ):
                self._lost = error.message
                await self._free_thread()
            raise

    async def _free_thread(self) -> None:
        self._thread.abandon()
        if self._wire is not None:
            await self._clean_up(self._wire)

    # --- looking and acting ----------------------------------------------------------------

    @property
    def _look_limit(self) -> float:
        native = self._config.platform is not Platform.CHROMIUM
        return self._appium.call_timeout * (LOOKS if native else 1) + SLACK

    async def observe(self) -> DeviceView:
        try:
            view = await self._call(lambda phone: phone.look(), self._look_limit)
        except SessionLost as error:
            raise SessionLost(self._redactor.hide(error.message)) from None
        except DeviceUnreachable:
            raise
        except DeviceError as error:
            raise SessionLost(self._redactor.hide(error.message)) from None
        return self._redactor.hide_in(view)

    async def glance(self) -> Screenshot | None:
        try:
            return await self._call(lambda phone: phone.glance(), self._look_limit)
        except (SessionLost, DeviceUnreachable):
            raise
        except DeviceTimeout as error:
            raise SessionLost(error.message) from None
        except DeviceError:
            return None

    async def perform(self, action: DeviceAction) -> Receipt:
        started = time.monotonic()
        limit = self._limit_of(action)
        outcome, message, code = Outcome.OK, "", ""
        try:
            message = await self._call(lambda phone: phone.perform(action), limit)
        except (SessionLost, DeviceTimeout, DeviceUnreachable) as error:
            outcome, message, code = Outcome.UNKNOWN, str(error), error.code
        except ArtemisError as error:
            outcome, message, code = Outcome.ERROR, str(error), error.code
        return Receipt(
            outcome=outcome,
            message=self._redactor.hide(message)[:1000],
            code=code,
            seconds=round(time.monotonic() - started, 3),
        )

    def _limit_of(self, action: DeviceAction) -> float:
        """A touch that makes the page hang is not ended by the driver's page time-out."""
        seconds = float(getattr(action, "seconds", 0.0))
        if self._config.platform is Platform.CHROMIUM and isinstance(action, TOUCHES):
            return self._appium.page_load_timeout + SLACK + seconds
        return self._appium.call_timeout + SLACK + seconds

    async def shell(self, command: Sequence[str]) -> str:
        if Ability.SHELL not in self.abilities:
            raise AbilityMissing("This device has no shell, or its policy does not allow it.")
        words = list(command)
        answer = await self._call(
            lambda phone: phone.shell(words), self._appium.call_timeout + SLACK
        )
        return self._redactor.hide(answer)

    async def keep_alive(self) -> None:
        try:
            await self._call(lambda phone: phone.ping(), self._appium.call_timeout + SLACK)
        except DeviceError:
            return  # the next observe says so
