"""Model providers by role, with their tries. Satisfies `Model`.

Rule 1: an unset role means that the step runs without a model.
Rule 2: which faults are tried again, how often and when, stands only in `tries.py`: the SDKs' own tries are off.
Rule 3: what makes a provider of its kind stands only in `FACTORIES`; its modules are imported when it is first asked.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from gateway.providers.connection import problem_of
from protocol.errors import CallerError
from protocol.gateway import ProviderProblem, ProviderState, ProviderTestResult
from protocol.models import (
    Deltas,
    Message,
    ModelReply,
    ModelRequest,
    ProviderFailed,
    ProviderFault,
)
from protocol.seams.ports import Clock
from protocol.settings import GatewayConfig, ProviderConfig, ProviderKind, ProviderView, RoleName

OUTPUT_SHARE = 4
"""A fourth of a model's window is left for its answer, where no setting bounds the answer."""

TEST_QUESTION = "Answer with the one word: ready"

ROLES: tuple[RoleName, ...] = ("main", "preflight", "extractor")

PROBLEM_HINTS: Mapping[ProviderProblem, str] = {
    "extra_missing": "The provider's library is not installed: in the clone, "
    "`uv tool install '.[providers]'` or `pipx install --force '.[providers]'`.",
    "key_missing": "api_key_env must name an environment variable of this process that holds the key.",
    "model_missing": "Set model to the name of a model that the server has.",
    "base_url_invalid": "base_url must be an address that begins with http:// or https://.",
    "script_missing": "Set script to the file of the rules.",
}
FAULT_HINTS: Mapping[ProviderFault, str] = {
    "timeout": "The server did not answer within timeout_ms.",
    "http_500": "The server has a problem of its own; try again later.",
    "http_429": "The server asks for fewer requests; try again later.",
    "bad_json": "The server answered something that this kind of provider does not say: look at kind and base_url.",
    "disconnect": "The server cannot be reached or hung up: look at base_url, and whether it runs.",
    "not_configured": "The server does not know that address or model: look at base_url and model.",
    "auth": "The server does not take the key, or the account may not do this: look at the key's variable.",
    "rejected": "The server refuses the request: look at model, pictures, tools, context_tokens and max_output_tokens.",
}


class Provider(Protocol):
    """One configured provider."""

    async def attempt(self, request: ModelRequest, attempt: int, deltas: Deltas | None) -> ModelReply:
        """Return the answer of one try. Raises `ProviderFailed`."""
        ...


def _build_scripted(config: ProviderConfig, folder: Path, clock: Clock, _mark: Path | None) -> Provider:
    from gateway.providers.scripted import Recorder, Script, ScriptedModel  # noqa: PLC0415

    recorder = Recorder(folder / config.record, clock) if config.record is not None else None
    return ScriptedModel(Script(folder / (config.script or "")), recorder)


def _openai(config: ProviderConfig, _folder: Path, _clock: Clock, mark: Path | None) -> Provider:
    from gateway.providers.openai_chat import connect  # noqa: PLC0415
    from gateway.providers.vendor import VendorModel  # noqa: PLC0415

    return VendorModel(config, connect, mark)


def _anthropic(config: ProviderConfig, _folder: Path, _clock: Clock, mark: Path | None) -> Provider:
    from gateway.providers.anthropic_messages import connect  # noqa: PLC0415
    from gateway.providers.vendor import VendorModel  # noqa: PLC0415

    return VendorModel(config, connect, mark)


FACTORIES: Mapping[ProviderKind, Callable[[ProviderConfig, Path, Clock, Path | None], Provider]] = {
    "scripted": _build_scripted,
    "openai": _openai,
    "anthropic": _anthropic,
}


class _Forwarder:
    """Hands deltas on, and resets the receiver when a broken stream begins anew."""

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
        mark: Path | None = None,
    ) -> None:
        self._mark = mark
        self._config = config
        self._folder = folder
        self._views = views
        self._clock = clock
        self._made: dict[str, tuple[ProviderConfig, Provider]] = {}
        self._last_error: dict[str, ProviderFault] = {}

    def _name_for(self, role: RoleName) -> str | None:
        return getattr(self._config().roles, role)

    def is_configured(self, role: RoleName) -> bool:
        """Return whether a provider is set for the role."""
        name = self._name_for(role)
        return name is not None and name in self._config().providers

    def _settings_of(self, role: RoleName, provider: str | None) -> ProviderConfig | None:
        return self._config().providers.get(provider or self._name_for(role) or "")

    def calls_tools(self, role: RoleName, provider: str | None = None) -> bool:
        """Return whether that provider, or the role's, can call tools."""
        config = self._settings_of(role, provider)
        return config is not None and config.tools

    def takes_pictures(self, role: RoleName, provider: str | None = None) -> bool:
        """Return whether that provider, or the role's, takes pictures."""
        config = self._settings_of(role, provider)
        return config is not None and config.pictures

    def prompt_tokens(self, role: RoleName, provider: str | None = None) -> int | None:
        """Return the tokens that a request to that provider, or the role's, may have; None without a setting."""
        config = self._settings_of(role, provider)
        if config is None or config.context_tokens is None:
            return None
        return config.context_tokens - (config.max_output_tokens or config.context_tokens // OUTPUT_SHARE)

    def window_tokens(self, role: RoleName, provider: str | None = None) -> int | None:
        """Return the tokens that the model of that provider, or the role's, takes in all; None without a setting."""
        config = self._settings_of(role, provider)
        return config.context_tokens if config is not None else None

    def _provider(self, name: str, model: str | None = None) -> Provider:
        config = self._config().providers.get(name)
        if config is None or problem_of(config, model) is not None:
            raise ProviderFailed("not_configured")
        known = self._made.get(name)
        if known is None or known[0] != config:
            made = FACTORIES[config.kind](config, self._folder, self._clock, self._mark)
            known = self._made[name] = (config, made)
        return known[1]

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        """Return the answer of the role's provider, after at most three tries. Raises `ProviderFailed`."""
        from gateway.providers.tries import tries  # noqa: PLC0415  # a process that asks no model never needs it

        name = request.provider or self._name_for(request.role)
        if name is None:
            raise ProviderFailed("not_configured")
        provider, receiver = self._provider(name, request.model), _Forwarder(deltas)
        try:
            async for attempt in tries():
                with attempt:
                    number = attempt.retry_state.attempt_number
                    if number > 1:
                        receiver.reset()
                    reply = await provider.attempt(request, number, receiver)
                    self._last_error.pop(name, None)
                    return reply
        except ProviderFailed as error:
            self._last_error[name] = error.fault
            raise
        raise ProviderFailed("disconnect")

    async def test(self, name: str) -> ProviderTestResult:
        """Ask the provider once and return the outcome, which `states` shows from then on."""
        config = self._config().providers.get(name)
        if config is None:
            raise CallerError.missing("provider")
        request = ModelRequest(
            role="main", thread_id="", turn_id="", messages=[Message(role="user", content=TEST_QUESTION)], provider=name
        )
        began = time.monotonic()
        try:
            await self._provider(name).attempt(request, 1, None)
        except ProviderFailed as failed:
            self._last_error[name] = failed.fault
        else:
            self._last_error.pop(name, None)
        fault, problem = self._last_error.get(name), problem_of(config)
        return ProviderTestResult(
            ok=fault is None,
            latency_ms=int((time.monotonic() - began) * 1000),
            error=fault,
            hint=_hint(problem, fault),
        )

    def states(self) -> list[ProviderState]:
        """Return every configured provider as `gateway/status` and `provider/list` show it."""
        roles = {role: self._name_for(role) for role in ROLES}
        problems: dict[str, ProviderProblem | None] = {
            name: problem_of(config) for name, config in self._config().providers.items()
        }
        return [
            ProviderState(
                name=name,
                kind=view.kind,
                model=view.model,
                has_key=view.has_key,
                roles=[role for role, used in roles.items() if used == name],
                last_error=self._last_error.get(name),
                problem=problems.get(name),
                hint=_hint(problems.get(name), self._last_error.get(name)),
            )
            for name, view in self._views().items()
        ]


def _hint(problem: ProviderProblem | None, fault: ProviderFault | None) -> str | None:
    """Return advice about the provider's problem, else about its last fault; None without either."""
    if problem is not None:
        return PROBLEM_HINTS[problem]
    return FAULT_HINTS[fault] if fault is not None else None
