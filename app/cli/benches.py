"""What benchmarks get from the settings: a worker as the server would run it."""

from __future__ import annotations

from app.bench.faults_arm import OpenWorker
from app.domain.config import ModelsConfig, OcrConfig
from app.settings import Settings
from app.tasks.bus import Bus
from app.tasks.clock import SystemClock
from app.tasks.worker import Stores, Worker


def opener(settings: Settings) -> OpenWorker:
    """Opens workers on these settings, without a reader of pictures: each would be a process."""
    own = settings.model_copy(update={"ocr": OcrConfig(enabled=False)})

    def open_worker(stores: Stores, models: ModelsConfig, bus: Bus) -> Worker:
        return Worker(stores, own, models, clock=SystemClock(), publish=bus.publish)

    return open_worker
