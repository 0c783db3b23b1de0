"""Builds models from the configuration."""

from __future__ import annotations

from app.domain.config import ModelsConfig, RoleModel
from app.domain.ports import Clock
from app.llm.gateway import Gateway, OnWait, own_provider
from app.llm.gemini import Gemini
from app.llm.lanes import Lanes
from app.llm.offline.model import OfflineModel
from app.llm.prices import PriceTable
from app.llm.provider import Provider


class ModelHouse:
    """What all runs of a process share: clients, lanes and prices."""

    def __init__(self, config: ModelsConfig, clock: Clock, background: int = 1) -> None:
        """`background` calls at a time are let through, per endpoint, key and model."""
        self._config = config
        self._clock = clock
        self._prices = PriceTable.load()
        self._providers: dict[str, Provider] = {}
        self.lanes = Lanes(concurrency=background)

    def build(self, on_wait: OnWait, provider: str = "") -> Gateway:
        """A gateway for one run; `provider` (`offline`, `gemini`) overrides the configured one.

        Raises ConfigurationError when Gemini has no key.
        """
        config = self._config
        if provider:
            config = config.model_copy(update={"provider": provider})
        self._provide(config.provider)
        for role, model in config.roles.items():
            if name := own_provider(config, role):
                self._provide_own(name, model)
        return Gateway(
            config,
            self._providers,
            self._prices,
            clock=self._clock,
            on_wait=on_wait,
            lanes=self.lanes,
        )

    def _provide(self, name: str) -> None:
        if name in self._providers:
            return
        if name == "gemini":
            self._providers[name] = Gemini(
                self._config.gemini_api_key,
                base_url=self._config.gemini_base_url,
                api_version=self._config.gemini_api_version,
            )
        else:
            self._providers[name] = OfflineModel()

    def _provide_own(self, name: str, role: RoleModel) -> None:
        """A role's own endpoint or key; what it leaves open is the common one."""
        if name not in self._providers:
            own = role.gemini_api_key.get_secret_value()
            self._providers[name] = Gemini(
                role.gemini_api_key if own else self._config.gemini_api_key,
                base_url=role.gemini_base_url or self._config.gemini_base_url,
                api_version=self._config.gemini_api_version,
            )

    async def close(self) -> None:
        """Frees every client; never raises."""
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()


def build_model(config: ModelsConfig, clock: Clock, on_wait: OnWait, provider: str = "") -> Gateway:
    """A gateway of its own. A server uses one ModelHouse instead, so that lanes are shared."""
    return ModelHouse(config, clock).build(on_wait, provider)
