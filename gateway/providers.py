"""Model providers by role, with their tries. Satisfies `Model`.

Rule 1: an unset role means that the step runs without a model.
Rule 2: which faults are tried again, and how often, stands only in `TRIES`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from gateway.scripted import Recorder, Script, ScriptedModel
from protocol.gateway import ProviderState
from protocol.models import Deltas, Model, ModelReply, ModelRequest, ProviderFailed, ProviderFault
from protocol.ports import Clock
from protocol.settings import GatewayConfig, ProviderConfig, ProviderView, RoleName

TRIES: Mapping[ProviderFault, int] = {
    "timeout": 3, "disconnect": 3, "http_429": 3, "http_500": 3, "bad_json": 1, "not_configured": 1, "auth": 1,
}  # fmt: skip
FIRST_WAIT_SECONDS = 0.05  # a broken connection is often whole again at once
MAX_WAIT_SECONDS = 2.0  # a person waits for the answer

ROLES: tuple[RoleName, ...] = ("main", "preflight", "extractor")


def _is_tried_again(error: BaseException) -> bool:
    return isinstance(error, ProviderFailed) and TRIES[error.fault] > 1


class _Forwarder:
    """Hands deltas on, and tells the receiver when a broken stream begins anew."""

    def __init__(self, receiver: Deltas | None) -> None:
        self._receiver = receiver

    def delta(self, text: str) -> None:
        if self._receiver is not None:
            self._receiver.delta(text)

    def reset(self) -> None:
        if self._receiver is not None:
            self._receiver.reset()


class Providers:
    """The configured providers."""

    def __init__(
        self,
        *,
        config: Callable[[], GatewayConfig],
        folder: Path,
        views: Callable[[], Mapping[str, ProviderView]],
        clock: Clock,
    ) -> None:
        self._config = config
        self._folder = folder
        self._views = views
        self._clock = clock
        self._made: dict[str, tuple[ProviderConfig, ScriptedModel]] = {}
        self._last_error: dict[str, str] = {}

    def _name_for(self, role: RoleName) -> str | None:
        return getattr(self._config().roles, role)

    def is_configured(self, role: RoleName) -> bool:
        """Whether a provider is set for the role."""
        name = self._name_for(role)
        return name is not None and name in self._config().providers

    def calls_tools(self, role: RoleName) -> bool:
        """Whether that provider can call tools; every kind there is can."""
        return self.is_configured(role)

    def takes_pictures(self, role: RoleName, provider: str | None = None) -> bool:
        """Whether that provider, or the role's, takes pictures."""
        config = self._config().providers.get(provider or self._name_for(role) or "")
        return config is not None and config.pictures

    def _model(self, name: str) -> ScriptedModel:
        config = self._config().providers.get(name)
        if config is None or config.kind != "scripted" or config.script is None:
            raise ProviderFailed("not_configured")
        known = self._made.get(name)
        if known is None or known[0] != config:
            recorder = Recorder(self._folder / config.record, self._clock) if config.record is not None else None
            known = self._made[name] = (config, ScriptedModel(Script(self._folder / config.script), recorder))
        return known[1]

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        """The answer of the role's provider, after at most three tries. Raises `ProviderFailed`."""
        from tenacity import (  # noqa: PLC0415  # a process that asks no model never needs it
            AsyncRetrying,
            retry_if_exception,
            stop_after_attempt,
            wait_exponential,
            wait_random,
        )

        name = request.provider or self._name_for(request.role)
        if name is None:
            raise ProviderFailed("not_configured")
        model, receiver = self._model(name), _Forwarder(deltas)
        tries = AsyncRetrying(
            retry=retry_if_exception(_is_tried_again),
            stop=stop_after_attempt(max(TRIES.values())),
            wait=wait_exponential(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS)
            + wait_random(0, FIRST_WAIT_SECONDS),
            reraise=True,
        )
        try:
            async for attempt in tries:
                with attempt:
                    number = attempt.retry_state.attempt_number
                    if number > 1:
                        receiver.reset()
                    reply = await model.attempt(request, number, receiver)
                    self._last_error.pop(name, None)
                    return reply
        except ProviderFailed as error:
            self._last_error[name] = error.fault
            raise
        raise ProviderFailed("disconnect")

    def states(self) -> list[ProviderState]:
        """Every configured provider as `gateway/status` shows it."""
        roles = {role: self._name_for(role) for role in ROLES}
        return [
            ProviderState(
                name=name,
                kind=view.kind,
                model=view.model,
                has_key=view.has_key,
                roles=[role for role, used in roles.items() if used == name],
                last_error=self._last_error.get(name),
            )
            for name, view in self._views().items()
        ]


def as_model(providers: Providers) -> Model:
    """The providers as the port that other houses know; a type checker holds the shapes together here."""
    return providers
