"""Every setting of `[gateway.*]` with its default and bounds, and the patch that changes them.

Rule 1: a key that is not here does not exist; a default stands only here.
Rule 2: relations between keys are checked in one function, at load and at update alike.
"""

import math
import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from pioneer_client.protocol.base import ID_TEXT, Id, Params, Unit, Wire, matching

AgentNotes: TypeAlias = Literal["off", "doors", "all"]
Aging: TypeAlias = Literal["reinforced", "literal", "off"]
"""The beginning of a record's lifetime: its last reinforcement; its last change, with a sinking tier; none."""
RoleName: TypeAlias = Literal["main", "preflight", "extractor"]
ProviderKind: TypeAlias = Literal["openai", "anthropic", "scripted"]
Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=86_400)]
Dialect: TypeAlias = Literal["openai", "anthropic"]
Placing: TypeAlias = Literal["split", "user", "system"]
Learn: TypeAlias = Literal["known_clients", "all", "none"]
ProxyMode: TypeAlias = Literal["normal", "read_only", "ignored"]
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:\[\]]+)(:[0-9]{1,5})?"
HOST_TEXT = _HOST
ORIGIN_TEXT = rf"[A-Za-z][A-Za-z0-9+.-]*://{_HOST}/?"
BASE_URL_TEXT = rf"https?://{_HOST}(/[^\s?#]*)?"
BIND_TEXT = r"(localhost|\[?[0-9A-Fa-f.:]+(%[A-Za-z0-9._-]+)?\]?)"
_Short: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
Bind: TypeAlias = Annotated[_Short, matching(BIND_TEXT, "An address of this machine, such as 127.0.0.1.")]
HttpHost: TypeAlias = Annotated[_Short, matching(HOST_TEXT, "A host's name or address, with or without a port.")]
HttpOrigin: TypeAlias = Annotated[_Short, matching(ORIGIN_TEXT, "The origin of a page, such as https://app.example.")]
HttpHosts: TypeAlias = Annotated[list[HttpHost], Meta(max_length=100)]
HttpOrigins: TypeAlias = Annotated[list[HttpOrigin], Meta(max_length=100)]
BaseUrl: TypeAlias = Annotated[
    str,
    Meta(max_length=4096),
    matching(BASE_URL_TEXT, "An address of http:// or https://, without credentials and query."),
]

MIB = 1024 * 1024


class MemorySettings(Params):
    """`[gateway.memory]`."""

    enabled: bool = True
    capsules_dir: Annotated[str, Meta(min_length=1, max_length=255)] = "memory/capsules"
    allow_global_user_by_default: bool = True
    allow_global_agent_by_default: bool = False
    deterministic_recall_enabled: bool = True
    active_recall_enabled: bool = True
    tools_enabled: bool = True
    agent_notes: AgentNotes = "doors"
    proactive_writes_enabled: bool = True
    background_extraction_enabled: bool = True
    debug_trace_enabled: bool = False
    strict_diagnostics_enabled: bool = False
    review_enabled: bool = False
    retention_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    standing_chars: Annotated[int, Meta(ge=0, le=8000)] = 1200
    aging: Aging = "reinforced"
    archive_days: Annotated[int, Meta(ge=90, le=3650)] = 90
    cap_inbox: Annotated[int, Meta(ge=0, le=1_000_000)] = 300
    cap_knowledge: Annotated[int, Meta(ge=0, le=1_000_000)] = 1000
    cap_events: Annotated[int, Meta(ge=0, le=1_000_000)] = 500
    cap_procedures: Annotated[int, Meta(ge=0, le=1_000_000)] = 200


class PassSettings(Params):
    """`[gateway.passes]`: scheduled maintenance."""

    enabled: bool = True
    dream: bool = False
    consolidate_hours: Annotated[int, Meta(ge=1, le=168)] = 6
    night_hour: Annotated[int, Meta(ge=0, le=23)] = 3


class ThreadEpisodicSettings(Params):
    """`[gateway.thread_episodic]`."""

    enabled: bool = True
    indexing_enabled: bool = True
    recall_enabled: bool = True
    default_prompt_chars: Annotated[int, Meta(ge=100, le=100_000)] = 2400
    max_prompt_chars: Annotated[int, Meta(ge=100, le=1_000_000)] = 12_000
    max_hit_chars: Annotated[int, Meta(ge=50, le=100_000)] = 1200
    default_max_candidates: Annotated[int, Meta(ge=1, le=1000)] = 32
    max_candidate_work: Annotated[int, Meta(ge=1, le=10_000)] = 128
    max_segments: Annotated[int, Meta(ge=1, le=1000)] = 16
    min_relevancy: Unit = 0.25
    min_results: Annotated[int, Meta(ge=0, le=100)] = 1
    snippet_chars: Annotated[int, Meta(ge=20, le=10_000)] = 360
    chunk_target_min_chars: Annotated[int, Meta(ge=50, le=100_000)] = 700
    chunk_target_max_chars: Annotated[int, Meta(ge=50, le=100_000)] = 1200
    chunk_max_chars: Annotated[int, Meta(ge=100, le=100_000)] = 1600
    max_chunks_per_item: Annotated[int, Meta(ge=1, le=10_000)] = 64
    index_batch_limit: Annotated[int, Meta(ge=1, le=1000)] = 64
    segment_capacity_chunks: Annotated[int, Meta(ge=16, le=10_000_000)] = 50_000
    retry_base_delay_secs: Seconds = 30
    retry_max_delay_secs: Seconds = 900
    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 5
    near_capacity_percent: Annotated[float, Meta(ge=1, le=100)] = 90.0


class KnowledgeSettings(Params):
    """`[gateway.knowledge]`."""

    enabled: bool = True
    indexing_enabled: bool = True
    recall_enabled: bool = True
    tools_enabled: bool = True
    watch_enabled: bool = True
    debounce_ms: Annotated[int, Meta(ge=100, le=60_000)] = 1000
    scan_minutes: Annotated[int, Meta(ge=1, le=1440)] = 10
    deep_scan_hours: Annotated[int, Meta(ge=1, le=168)] = 6
    max_files: Annotated[int, Meta(ge=1, le=1_000_000)] = 100_000
    max_file_bytes: Annotated[int, Meta(ge=1, le=64 * MIB)] = 2 * MIB
    max_pdf_bytes: Annotated[int, Meta(ge=1, le=256 * MIB)] = 50 * MIB
    max_pdf_pages: Annotated[int, Meta(ge=1, le=10_000)] = 500
    max_chunks_per_file: Annotated[int, Meta(ge=1, le=100_000)] = 2000
    cache_days: Annotated[int, Meta(ge=0, le=365)] = 30
    prompt_chars: Annotated[int, Meta(ge=0, le=12_000)] = 2400
    prompt_hits: Annotated[int, Meta(ge=0, le=16)] = 4
    max_hit_chars: Annotated[int, Meta(ge=50, le=4000)] = 700
    min_relevancy: Unit = 0.35


class EmbeddingSettings(Params):
    """`[gateway.embedding]`."""

    enabled: bool = True
    model: Annotated[str, Meta(min_length=1, max_length=256)] = "sentence-transformers/all-MiniLM-L6-v2"
    model_path: Annotated[str, Meta(max_length=4096)] | None = None
    cache_dir: Annotated[str, Meta(max_length=4096)] | None = None
    allow_download: bool = False
    embedded_default: bool = True
    """The static model that comes with the package is used while the configured one is not there."""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1


class PreflightSettings(Params):
    """`[gateway.preflight]`."""

    enabled: bool = True
    timeout_ms: Annotated[int, Meta(ge=50, le=60_000)] = 3000


class RecallFloors(Params):
    """The least value of each part of a hit's score for a prompt; a part without a floor or a value passes."""

    lexical: Unit | None = None
    semantic: Unit | None = None
    total: Unit | None = None


class RecallDeadlines(Params):
    """Milliseconds after which present results are taken: a turn's facts, its hook's look back, a read over MCP."""

    turn: Annotated[int, Meta(ge=10, le=60_000)] = 1000
    hook: Annotated[int, Meta(ge=10, le=60_000)] = 800
    mcp: Annotated[int, Meta(ge=10, le=60_000)] = 5000


class RecallSettings(Params):
    """`[gateway.recall]`: what a turn is given of durable memory.

    Tokens are those of a scope, whatever the others leave.
    """

    workspace_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 800
    user_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 400
    other_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 200
    items: Annotated[int, Meta(ge=0, le=100)] = 8
    cache_seconds: Annotated[int, Meta(ge=0, le=600)] = 60
    query_chars: Annotated[int, Meta(ge=16, le=4096)] = 800
    floors: RecallFloors = field(default_factory=RecallFloors)
    deadline_ms: RecallDeadlines = field(default_factory=RecallDeadlines)


class AgentSettings(Params):
    """`[gateway.agent]`."""

    max_rounds: Annotated[int, Meta(ge=1, le=64)] = 8
    history_turns_min: Annotated[int, Meta(ge=0, le=100)] = 6
    context_chars: Annotated[int, Meta(ge=1000, le=10_000_000)] = 24_000
    system_prompt: Annotated[str, Meta(max_length=100_000)] | None = None


class InstructionSettings(Params):
    """`[gateway.instructions]`: instruction files of a project, such as AGENTS.md."""

    enabled: bool = True
    max_chars: Annotated[int, Meta(ge=0, le=262_144)] = 32_768
    include_depth: Annotated[int, Meta(ge=0, le=10)] = 5


class AgentFileSettings(Params):
    """`[gateway.agents]`: agent definitions."""

    folder: Annotated[str, Meta(max_length=4096)] | None = None
    agents_chars: Annotated[int, Meta(ge=0, le=262_144)] = 16_000
    soul_chars: Annotated[int, Meta(ge=0, le=262_144)] = 4000
    memory_chars: Annotated[int, Meta(ge=0, le=262_144)] = 8000


class ArtifactSettings(Params):
    """`[gateway.artifacts]`."""

    max_bytes: Annotated[int, Meta(ge=1, le=1024 * MIB)] = 50 * MIB
    max_inline_bytes: Annotated[int, Meta(ge=1, le=64 * MIB)] = 5 * MIB


class RoleSettings(Params):
    """`[gateway.roles]`: which provider answers in which role; an unset role means the step runs without a model."""

    main: str | None = None
    preflight: str | None = None
    extractor: str | None = None
    enricher: str | None = None
    agents: dict[str, str] = field(default_factory=dict[str, str])


class ProviderConfig(Params):
    """`[gateway.providers.<name>]` as the file has it. A key itself is never in the file, only its variable's name.

    `timeout_ms` bounds the wait for the beginning of an answer and for each next piece of it, not the whole answer.
    `context_tokens` is what the model takes in all; without it only `gateway.agent.context_chars` bounds a request.
    """

    kind: ProviderKind
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    script: str | None = None
    record: str | None = None
    pictures: bool = False
    tools: bool = True
    timeout_ms: Annotated[int, Meta(ge=100, le=3_600_000)] = 120_000
    context_tokens: Annotated[int, Meta(ge=1000, le=100_000_000)] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class ProviderView(Wire):
    """A provider as the wire shows it."""

    kind: ProviderKind
    model: str | None
    base_url: str | None
    has_key: bool


class McpSettings(Params):
    """`[gateway.mcp]`: the door of `pioneer mcp`."""

    workspace_id: Id | None = None


class HttpSettings(Params):
    """`[gateway.http]`: the door of `pioneer http` and `serve --http`."""

    port: Annotated[int, Meta(ge=0, le=65_535)] = 42_069
    bind: Bind = "127.0.0.1"
    allow_remote: bool = False
    allowed_hosts: HttpHosts = []
    allowed_origins: HttpOrigins = []
    max_body_bytes: Annotated[int, Meta(ge=64 * 1024, le=64 * MIB)] = 8 * MIB
    request_seconds: Annotated[int, Meta(ge=1, le=300)] = 30
    requests_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 100
    max_streams: Annotated[int, Meta(ge=1, le=256)] = 16
    session_hours: Annotated[int, Meta(ge=1, le=72)] = 12
    ingest_learns: bool = True


class UpstreamSettings(Params):
    """`[gateway.proxy.upstreams.NAME]`: a model's address. A key itself is never in the file."""

    dialect: Dialect
    base_url: BaseUrl
    api_key_env: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    connect_timeout_ms: Annotated[int, Meta(ge=10, le=600_000)] = 10_000
    idle_timeout_ms: Annotated[int, Meta(ge=10, le=3_600_000)] = 600_000
    default: bool = False


class ProxySettings(Params):
    """`[gateway.proxy]`: the chat proxy of `pioneer proxy`."""

    port: Annotated[int, Meta(ge=0, le=65_535)] = 4040
    bind: Bind = "127.0.0.1"
    allow_remote: bool = False
    allowed_hosts: HttpHosts = []
    request_seconds: Annotated[int, Meta(ge=1, le=300)] = 30
    recall_deadline_ms: Annotated[int, Meta(ge=0, le=5000)] = 250
    placement: Placing = "split"
    learn: Learn = "known_clients"
    replay_chars: Annotated[int, Meta(ge=0, le=200_000)] = 24_000
    memory_mode: ProxyMode = "normal"
    drain_seconds: Annotated[int, Meta(ge=0, le=600)] = 30
    response_headers: bool = True
    upstreams: dict[str, UpstreamSettings] = field(default_factory=dict[str, UpstreamSettings])


class LimitSettings(Params):
    """`[gateway.limits]`."""

    max_message_bytes: Annotated[int, Meta(ge=1024, le=64 * MIB)] = 8 * MIB
    max_in_flight: Annotated[int, Meta(ge=1, le=1024)] = 64


class GatewayConfig(Params):
    """`[gateway]` of config.toml."""

    memory: MemorySettings = field(default_factory=MemorySettings)
    thread_episodic: ThreadEpisodicSettings = field(default_factory=ThreadEpisodicSettings)
    knowledge: KnowledgeSettings = field(default_factory=KnowledgeSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    preflight: PreflightSettings = field(default_factory=PreflightSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    passes: PassSettings = field(default_factory=PassSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    instructions: InstructionSettings = field(default_factory=InstructionSettings)
    agents: AgentFileSettings = field(default_factory=AgentFileSettings)
    artifacts: ArtifactSettings = field(default_factory=ArtifactSettings)
    roles: RoleSettings = field(default_factory=RoleSettings)
    providers: dict[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    limits: LimitSettings = field(default_factory=LimitSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)


class Settings(Wire):
    """The settings as `settings/get` shows them."""

    memory: MemorySettings
    thread_episodic: ThreadEpisodicSettings
    knowledge: KnowledgeSettings
    embedding: EmbeddingSettings
    preflight: PreflightSettings
    recall: RecallSettings
    passes: PassSettings
    agent: AgentSettings
    instructions: InstructionSettings
    agents: AgentFileSettings
    artifacts: ArtifactSettings
    roles: RoleSettings
    providers: dict[str, ProviderView]
    limits: LimitSettings
    mcp: McpSettings
    http: HttpSettings
    proxy: ProxySettings


def _struct_of(name: str, about: str, members: dict[str, Any]) -> Any:
    """Return a Params type whose members are all optional; `msgspec.defstruct` knows no metaclass but its own."""
    namespace: dict[str, Any] = dict.fromkeys(members, UNSET)
    namespace |= {"__annotations__": members, "__doc__": about, "__module__": __name__, "__qualname__": name}
    make: Any = type(Params)
    return make(name, (Params,), namespace)


def _patch_of(group: type[msgspec.Struct]) -> Any:
    """Return the same members, each optional; null asks for the default."""
    members = {info.name: info.type | None | UnsetType for info in msgspec.structs.fields(group)}
    return _struct_of(group.__name__.replace("Settings", "Patch"), f"A partial change of {group.__doc__}", members)


_GROUPS: dict[str, type[msgspec.Struct]] = {
    "memory": MemorySettings,
    "thread_episodic": ThreadEpisodicSettings,
    "knowledge": KnowledgeSettings,
    "embedding": EmbeddingSettings,
    "preflight": PreflightSettings,
    "recall": RecallSettings,
    "passes": PassSettings,
    "agent": AgentSettings,
    "instructions": InstructionSettings,
    "agents": AgentFileSettings,
    "artifacts": ArtifactSettings,
    "roles": RoleSettings,
}
PATCHABLE: tuple[str, ...] = tuple(_GROUPS)
"""The groups that `settings/update` takes: all but providers, limits and what is read once, at a start."""

SettingsPatch = _struct_of(
    "SettingsPatch",
    "A partial change of the settings; absent members stay, null resets to the default.",
    {name: _patch_of(group) | UnsetType for name, group in _GROUPS.items()},
)


class SettingsUpdateParams(Params):
    """`settings/update`."""

    update: SettingsPatch  # pyright: ignore[reportInvalidTypeForm]  # made from the settings above, so it cannot lag


class SettingsGetParams(Params):
    """`settings/get`."""

    origins: bool = False


Origin: TypeAlias = Literal["environment", "file", "default"]
"""The origin of a value, strongest first."""


class SettingsResult(Wire):
    """The settings in force; with `origins`, where each value comes from, by dotted key (a provider is one entry)."""

    settings: Settings
    origins: dict[str, Origin] | None = None


def contradiction(config: GatewayConfig) -> tuple[str, str] | None:
    """Return the first pair of keys that cannot both hold: (path, problem), or None."""
    episodic = config.thread_episodic
    ordered = (
        ("chunk_target_min_chars", "chunk_target_max_chars"),
        ("chunk_target_max_chars", "chunk_max_chars"),
        ("default_prompt_chars", "max_prompt_chars"),
        ("default_max_candidates", "max_candidate_work"),
        ("retry_base_delay_secs", "retry_max_delay_secs"),
        ("snippet_chars", "max_hit_chars"),
    )
    for low, high in ordered:
        if getattr(episodic, low) > getattr(episodic, high):
            return f"thread_episodic.{low}", f"must not be greater than {high}"
    if config.artifacts.max_inline_bytes > config.artifacts.max_bytes:
        return "artifacts.max_inline_bytes", "must not be greater than max_bytes"
    for role in ("main", "preflight", "extractor", "enricher"):
        name = getattr(config.roles, role)
        if name is not None and name not in config.providers:
            return f"roles.{role}", "names no provider of [gateway.providers]"
    for role, name in config.roles.agents.items():
        if name not in config.providers:
            return f"roles.agents.{role}", "names no provider of [gateway.providers]"
    for name, provider in config.providers.items():
        if (provider.max_output_tokens or 0) >= (provider.context_tokens or math.inf):
            return f"providers.{name}.max_output_tokens", "must be less than context_tokens"
    return _find_wrong_upstream(config.proxy)


def _find_wrong_upstream(proxy: ProxySettings) -> tuple[str, str] | None:
    """Return the first upstream that cannot hold: (path, problem), or None."""
    for name, one in proxy.upstreams.items():
        if not re.fullmatch(ID_TEXT, name):
            return f"proxy.upstreams.{name}", "its name stands in addresses: letters, digits and _ . : - alone"
        if one.dialect == "anthropic" and one.base_url.rstrip("/").endswith("/v1"):
            return f"proxy.upstreams.{name}.base_url", "of Anthropic's dialect it does not end in /v1"
    for dialect in ("openai", "anthropic"):
        defaults = [name for name, one in proxy.upstreams.items() if one.dialect == dialect and one.default]
        if len(defaults) > 1:
            return f"proxy.upstreams.{defaults[1]}.default", "another upstream of that dialect is the default"
    return None


def apply_patch(config: GatewayConfig, update: msgspec.Struct) -> GatewayConfig:
    """Return the settings with a patch applied; null members take their default again."""
    changes: dict[str, Any] = {}
    for group_name in PATCHABLE:
        patch = getattr(update, group_name)
        if patch is UNSET:
            continue
        group = getattr(config, group_name)
        defaults = type(group)()
        members = {
            name: getattr(defaults, name) if value is None else value
            for name in patch.__struct_fields__
            if (value := getattr(patch, name)) is not UNSET
        }
        changes[group_name] = msgspec.structs.replace(group, **members)
    return msgspec.structs.replace(config, **changes)
