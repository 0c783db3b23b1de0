"""Devices as the settings and the console name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select, update

from app.domain.config import DeviceConfig
from app.domain.ports import Clock
from app.errors import InvalidInput, NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.types import to_document


class DeviceRepository:
    """Devices, from the settings and from the console. Their secrets stay in the settings."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def upsert_configured(self, devices: Iterable[DeviceConfig]) -> None:
        """Puts the settings' devices in; one that left the settings stays as a person's own."""

        def write(connection: Connection) -> None:
            connection.execute(update(tables.device).values(configured=False))
            for device in devices:
                self._put(connection, device, configured=True)

        await self._db.write(write)

    async def put(self, device: DeviceConfig) -> None:
        """Adds or changes a device of the console; one of the settings is changed there."""
        row = tables.device.c
        query = select(row.configured).where(row.name == device.name)

        def write(connection: Connection) -> None:
            if connection.scalar(query):
                raise InvalidInput(f"The device {device.name} is kept in the settings file.")
            self._put(connection, device, configured=False)

        await self._db.write(write)

    async def list(self, *, retired: bool = False) -> tuple[DeviceConfig, ...]:
        row = tables.device.c
        query = select(row.config).order_by(row.name)
        if not retired:
            query = query.where(~row.retired)
        async with self._db.read() as connection:
            documents = (await connection.scalars(query)).all()
        return tuple(DeviceConfig.model_validate_json(document) for document in documents)

    async def get(self, name: str) -> DeviceConfig:
        """Raises NotFound. Retired ones are given too."""
        query = select(tables.device.c.config).where(tables.device.c.name == name)
        async with self._db.read() as connection:
            document = await connection.scalar(query)
        if document is None:
            raise NotFound(f"There is no device {name}.")
        return DeviceConfig.model_validate_json(document)

    async def retire(self, name: str) -> None:
        """Takes no more tasks; what it did stays."""
        device = (await self.get(name)).model_copy(update={"retired": True})
        row = tables.device
        change = update(row).where(row.c.name == name).values(**self._columns(device))
        await self._db.write(lambda connection: connection.execute(change) and None)

    def _put(self, connection: Connection, device: DeviceConfig, *, configured: bool) -> None:
        columns = self._columns(device)
        statement = self._db.insert(tables.device).values(
            name=device.name, configured=configured, **columns
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["name"], set_={**columns, "configured": configured}
            )
        )

    def _columns(self, device: DeviceConfig) -> dict[str, Any]:
        bare = device.model_copy(update={"reset_token": type(device.reset_token)("")})
        return {
            "platform": device.platform.value,
            "config": to_document(bare),
            "retired": device.retired,
            "updated_at": self._clock.now(),
        }
