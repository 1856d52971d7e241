// Generated from `protocol/` by `pioneer schemas`; changes are made there.

export const PROTOCOL_VERSION = "2026-11";

/** Methods that only read: a call that got no answer may be made again. */
export const SAFE_TO_REPEAT: ReadonlySet<string> = new Set<MethodName>([
  "ping",
  "gateway/status",
  "settings/get",
  "workspace/list",
  "workspace/get",
  "thread/get",
  "thread/list",
  "thread/history",
  "turn/get",
  "turn/items",
  "artifact/list",
  "artifact/get",
  "instructions/preview",
  "instructions/versions",
  "agents/list",
  "agents/get",
  "memory/search",
  "memory/get",
  "memory/list",
  "memory/similar",
  "memory/links",
  "memory/history",
  "memory/changes",
  "memory/candidates/list",
  "memory/candidates/get",
  "memory/explain",
  "memory/stats",
  "memory/export",
  "thread_episodic/search",
  "thread_episodic/status",
  "thread_episodic/jobs",
  "knowledge/collections/list",
  "knowledge/collections/get",
  "knowledge/search",
  "knowledge/read",
  "knowledge/entities",
  "knowledge/edges",
  "knowledge/files",
  "knowledge/status",
  "knowledge/explain",
  "knowledge/changes",
  "knowledge/versions",
  "hooks/list",
  "hooks/runs",
  "provider/list",
  "passes/list",
  "passes/runs",
  "passes/get",
  "passes/review",
]);

export type Action = "activate" | "candidate" | "merge" | "reject" | "supersede" | "suppress";

export type ActorKind = "assistant" | "extractor" | "import" | "system" | "tool" | "user";

export type AgentKind = "assistant" | "system" | "tool";

export type AgentLayer = "built_in" | "vault";

export type AgentNotes = "all" | "doors" | "off";

export type AgentPart = "agents" | "memory" | "soul";

export type AgentProblemCause =
  | "anchor"
  | "double_key"
  | "key_not_text"
  | "no_table"
  | "second_document"
  | "syntax"
  | "tag"
  | "too_deep"
  | "too_large"
  | "too_long"
  | "wrong_value";

export type AgentProblemCode =
  | "bad_slug"
  | "config_invalid"
  | "empty"
  | "ignored_key"
  | "ignored_value"
  | "link"
  | "missing"
  | "not_regular"
  | "not_text"
  | "too_large"
  | "unknown_role"
  | "unreadable"
  | "wrong_case";

export type Aging = "literal" | "off" | "reinforced";

export type ArtifactKind = "audio" | "data" | "document" | "image" | "other" | "video";

export type AwaitPolicy = "background" | "deadline";

export type BoundaryKind = "cwd" | "git" | "workspace";

export type Bucket = "high" | "low" | "middle";

export type CandidateStatus = "approved" | "expired" | "merged" | "pending" | "rejected" | "suppressed";

export type Cardinality = "set" | "single";

export type Category =
  | "biography"
  | "communication_style"
  | "constraint"
  | "custom"
  | "identity"
  | "preference"
  | "procedure"
  | "project_decision"
  | "project_fact"
  | "project_policy"
  | "recurring_instruction"
  | "relationship"
  | "todo";

export type Certainty = "high" | "low" | "medium";

export type ChangeEvent =
  | "archived"
  | "changed"
  | "erased"
  | "expired"
  | "forgotten"
  | "learned"
  | "proposed"
  | "replaced"
  | "restored";

export type ChangeKind = "archived" | "created" | "deleted" | "expired" | "restored" | "superseded" | "updated";

export type CollectionScope = "user" | "workspace";

export type CollectionState = "live" | "new" | "over_limit" | "polling" | "scanning" | "unavailable";

export type ConflictReason =
  | "different_record"
  | "forgotten_there"
  | "key_taken"
  | "newer_there"
  | "own_context_block"
  | "path_taken"
  | "scope_out_of_context"
  | "secret_detected";

export type DiagnosticCode =
  | "below_floor"
  | "budget_too_small"
  | "disabled"
  | "index_pending"
  | "no_match"
  | "partial_item"
  | "query_too_vague"
  | "recall_disabled"
  | "segments_limited"
  | "semantic_off";

export type Dialect = "anthropic" | "openai";

export type Disposition =
  | "accept_active"
  | "create_pending_candidate"
  | "reject_suppressed"
  | "route_to_candidate_policy";

export type Domain = "agent" | "artifact" | "knowledge" | "memory" | "thread";

export type DoorName = "command_line" | "hook" | "http" | "ingest" | "inspect" | "mcp" | "proxy" | "stdio";

export type Driver = "gateway" | "host";

export type Durability = "long_lived" | "project_lifetime" | "session_only" | "transient" | "unknown";

export type EdgeOrigin = "explicit" | "inferred";

export type EntityType = "organization" | "person" | "place" | "project" | "system" | "thing";

export type ErrorReason =
  | "agent_invalid"
  | "already_decided"
  | "already_initialized"
  | "cancelled"
  | "checksum_mismatch"
  | "conflict"
  | "forbidden"
  | "home_locked"
  | "idempotency_mismatch"
  | "internal"
  | "invalid_params"
  | "invalid_request"
  | "knowledge_disabled"
  | "memory_disabled"
  | "memory_ignored"
  | "memory_write_disabled"
  | "message_too_large"
  | "method_not_found"
  | "not_found"
  | "not_initialized"
  | "overlapping_collection"
  | "overloaded"
  | "parse_error"
  | "pass_running"
  | "path_taken"
  | "provider_failed"
  | "provider_not_configured"
  | "provider_rate_limited"
  | "provider_timeout"
  | "provider_unauthorized"
  | "provider_unavailable"
  | "schema_too_new"
  | "scope_out_of_context"
  | "shutting_down"
  | "storage_full"
  | "storage_read_only"
  | "turn_in_progress"
  | "unavailable"
  | "unsafe_root"
  | "version_too_new"
  | "write_refused";

export type EventName =
  | "archived"
  | "confirmed"
  | "contested"
  | "created"
  | "deleted"
  | "erased"
  | "evidence_added"
  | "expired"
  | "imported"
  | "promoted"
  | "reinforced"
  | "restored"
  | "superseded"
  | "uncontested"
  | "updated";

export type Explicitness = "explicit" | "implicit" | "unclear";

export type FailurePolicy = "best_effort" | "required" | "skip";

export type FileEvent =
  | "added"
  | "baseline"
  | "changed"
  | "collection_added"
  | "collection_removed"
  | "ignored"
  | "moved"
  | "removed";

export type FileKind = "code" | "markdown" | "pdf" | "text";

export type FileState = "failed" | "indexed" | "partial" | "pending" | "skipped";

export type FinishStatus = "failed" | "interrupted" | "provider_failure" | "succeeded";

export type ForgottenPlace =
  | "agent"
  | "answer"
  | "artifact"
  | "backup"
  | "candidate"
  | "config"
  | "decision"
  | "earlier_value"
  | "evidence"
  | "exclusion"
  | "hook_run"
  | "instruction"
  | "log"
  | "memory"
  | "message"
  | "shown_line"
  | "thread"
  | "tool_reply"
  | "turn"
  | "workspace";

export type GateName =
  | "admission"
  | "already_shown"
  | "budget"
  | "candidate"
  | "duplicate"
  | "eligibility"
  | "excluded"
  | "expiry"
  | "extraction_enabled"
  | "extractor"
  | "fact_valid"
  | "floor"
  | "instruction"
  | "integrity"
  | "memory_enabled"
  | "own_words"
  | "policy"
  | "quote"
  | "recall_enabled"
  | "scope"
  | "scope_active"
  | "secret"
  | "sensitivity"
  | "status"
  | "turn_succeeded"
  | "voice";

export type IndexState = "indexed" | "pending" | "repair_needed";

export type IndexedRole = "assistant" | "tool" | "user";

export type InstructionFiles = "auto" | "off";

export type InstructionKind = "include" | "nested" | "root";

export type InstructionMode = "off" | "on";

export type InstructionProblem =
  | "absolute"
  | "binary"
  | "cycle"
  | "empty"
  | "home"
  | "in_code"
  | "link"
  | "missing"
  | "not_utf8"
  | "outside"
  | "repeated"
  | "secret_file"
  | "too_deep"
  | "too_large"
  | "too_many"
  | "unreadable";

export type InstructionProfile = "claude" | "codex" | "default" | "gemini" | "qwen";

export type Intent = "explicit_forget" | "explicit_no_memory" | "explicit_store" | "implicit_candidate";

export type ItemKind = "agent_message" | "system_event" | "tool_call" | "tool_result" | "user_message";

export type ItemStatus = "completed" | "failed" | "in_progress" | "interrupted";

export type JobStatus = "cancelled" | "dead" | "done" | "leased" | "queued" | "retry_wait";

export type Kind = "episodic" | "observation" | "procedural" | "semantic" | "session_summary";

export type Learn = "all" | "known_clients" | "none";

export type LeftReason =
  | "another_memory"
  | "common_word"
  | "file_content"
  | "identifier"
  | "log_line"
  | "may_hold_it"
  | "own_file"
  | "restorable"
  | "sources_kept"
  | "still_written"
  | "unreadable";

export type MeaningMode = "all" | "documents" | "off";

export type MemoryMode = "ignored" | "normal" | "read_only";

export type Mode = "agent" | "chat";

export type NotStored = "storage_full" | "storage_read_only";

export type NoteStatus = "duplicate" | "noted" | "rejected";

export type Order = "created_at" | "importance" | "strength" | "updated_at";

export type PassName = "consolidate" | "dream";

export type Phase =
  | "TurnPostPreflightPromptContext"
  | "TurnPostTurn"
  | "TurnPrePolicy"
  | "TurnPrePromptCompile"
  | "TurnPrePromptContext"
  | "TurnPreToolMaterialization";

export type Placement = "before_user" | "system_suffix";

export type Placing = "split" | "system" | "user";

export type ProviderKind = "anthropic" | "openai" | "scripted";

export type ProviderProblem = "base_url_invalid" | "extra_missing" | "key_missing" | "model_missing" | "script_missing";

export type ReadState = "changed" | "gone" | "moved" | "same";

export type ReasonCode =
  | "active_created"
  | "agent_note_created"
  | "agent_notes_disabled"
  | "assistant_inference"
  | "beyond_quote"
  | "candidate_created"
  | "contradiction_candidate"
  | "contradiction_resolved"
  | "duplicate_active"
  | "duplicate_candidate"
  | "generated_summary"
  | "invalid_scope"
  | "low_score"
  | "made_more_precise"
  | "malformed_fact"
  | "memory_write_disabled"
  | "missing_evidence"
  | "near_duplicate"
  | "no_memory_requested"
  | "not_own_words"
  | "note_confirmed"
  | "note_would_instruct"
  | "own_context_block"
  | "proactive_writes_disabled"
  | "quote_not_found"
  | "quote_too_short"
  | "regulated_needs_request"
  | "review_disabled_middle_confidence"
  | "secret_detected"
  | "session_only"
  | "source_forgotten"
  | "stored_as_said"
  | "superseded_by_correction"
  | "suppressed_by_rejection"
  | "system_source"
  | "task_owned"
  | "thread_owned"
  | "too_many_facts"
  | "tool_or_web_source"
  | "transient";

export type RecallStatus = "empty" | "failed" | "off" | "partial" | "recalled" | "skipped";

export type Relation = "compatible_update" | "contradiction" | "duplicate" | "novel" | "suppressed_by_rejection";

export type RepairProgress = "failed" | "ok" | "pending" | "running";

export type RepairReason =
  | "chunk_rows"
  | "jobs"
  | "lexicon"
  | "lost_segments"
  | "missing_sources"
  | "missing_texts"
  | "missing_vectors"
  | "orphans"
  | "scopes"
  | "segments"
  | "source_rows"
  | "terms"
  | "texts"
  | "vectors";

export type Role = "assistant" | "system" | "tool" | "user";

export type RoleName = "extractor" | "main" | "preflight";

export type RouteKind = "any" | "preference" | "procedure" | "temporal";

export type RunState = "cancelled" | "completed" | "failed" | "partial" | "queued" | "running" | "skipped" | "undone";

export type RunStatus = "failed" | "queued" | "running" | "skipped" | "succeeded" | "timed_out";

export type ScopeHint = "agent_global" | "agent_workspace" | "project_workspace" | "unknown" | "user_global";

export type ScopeKind = "agent" | "task" | "thread" | "user" | "workspace";

export type SearchMode = "hybrid" | "lexical" | "semantic";

export type SearchScope = "current_thread" | "related_threads" | "workspace_threads";

export type SearchStatus = "completed" | "empty" | "partial" | "skipped" | "unavailable";

export type SemanticState = "off" | "pending" | "ready";

export type Sensitivity = "normal" | "personal" | "regulated" | "secret_like";

export type SensitivityHint = "none" | "personal" | "regulated" | "secret" | "unknown";

export type SkipReason =
  | "agent_folder"
  | "binary"
  | "broken"
  | "encoding_unknown"
  | "encrypted"
  | "excluded"
  | "folder"
  | "generated"
  | "home"
  | "ignored"
  | "instruction_file"
  | "link"
  | "missing"
  | "name_not_utf8"
  | "no_reader"
  | "not_downloaded"
  | "not_included"
  | "not_regular"
  | "opted_out"
  | "other_device"
  | "over_limit"
  | "path_too_long"
  | "permission_denied"
  | "secret_file"
  | "too_large"
  | "unknown_kind"
  | "unreadable";

export type SourceKind =
  | "agent_note"
  | "assistant_inference"
  | "background_extractor"
  | "explicit_user_request"
  | "file"
  | "import"
  | "system"
  | "tool_observation"
  | "user_correction"
  | "user_statement";

export type SpaceKind = "model" | "static";

export type StageState = "completed" | "failed" | "partial" | "running" | "skipped" | "waiting";

export type Status = "active" | "archived" | "deleted" | "expired" | "superseded";

export type Subject =
  | "artifact"
  | "current_agent"
  | "current_user"
  | "custom"
  | "organization"
  | "person"
  | "project"
  | "workspace";

export type ThreadOrigin = "system" | "task" | "user";

export type Trigger = "catch_up" | "event" | "manual" | "schedule";

export type TurnStatus = "awaiting_host" | "cancelled" | "completed" | "failed" | "in_progress" | "interrupted";

export type UndoSkip = "changed_since" | "erased" | "forgotten";

export type Voice = "machine" | "user";

export type WaitingFor = "activity" | "budget" | "idle" | "model";

/** Any request may end with one of these. */
export type CommonError =
  | "invalid_params"
  | "not_initialized"
  | "shutting_down"
  | "overloaded"
  | "unavailable"
  | "storage_full"
  | "storage_read_only"
  | "cancelled"
  | "internal";

/** The doer of something. */
export interface Actor {
  kind: ActorKind;
  id?: string | null;
}

/** An agent as everybody may know it. An agent with problems that is listed here acts all the same. */
export interface Agent {
  slug: string;
  layer: AgentLayer;
  name: string;
  description: string;
  model_role: string | null;
  memory_mode: MemoryMode;
  tools: Array<string>;
  instructions: boolean;
  sha256: string;
  problems: Array<AgentProblem>;
}

/** A partial change of `[gateway.agents]`: agent definitions. */
export interface AgentFilePatch {
  folder?: string | null;
  agents_chars?: number | null;
  soul_chars?: number | null;
  memory_chars?: number | null;
}

/** `[gateway.agents]`: agent definitions. */
export interface AgentFileSettings {
  folder: string | null;
  agents_chars: number;
  soul_chars: number;
  memory_chars: number;
}

/** A partial change of `[gateway.agent]`. */
export interface AgentPatch {
  max_rounds?: number | null;
  history_turns_min?: number | null;
  context_chars?: number | null;
  system_prompt?: string | null;
}

/**
 * Something wrong with a definition: a code, and the file or key that it is about.
 *
 * Of `config_invalid` also the cause, and the line in config.yaml; never what stands there.
 */
export interface AgentProblem {
  code: AgentProblemCode;
  key: string | null;
  line: number | null;
  cause: AgentProblemCause | null;
}

/** The agent definition that a thread acts by: its folder's name, its layer, and a digest of its files. */
export interface AgentRef {
  slug: string;
  layer: AgentLayer;
  sha256: string;
}

/** `[gateway.agent]`. */
export interface AgentSettings {
  max_rounds: number;
  history_turns_min: number;
  context_chars: number;
  system_prompt: string | null;
}

/** `agents/get`; `soul` and `memory` are given only by their names, and to no helper's thread. */
export interface AgentsGetParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  slug: string;
  parts?: Array<AgentPart>;
  context?: Context;
}

/** An agent with the texts that were asked for; a file that is not there has none. */
export interface AgentsGetResult {
  agent: Agent;
  texts: { [name: string]: string };
}

/** `agents/list`. */
export interface AgentsListParams {
  /** At most this many, 1 to 100. Default: 100. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/**
 * By slug; `invalid` is whole on every page. `left_out` counts the definitions that are not read for a
 * list.
 *
 * Each of them acts, and `agents/get` knows it.
 */
export interface AgentsListResult {
  agents: Array<Agent>;
  invalid: Array<InvalidAgent>;
  next_cursor: string | null;
  left_out: number;
}

/** `artifact/delete`. */
export interface ArtifactDeleteParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  artifact_id: string;
}

/** `artifact/get`. */
export interface ArtifactGetParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  artifact_id: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  version_id?: string | null;
  /** Default: 0. */
  offset?: number;
  /** Default: 65536. */
  limit?: number;
}

/** A part of a file, as text where it is text; `offset` counts characters there, else bytes. */
export interface ArtifactGetResult {
  artifact: ArtifactRef;
  offset: number;
  next_offset: number | null;
  text: string | null;
  data_base64: string | null;
  diagnostics: Array<Diagnostic>;
}

/**
 * A file of the user: a `path` that is read once, inline `data_base64`, or a known `artifact_id`
 * alone.
 */
export interface ArtifactInput {
  type: "artifact";
  name: string;
  mime: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  artifact_id?: string | null;
  kind?: ArtifactKind | null;
  path?: string | null;
  data_base64?: string | null;
}

/** `artifact/list`. */
export interface ArtifactListParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Artifacts of a thread, newest first. */
export interface ArtifactListResult {
  artifacts: Array<ArtifactRef>;
  next_cursor: string | null;
}

/** A partial change of `[gateway.artifacts]`. */
export interface ArtifactPatch {
  max_bytes?: number | null;
  max_inline_bytes?: number | null;
}

/** A file that a message carried; its bytes are elsewhere. */
export interface ArtifactRef {
  artifact_id: string;
  version_id: string;
  name: string;
  kind: ArtifactKind;
  mime: string;
  size_bytes: number;
  role: Role;
  sha256: string | null;
}

/** A reference to a file of an imported turn. */
export interface ArtifactRefInput {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  artifact_id: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  version_id?: string | null;
  /** Default: "file". */
  name?: string;
  /** Default: "other". */
  kind?: ArtifactKind;
  /** Default: "application/octet-stream". */
  mime?: string;
  /** Default: 0. */
  size_bytes?: number;
  /** Default: "user". */
  role?: Role;
  sha256?: string | null;
}

/** `[gateway.artifacts]`. */
export interface ArtifactSettings {
  max_bytes: number;
  max_inline_bytes: number;
}

/** The use of a budget, and what it cut. */
export interface BudgetUse {
  name: string;
  limit: number;
  used: number;
  cut: number;
}

/**
 * Learning that was under way from a turn when it was forgotten: it writes no more, or nothing into
 * `scope`.
 */
export interface Cancelled {
  run_id: string;
  thread_id: string;
  turn_id: string;
  scope: Scope | null;
}

/** A proposal that waits for a person, for repetition, or for nothing any more. */
export interface Candidate {
  candidate_id: string;
  scope: Scope;
  category: Category;
  key: string;
  content: string;
  value: unknown;
  status: CandidateStatus;
  score: number;
  bucket: Bucket;
  reason_code: ReasonCode;
  evidence_count: number;
  contested_memory_id: string | null;
  promoted_memory_id: string | null;
  merged_into: string | null;
  created_at: number;
  decided_at: number | null;
  decided_by: string | null;
}

/** `memory/candidate_created`. */
export interface CandidateCreated {
  candidate: Candidate;
}

/** `memory/candidates/decide`. */
export interface CandidateDecideParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  candidate_id: string;
  context?: Context;
  /** The caller's own words; stored as given. */
  reason?: string | null;
  decision: "approve" | "expire" | "reject";
}

/** `memory/candidates/edit_and_approve`. */
export interface CandidateEditParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  candidate_id: string;
  context?: Context;
  /** The caller's own words; stored as given. */
  reason?: string | null;
  /** One fact in plain words; at most 16 KiB. */
  content: string;
  value?: unknown;
}

/** `memory/candidates/list`. */
export interface CandidateListParams {
  statuses?: Array<CandidateStatus>;
  scopes?: Array<Scope> | null;
  categories?: Array<Category> | null;
  context?: Context;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Candidates, newest first. */
export interface CandidateListResult {
  candidates: Array<Candidate>;
  next_cursor: string | null;
}

/** `memory/candidates/merge`: into another candidate or into a record. */
export interface CandidateMergeParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  candidate_id: string;
  context?: Context;
  /** The caller's own words; stored as given. */
  reason?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  target_candidate_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  target_memory_id?: string | null;
}

/** A candidate by id. */
export interface CandidateParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  candidate_id: string;
  context?: Context;
}

/** A candidate by id, with the decider's words. */
export interface CandidateReasonParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  candidate_id: string;
  context?: Context;
  /** The caller's own words; stored as given. */
  reason?: string | null;
}

/** The candidate as it is now, and the record that came of it. */
export interface CandidateResult {
  candidate: Candidate;
  record: Record | null;
}

/** Every request that is answered and every notification that is sent. */
export interface Capabilities {
  methods: Array<string>;
  notifications: Array<string>;
}

/**
 * The memory that a message of the user is given, by its place in `chain`; the same bytes in each
 * request.
 */
export interface CaptureBlock {
  index: number;
  text: string;
}

/** `capture/finish`; idempotent. `capture` is the whole of a preparation whose answer did not come. */
export interface CaptureFinishParams {
  status: FinishStatus;
  shown: boolean;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
  capture?: CapturePrepareParams | null;
  assistant_text?: string | null;
  /** Of a conversation up to a message, by `protocol/capture/chain.py`. */
  answer_hash?: string | null;
  /** Of a conversation up to a message, by `protocol/capture/chain.py`. */
  answer_name?: string | null;
  /** Default: []. */
  tool_events?: Array<ToolEvent>;
  usage?: Usage | null;
  recall?: NotShown | null;
  upstream?: TurnUpstream | null;
}

/** The turn as it ended; null where nothing of it is kept. */
export interface CaptureFinishResult {
  turn: Turn | null;
}

/** `capture/ingest`: a transcript, from its beginning. `live`: facts are taken from what is new in it. */
export interface CaptureIngestParams {
  source: CaptureSource;
  turns: Array<TranscriptTurn>;
  /** Default: false. */
  live?: boolean;
}

/** The conversation, how many turns of it are new, and the work that follows; null where none waits. */
export interface CaptureIngestResult {
  job_id: string | null;
  thread_id: string;
  turns: number;
  skipped: number;
}

/** `capture/prepare`. `user_index` is the place in `chain` of the last message with words of a person. */
export interface CapturePrepareParams {
  source: CaptureSource;
  chain: Array<ChainLink>;
  user_index: number;
  user_text: string;
  memory_mode?: MemoryMode | null;
  /** Default: "split". */
  placement?: Placing;
  upstream?: TurnUpstream | null;
}

/** The turn of a message, and what stands in its request; null where nothing of it is kept. */
export interface CapturePrepareResult {
  turn: Turn | null;
  is_continuation: boolean;
  brief: string | null;
  blocks: Array<CaptureBlock>;
  recall_status: RecallStatus;
}

/** The source of a message. `role` is a subagent's or a task's where its client says so. */
export interface CaptureSource {
  door: "hook" | "ingest" | "proxy";
  client: string;
  session_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  agent_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** Default: "main". */
  role?: "main" | "subagent" | "task";
}

/** A door that keeps conversations of programs without memory; `dark` where its memory does not answer. */
export interface CaptureState {
  kind: "proxy";
  pid: number;
  url: string;
  status: "dark" | "live" | "off";
  late: number;
  spooled: number;
  last_turn_at: number | null;
  usage: Usage;
}

/** A message of a conversation: who spoke, and the hash up to it. */
export interface ChainLink {
  role: IndexedRole;
  /** Of a conversation up to a message, by `protocol/capture/chain.py`. */
  hash: string;
}

/**
 * The origin of a change: the door and the client that asked for it, the conversation, and the
 * reason's code.
 *
 * `client` is the name by which a program introduced itself. Members that nothing is known of are
 * null.
 */
export interface ChangeOrigin {
  door: DoorName | null;
  client: string | null;
  thread_id: string | null;
  turn_id: string | null;
  reason_code: string | null;
}

/** `knowledge/changes`, newest first. */
export interface ChangesParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
  /** Unix milliseconds. */
  since_at?: number | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Changes, newest first; `diagnostics` says where no collection has the id. */
export interface ChangesResult {
  events: Array<KnowledgeChange>;
  next_cursor: string | null;
  diagnostics: Array<Diagnostic>;
}

/** Chunks by state. */
export interface ChunkCounts {
  pending: number;
  indexed: number;
  failed: number;
  retired: number;
  excluded: number;
  partial: number;
}

/** The program that spawned the gateway. */
export interface ClientInfo {
  name: string;
  version: string;
  time_zone?: string | null;
}

/** A folder whose files are indexed. Times are null until that has happened. */
export interface Collection {
  collection_id: string;
  workspace_id: string | null;
  scope: CollectionScope;
  name: string;
  path: string;
  include: Array<string>;
  exclude: Array<string>;
  follow_gitignore: boolean;
  watch: boolean;
  recall: boolean;
  meaning: MeaningMode;
  enrich: boolean;
  state: CollectionState;
  reason: string | null;
  files: FileCounts;
  bytes: number;
  chunks: number;
  scanned_at: number | null;
  deep_scanned_at: number | null;
  /** Unix time in milliseconds, UTC. */
  created_at: number;
}

/** `knowledge/collections/add`. */
export interface CollectionAddParams {
  /** An absolute path. */
  path: string;
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
  name?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** Default: "workspace". */
  scope?: CollectionScope;
  /** Default: []. */
  include?: Array<string>;
  /** Default: []. */
  exclude?: Array<string>;
  /** Default: true. */
  follow_gitignore?: boolean;
  /** Default: true. */
  watch?: boolean;
  /** Default: true. */
  recall?: boolean;
  /** Default: "documents". */
  meaning?: MeaningMode;
  /** Default: false. */
  enrich?: boolean;
  /** Default: false. */
  dry_run?: boolean;
}

/**
 * The collection as it will be; with `dry_run` nothing was stored and `preview` says what would be
 * indexed.
 */
export interface CollectionAddResult {
  collection: Collection;
  preview: Preview | null;
}

/** `knowledge/collections/list`: those of a workspace and of the user. */
export interface CollectionListParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Collections in the order of their making. */
export interface CollectionListResult {
  collections: Array<Collection>;
  next_cursor: string | null;
}

/** `knowledge/collections/get` and `remove`. */
export interface CollectionParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id: string;
}

/** The receipt of a removal; the folder itself is untouched. */
export interface CollectionRemoveResult {
  receipt: RemovalReceipt;
}

/** One collection. */
export interface CollectionResult {
  collection: Collection;
}

/** `knowledge/collections/scan`; with `deep` every file is read and hashed again. */
export interface CollectionScanParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id: string;
  /** Default: false. */
  deep?: boolean;
}

/** A scan is queued, or one was waiting already. */
export interface CollectionScanResult {
  queued: boolean;
}

/** A collection with the state of its index. */
export interface CollectionStatus {
  collection: Collection;
  watch: WatchState;
  oldest_pending_age_ms: number | null;
  code_structure: "off" | "ready";
  bad_patterns: Array<PatternProblem>;
  enrichment: "no_role" | "not_available" | "off";
}

/**
 * `knowledge/collections/update`: absent members stay. A new `path` finds the files again by their
 * content.
 */
export interface CollectionUpdateParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id: string;
  name?: string | null;
  /** An absolute path. */
  path?: string | null;
  include?: Array<string> | null;
  exclude?: Array<string> | null;
  follow_gitignore?: boolean | null;
  watch?: boolean | null;
  recall?: boolean | null;
  meaning?: MeaningMode | null;
  enrich?: boolean | null;
}

/** `memory/confirm`: a person takes an agent's note for their own word. */
export interface ConfirmParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  context?: Context;
}

/** The record, which is the user's word from now on. */
export interface ConfirmResult {
  record: Record;
}

/**
 * An entry of the bundle that was not taken in and that the user may want to look at; this home's
 * stayed as it is.
 *
 * `memory_id` is the entry's id (a candidate's id for a candidate). `different_record`: the id is
 * taken by something
 * else; `newer_there`: the same record, changed there since; `key_taken`, `path_taken`: another active
 * record has its
 * key or its path; `forgotten_there`: forgotten in the home that wrote the bundle, and kept here.
 */
export interface Conflict {
  memory_id: string;
  existing_memory_id: string | null;
  reason: ConflictReason;
}

/**
 * The place of a memory call, which yields the active scopes. Absent members fall back to
 * `initialize`.
 *
 * Where that named no workspace, it is the thread's, else `ws_default`.
 */
export interface Context {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  agent_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  task_id?: string | null;
  /** Default: false. */
  include_user?: boolean;
}

/** Recalled data, rendered so that it cannot close its own block. */
export interface ContextBlock {
  block_id: string;
  domain: "knowledge" | "memory" | "thread";
  text: string;
  placement: Placement;
  source_refs: Array<SourceRef>;
}

/** The service's decision about a proposal, and its reason. */
export interface Decision {
  action: Action;
  score: number;
  bucket: Bucket;
  reason_code: ReasonCode;
  factors: Array<Factor>;
}

/** Decisions of the active scopes; those that left neither record nor candidate for half a year. */
export interface DecisionCounts {
  by_reason_code: { [name: string]: number };
}

/** A component that does not work at present. */
export interface Degraded {
  component: string;
  reason: string;
  since: number;
  key: string | null;
  nearest: string | null;
  line: number | null;
}

/**
 * The counts of a deletion, and the cancelled learning; `complete` once no file of the home holds the
 * bytes.
 */
export interface DeleteResult {
  deleted: boolean;
  removed: { [name: string]: number };
  cancelled: Array<Cancelled>;
  complete: boolean;
}

/** `item/agent_message/delta`. */
export interface DeltaNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  item_id: string;
  delta: string;
}

/**
 * A note for a person who asks why: a registered code and, where it helps, a redacted sentence or
 * counts.
 */
export interface Diagnostic {
  code: string;
  message: string | null;
  data: { [name: string]: unknown } | null;
}

/** `gateway/drain`. */
export interface DrainParams {
  /** Default: 30000. */
  timeout_ms?: number;
}

/**
 * The result of a drain, with the jobs that wait for later.
 *
 * `idle` when no job is runnable and no reported change of files waits to be read.
 */
export interface DrainResult {
  idle: boolean;
  pending: number;
  waiting: Array<Waiting>;
}

/** `knowledge/edges`: those at an entity. */
export interface EdgesParams {
  /** An entity's id, COLLECTION:PATH, or a name that only one has. */
  entity: string;
  /** Default: "both". */
  direction?: "both" | "in" | "out";
  kinds?: Array<"embeds" | "imports" | "links" | "member_of" | "mentions" | "relates" | "supersedes" | "tagged"> | null;
  /** 0 to 1. Default: 0.0. */
  min_strength?: number;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
  context?: Context;
}

/** Edges, in the order in which they came; `diagnostics` says where nothing has the entity's name. */
export interface EdgesResult {
  edges: Array<FileEdge>;
  next_cursor: string | null;
  diagnostics: Array<Diagnostic>;
}

/** Another workspace that would have answered a search, and with how many hits; never with what. */
export interface Elsewhere {
  workspace_id: string;
  count: number;
}

/** A partial change of `[gateway.embedding]`. */
export interface EmbeddingPatch {
  enabled?: boolean | null;
  model?: string | null;
  model_path?: string | null;
  cache_dir?: string | null;
  allow_download?: boolean | null;
  embedded_default?: boolean | null;
  threads?: number | null;
}

/** `[gateway.embedding]`. */
export interface EmbeddingSettings {
  enabled: boolean;
  model: string;
  model_path: string | null;
  cache_dir: string | null;
  allow_download: boolean;
  embedded_default: boolean;
  threads: number;
}

/** No parameters. */
export type Empty = { [name: string]: never };

/** A link between two names, as a record states it. `strength`: 0 to 1. */
export interface EnrichedEdge {
  from: string;
  kind: string;
  to: string;
  strength: number;
  origin: EdgeOrigin;
}

/** A name in a record's text, and the type of thing that a model takes it for. */
export interface EnrichedEntity {
  name: string;
  type: EntityType;
}

/** A model's reading of a record's text, and its time. It is nobody's word. */
export interface Enrichment {
  entities: Array<EnrichedEntity>;
  topics: Array<string>;
  summary: string | null;
  edges: Array<EnrichedEdge>;
  model: string;
  /** Unix time in milliseconds, UTC. */
  at: number;
}

/** `knowledge/entities`: those of a workspace and of the user, or of one collection. */
export interface EntitiesParams {
  query?: string | null;
  kinds?:
    | Array<"archive"
    | "area"
    | "code"
    | "folder"
    | "inbox"
    | "page"
    | "person"
    | "project"
    | "resource"
    | "tag"
    | "topic">
    | null;
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
  context?: Context;
}

/** Entities, in the order in which they came. */
export interface EntitiesResult {
  entities: Array<FileEntity>;
  next_cursor: string | null;
}

/** The present state of conversation search. */
export interface EpisodicState {
  enabled: boolean;
  indexing_enabled: boolean;
  recall_enabled: boolean;
}

/** One thing that happened to a record. */
export interface Event {
  at: number;
  event: EventName;
  actor: Actor;
  reason_code: string | null;
  from_status: Status | null;
  to_status: Status | null;
  memory_id: string;
}

/**
 * Words that support a fact. With `item_id` they must occur in that item, whose role then says who
 * spoke.
 */
export interface Evidence {
  quote: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  item_id?: string | null;
  source_kind?: SourceKind | null;
  /** Unix milliseconds. */
  at?: number | null;
}

/** `thread_episodic/exclude` and `unexclude`: a chunk or a whole item. */
export interface ExcludeParams {
  chunk_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  item_id?: string | null;
  /** The caller's own words; stored as given. */
  reason?: string | null;
}

/** The number of chunks that changed. */
export interface ExcludeResult {
  excluded: number;
}

/** `memory/explain`: a `target`, or a `query` as it would be recalled in `context`. */
export interface ExplainParams {
  target?: ExplainTarget | null;
  /** Plain text; never query syntax. */
  query?: string | null;
  context?: Context;
}

/** The reason why something was or was not saved or recalled. */
export interface ExplainResult {
  outcome: "candidate" | "merged" | "not_recalled" | "recalled" | "rejected" | "saved" | "superseded" | "unknown";
  summary: string;
  gates: Array<Gate>;
  decision: Decision | null;
  candidates: Array<RankedCandidate>;
  hook_runs: Array<ExplainRun>;
  budgets: Array<BudgetUse>;
  missing: Array<Missing>;
  decisions: Array<Decision>;
  files: Array<FileSource>;
}

/** A hook run that had to do with it. */
export interface ExplainRun {
  run_id: string;
  hook_id: string;
  status: string;
  diagnostics: Array<Diagnostic>;
}

/**
 * The thing to explain, with `id` for every kind; `memory/forget` names it by kind (`memory_id`,
 * `turn_id` ...).
 *
 * A `turn` may be a call outside of any turn: the `call_…` of a refused proposal over MCP.
 */
export interface ExplainTarget {
  kind: "candidate" | "hook_run" | "memory" | "turn";
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  id: string;
}

/** `memory/export`. */
export interface ExportParams {
  scopes?: Array<Scope> | null;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
  context?: Context;
}

/**
 * A page of JSON Lines (the shapes `Bundle…`), whole in itself: it can be imported alone and in any
 * order.
 *
 * Each page is made when it is asked for. Damaged records, and those that hold a number which is not
 * kept any more,
 * are left out and named in `diagnostics`. A forgotten one is a tombstone without content. A regulated
 * one is in it:
 * a backup that loses it is none.
 */
export interface ExportResult {
  bundle: string;
  next_cursor: string | null;
  diagnostics: Array<Diagnostic>;
}

/** One term of an admission score, or the fact that decided without a score. */
export interface Factor {
  name: string;
  value: unknown;
  weight: number;
  contribution: number;
  why: string;
}

/**
 * The files of a collection by state; what is skipped, by reason.
 *
 * `missing` are files that are gone and still in the index: many that went at once are withheld for
 * ten minutes.
 */
export interface FileCounts {
  indexed: number;
  pending: number;
  partial: number;
  failed: number;
  skipped?: { [name: string]: number };
}

/** A link, a folder's or a tag's file. `address` is where it is stated. */
export interface FileEdge {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  from: string;
  kind: "embeds" | "imports" | "links" | "member_of" | "mentions" | "relates" | "supersedes" | "tagged";
  strength: number;
  origin: EdgeOrigin;
  address: string;
  /** Unix time in milliseconds, UTC. */
  created_at: number;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  to: string | null;
  unresolved: UnresolvedLink | null;
}

/** A page, a folder, a tag or a file of code. `files`: how many files it stands for. */
export interface FileEntity {
  entity_id: string;
  name: string;
  kind: "archive" | "area" | "code" | "folder" | "inbox" | "page" | "person" | "project" | "resource" | "tag" | "topic";
  collection_id: string;
  path: string | null;
  aliases: Array<string>;
  files: number;
}

/** The code of a file's last failure, never text. */
export interface FileError {
  code: string;
}

/** A place in a file that a memory was taken from, and what became of it. */
export interface FileSource {
  collection_id: string;
  path: string;
  from_line: number | null;
  to_line: number | null;
  state: ReadState;
}

/** A content that a path had, from when to when it was seen. */
export interface FileVersion {
  sha256: string;
  bytes: number;
  /** Unix time in milliseconds, UTC. */
  first_seen_at: number;
  /** Unix time in milliseconds, UTC. */
  last_seen_at: number;
}

/** `knowledge/versions`. */
export interface FileVersionsParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id: string;
  /** Below the collection, with `/`. */
  path: string;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Versions, newest first, one for each change. */
export interface FileVersionsResult {
  versions: Array<FileVersion>;
  next_cursor: string | null;
}

/** `knowledge/files`. */
export interface FilesParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id: string;
  prefix?: string | null;
  states?: Array<FileState> | null;
  kinds?: Array<FileKind> | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/**
 * Files in the order in which they were first seen; the first scan goes folder by folder, each by its
 * names.
 */
export interface FilesResult {
  files: Array<KnownFile>;
  next_cursor: string | null;
}

/** One record. */
export interface ForgetById {
  kind: "id";
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
}

/** The active record of a key, canonical or the caller's own. */
export interface ForgetByKey {
  kind: "scoped_key";
  scope: Scope;
  /** The caller's own name for the fact, or a canonical key. */
  key: string;
}

/** The active record that a writer filed under a path. */
export interface ForgetByPath {
  kind: "path";
  /** A relative path with `/`, such as projects/harbor/plan.md. */
  path: string;
}

/** Everything in a scope. */
export interface ForgetByScope {
  kind: "scope";
  scope: Scope;
}

/** Everything learnt from a thread. */
export interface ForgetByThread {
  kind: "thread";
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
}

/** Everything learnt from a turn. */
export interface ForgetByTurn {
  kind: "turn";
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id: string;
}

/**
 * `memory/forget`.
 *
 * Each kind of target has a member of its own (`memory_id`, `turn_id` ...); that of `memory/explain`
 * has `id`.
 */
export interface ForgetParams {
  target: ForgetById | ForgetByKey | ForgetByPath | ForgetByTurn | ForgetByThread | ForgetByScope;
  /** Default: "tombstone". */
  mode?: "erase" | "tombstone";
  /** The caller's own words; stored as given. */
  reason?: string | null;
  /** Default: false. */
  dry_run?: boolean;
  /** Default: false. */
  include_sources?: boolean;
  /** Default: true. */
  restore_superseded?: boolean;
  context?: Context;
}

/** The memories that were (or, in a dry run, would be) forgotten. */
export interface ForgetResult {
  forgotten_memory_ids: Array<string>;
  dry_run: boolean;
  receipt: Receipt | null;
  cancelled: Array<Cancelled>;
  same_sentence: Array<string>;
}

/**
 * The age of the index: `live` while changes are watched, else `scanned`.
 *
 * `stale`: files wait, a collection is unavailable, or files that are gone together are withheld.
 */
export interface Freshness {
  state: "live" | "scanned" | "stale";
  /** Unix time in milliseconds, UTC. */
  scanned_at: number | null;
  pending_files: number;
}

/** One question that a write or a recall had to pass. */
export interface Gate {
  gate: GateName;
  passed: boolean;
  reason_code: string | null;
  detail: string | null;
}

/** A condition that each hit must pass, and how many did not. */
export interface GateCount {
  name: string;
  stopped: number;
}

/** `gateway/degraded`. */
export interface GatewayDegraded {
  component: string;
  reason: string;
}

/** `gateway/recovered`. */
export interface GatewayRecovered {
  component: string;
}

/**
 * `memory/get`: by `memory_id`, by `path`, or by `scope` and `key`.
 *
 * A read keeps a record from fading, unless `is_read` is false: for a client that only shows what is
 * there.
 */
export interface GetParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id?: string | null;
  /** A relative path with `/`, such as projects/harbor/plan.md. */
  path?: string | null;
  scope?: Scope | null;
  /** The caller's own name for the fact, or a canonical key. */
  key?: string | null;
  /** Default: false. */
  include_deleted?: boolean;
  /** Default: false. */
  include_enrichment?: boolean;
  /** Default: false. */
  include_evidence?: boolean;
  /** Default: true. */
  is_read?: boolean;
  context?: Context;
}

/**
 * The record, or null if it does not exist or is outside the context, with up to five similar active
 * ones.
 *
 * `enrichment` is null where it was not asked for, and where no model has looked at the record's
 * present text.
 * `evidence` and `shown_in`, the newest first and at most fifty of each, are empty where they were not
 * asked for, and
 * of a record that is forgotten.
 */
export interface GetResult {
  record: Record | null;
  similar_to: Array<SimilarTo>;
  enrichment: Enrichment | null;
  evidence: Array<KeptEvidence>;
  shown_in: Array<ShownIn>;
}

/** `memory/history`. */
export interface HistoryParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  context?: Context;
}

/** The whole supersession chain's events, oldest first. */
export interface HistoryResult {
  events: Array<Event>;
}

/** A record found, with its score from 0 to 1 and the parts of it. */
export interface Hit {
  record: Record;
  score: number;
  breakdown: { [name: string]: number };
  snippet: string;
  matched_terms: Array<string>;
}

/** An entity that a hit belongs to. */
export interface HitEntity {
  entity_id: string;
  name: string;
  kind: string;
}

/** The subject of a hit, with its id: a file, a piece of a file or of a conversation, or a record. */
export interface HitRef {
  kind: "chunk" | "file" | "memory";
  id: string;
}

/** One run of a hook. Contribution hashes, never contents. */
export interface HookRun {
  run_id: string;
  hook_id: string;
  phase: Phase;
  thread_id: string;
  turn_id: string;
  status: RunStatus;
  attempt_count: number;
  queued_at: number;
  started_at: number | null;
  completed_at: number | null;
  duration_ms: number | null;
  contribution_count: number;
  contribution_hashes: Array<string>;
  diagnostics: Array<Diagnostic>;
  error: RunError | null;
}

/** Subscriptions in dispatch order. */
export interface HooksListResult {
  subscriptions: Array<SubscriptionView>;
}

/** `hooks/runs`. */
export interface HooksRunsParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  phase?: Phase | null;
  status?: RunStatus | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Runs, newest first. */
export interface HooksRunsResult {
  runs: Array<HookRun>;
  next_cursor: string | null;
}

/** `[gateway.http]`: the door of `pioneer http` and `serve --http`. */
export interface HttpSettings {
  port: number;
  /** An address of this machine, such as 127.0.0.1. */
  bind: string;
  allow_remote: boolean;
  allowed_hosts: Array<string>;
  allowed_origins: Array<string>;
  max_body_bytes: number;
  request_seconds: number;
  requests_per_second: number;
  max_streams: number;
  session_hours: number;
  ingest_learns: boolean;
}

/** One message of an imported turn. */
export interface ImportItem {
  role: "assistant" | "user";
  text: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  item_id?: string | null;
  name?: string | null;
  /** Default: []. */
  artifacts?: Array<ArtifactRefInput>;
}

/** `memory/import`: a bundle of at most 4 MiB of UTF-8. A dry run answers the same and changes nothing. */
export interface ImportParams {
  bundle: string;
  /** Default: false. */
  dry_run?: boolean;
  context?: Context;
}

/**
 * The result of an import. Every line of the bundle but the first and the last is counted once.
 *
 * `imported`: records and candidates that are new here. `skipped`: entries that were here already, or
 * state the same
 * as an active record. `tombstoned`: tombstones that are new here, and entries kept out because they
 * were forgotten
 * here.
 */
export interface ImportResult {
  imported: number;
  skipped: number;
  conflicts: Array<Conflict>;
  tombstoned: number;
}

/** The origin of imported turns; ids are made from it, so that a second import changes nothing. */
export interface ImportSource {
  kind: string;
  id: string;
}

/** One imported turn with the time at which it was said. */
export interface ImportTurn {
  /** Unix milliseconds. */
  at: number;
  items: Array<ImportItem>;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
}

/** Records by the state of their derived data. */
export interface IndexCounts {
  pending: number;
  indexed: number;
  repair_needed: number;
}

/** A job of the index. */
export interface IndexJob {
  job_id: string;
  kind: string;
  thread_id: string | null;
  turn_id: string | null;
  chunk_ids: Array<string>;
  status: JobStatus;
  attempt_count: number;
  next_run_at: number;
  last_error: JobError | null;
}

/**
 * The state of the index, the reasons of its damage, and the progress of its repair, in rows of all
 * found.
 */
export interface IndexRepair {
  state: RepairProgress;
  reasons: Array<RepairReason>;
  done: number;
  total: number;
}

/** `initialize`. */
export interface InitializeParams {
  protocol_version: string;
  client: ClientInfo;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  capabilities?: { [name: string]: unknown } | null;
  parent_pid?: number | null;
}

/** The handshake's answer. */
export interface InitializeResult {
  protocol_version: string;
  server: ServerInfo;
  capabilities: Capabilities;
  memory: MemoryState;
  thread_episodic: EpisodicState;
  search: SearchState;
  home_id: string;
  workspace_id: string;
  limits: WireLimits;
  interrupted_turns: Array<InterruptedTurn>;
}

/** The budget of instruction files and what is used of it, in characters. */
export interface InstructionBudget {
  limit: number;
  used: number;
}

/** The change of a file since it was last used; the digest of a removed one is that of its last bytes. */
export interface InstructionChange {
  path: string;
  sha256: string;
  change: "added" | "changed" | "removed";
}

/** Lines of a file that did not fit. */
export interface InstructionCut {
  path: string;
  from_line: number;
  to_line: number;
  chars: number;
}

/**
 * A file that a turn would be given, or one that was named and not loaded, with its `problem`.
 *
 * `path` begins at the boundary; of a refused include it is the path as it was written. `chars` are
 * those of the whole
 * file, `used_lines` the number of its lines in the prompt.
 */
export interface InstructionFile {
  path: string;
  kind: InstructionKind;
  sha256: string | null;
  chars: number;
  used_lines: number;
  problem: InstructionProblem | null;
}

/** A partial change of `[gateway.instructions]`: instruction files of a project, such as AGENTS.md. */
export interface InstructionPatch {
  enabled?: boolean | null;
  max_chars?: number | null;
  include_depth?: number | null;
}

/** `[gateway.instructions]`: instruction files of a project, such as AGENTS.md. */
export interface InstructionSettings {
  enabled: boolean;
  max_chars: number;
  include_depth: number;
}

/** A text that a file had from a turn on; secrets in it are masked. */
export interface InstructionVersion {
  sha256: string;
  /** Unix time in milliseconds, UTC. */
  at: number;
  text: string;
}

/** `instructions/changed`. */
export interface InstructionsChanged {
  workspace_id: string;
  files: Array<InstructionChange>;
}

/** `instructions/preview`: by a thread, or by a workspace; `cwd` as a turn would give it. */
export interface InstructionsPreviewParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  cwd?: string | null;
  profile?: InstructionProfile | null;
}

/** The section of a prompt, and how it came about; outermost file first. */
export interface InstructionsPreviewResult {
  text: string;
  files: Array<InstructionFile>;
  cut: Array<InstructionCut>;
  budget: InstructionBudget;
  boundary: BoundaryKind;
  diagnostics: Array<Diagnostic>;
}

/** `instructions/set`. */
export interface InstructionsSetParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string;
  mode: InstructionMode;
}

/** The mode in force. */
export interface InstructionsSetResult {
  workspace_id: string;
  mode: InstructionMode;
}

/** `instructions/versions`. */
export interface InstructionsVersionsParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string;
  path: string;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Newest first. */
export interface InstructionsVersionsResult {
  versions: Array<InstructionVersion>;
  next_cursor: string | null;
}

/** A turn that a dead process left. */
export interface InterruptedTurn {
  thread_id: string;
  turn_id: string;
}

/** A definition that does not act until it is mended. */
export interface InvalidAgent {
  slug: string;
  layer: AgentLayer;
  problems: Array<AgentProblem>;
}

/**
 * One thing said or done in a turn. `text` is byte for byte what was given.
 *
 * An item that was altered in the file is `altered`: its text is `[altered]`, and it has no name and
 * no tool.
 */
export interface Item {
  item_id: string;
  turn_id: string;
  thread_id: string;
  kind: ItemKind;
  role: Role;
  status: ItemStatus;
  text: string;
  at: number;
  name: string | null;
  artifacts: Array<ArtifactRef>;
  tool: ToolUse | null;
  altered: boolean;
}

/** `item/started` and `item/completed`. */
export interface ItemNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  item_id: string;
  item: Item;
}

/** Items in order. */
export interface ItemsResult {
  items: Array<Item>;
  next_cursor: string | null;
}

/** Jobs by state. */
export interface JobCounts {
  queued: number;
  leased: number;
  retry_wait: number;
  dead: number;
  cancelled: number;
  done: number;
}

/** The code of a job's last failure, never text. */
export interface JobError {
  code: string;
}

/** `thread_episodic/jobs`. */
export interface JobsParams {
  status?: JobStatus | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Jobs, newest first. */
export interface JobsResult {
  jobs: Array<IndexJob>;
  next_cursor: string | null;
}

/** Words that a record rests on, and where they were said. */
export interface KeptEvidence {
  quote: string;
  source_kind: SourceKind;
  thread_id: string | null;
  turn_id: string | null;
  item_id: string | null;
  at: number;
}

/** An entry of the log of changes; `count` of a baseline is the number of its files. */
export interface KnowledgeChange {
  seq: number;
  /** Unix time in milliseconds, UTC. */
  at: number;
  event: FileEvent;
  collection_id: string;
  path: string | null;
  from_path: string | null;
  sha256: string | null;
  count: number | null;
}

/** `knowledge/changed`. */
export interface KnowledgeChanged {
  collection_id: string;
  added: number;
  changed: number;
  moved: number;
  removed: number;
  failed: number;
}

/** `knowledge/explain`: a path of a collection, or a query. */
export interface KnowledgeExplainParams {
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
  /** Below the collection, with `/`. */
  path?: string | null;
  query?: string | null;
  context?: Context;
}

/**
 * The reason why a file is or is not indexed; or the fate of the pieces that a query came upon.
 *
 * `state` is `unavailable` where the collection of the path, or one that the query searched, is;
 * `reason` says why.
 * What is left out of a file that is indexed in part is told as by `knowledge/files`.
 */
export interface KnowledgeExplainResult {
  indexed: boolean | null;
  state: string | null;
  reason: string | null;
  rule: PatternRule | null;
  left_out: Array<number> | null;
  left_out_pages: Array<Array<number>>;
  gates: Array<GateCount>;
  near_misses: Array<NearMiss>;
}

/** A piece found with its whole text, as the method gives it. */
export interface KnowledgeHit {
  ref: HitRef;
  source: "consolidation" | "conversation" | "file" | "heartbeat" | "memory";
  trust: "claim" | "derived" | "untrusted";
  address: string;
  title: string;
  heading: Array<string>;
  locations: Array<Location>;
  snippet: string;
  score: number;
  breakdown: ScoreParts;
  importance: number;
  topics: Array<string>;
  entities: Array<HitEntity>;
  /** Unix time in milliseconds, UTC. */
  at: number;
  chunk_id: string | null;
  anchor: string | null;
  via: Via | null;
  contested: boolean | null;
  text: string;
}

/** `knowledge/indexed`: nothing of the collection is pending. */
export interface KnowledgeIndexed {
  collection_id: string;
}

/** A partial change of `[gateway.knowledge]`. */
export interface KnowledgePatch {
  enabled?: boolean | null;
  indexing_enabled?: boolean | null;
  recall_enabled?: boolean | null;
  tools_enabled?: boolean | null;
  watch_enabled?: boolean | null;
  debounce_ms?: number | null;
  scan_minutes?: number | null;
  deep_scan_hours?: number | null;
  max_files?: number | null;
  max_file_bytes?: number | null;
  max_pdf_bytes?: number | null;
  max_pdf_pages?: number | null;
  max_chunks_per_file?: number | null;
  cache_days?: number | null;
  prompt_chars?: number | null;
  prompt_hits?: number | null;
  max_hit_chars?: number | null;
  /** 0 to 1. */
  min_relevancy?: number | null;
}

/** `knowledge/read`: by `address`, or by `collection_id` and `path`. */
export interface KnowledgeReadParams {
  /** COLLECTION:PATH#L1-L9~hash, as a hit names a place. */
  address?: string | null;
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
  /** Below the collection, with `/`. */
  path?: string | null;
  from_line?: number | null;
  to_line?: number | null;
  /** Default: 8000. */
  max_chars?: number;
  context?: Context;
}

/**
 * Lines of a file as they are now, line ends kept. `state` says what became of the place that was
 * asked for.
 *
 * `cut_chars` counts the characters of the last line that are left out, where that line alone has more
 * than
 * `max_chars`: `next_line` is the one behind it.
 */
export interface KnowledgeReadResult {
  text: string;
  collection_id: string;
  path: string;
  from_line: number;
  to_line: number;
  total_lines: number;
  next_line: number | null;
  sha256: string | null;
  changed_at: number | null;
  state: ReadState;
  masked: boolean;
  outline: Array<OutlineEntry>;
  cut_chars: number;
}

/**
 * `knowledge/retry`: one file, or all files of a collection, of those that failed or wait after a
 * failure.
 */
export interface KnowledgeRetryParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  file_id?: string | null;
  /** A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`. */
  collection_id?: string | null;
}

/** The number of files that will be read again. */
export interface KnowledgeRetryResult {
  requeued: number;
}

/** `knowledge/search`: the eight options of a search, and where the call comes from. */
export interface KnowledgeSearchParams {
  /** What to find: plain words, never query syntax. */
  query: string;
  /** At most this many, 1 to 50. Default: 5. */
  max_results?: number;
  /** file, conversation, memory, heartbeat, consolidation, or collection:ID; absent: all. */
  source?: string | null;
  /** Only here: COLLECTION:PATH of a file or a folder, or the name or id of a page or tag. */
  entity?: string | null;
  /** Only what is at least this important, 0 to 1. */
  min_importance?: number | null;
  /** What has one of these topics comes first; it never filters. Default: []. */
  topics?: Array<string>;
  /** Whether insights of consolidations are found. Default: true. */
  include_consolidations?: boolean;
  /** Whether what is linked to a hit is found with it. Default: false. */
  include_related?: boolean;
  context?: Context;
}

/** Hits, best first; `diagnostics` says what could not be shown or searched. */
export interface KnowledgeSearchResult {
  hits: Array<KnowledgeHit>;
  freshness: Freshness;
  semantic: SemanticState;
  diagnostics: Array<Diagnostic>;
}

/** `[gateway.knowledge]`. */
export interface KnowledgeSettings {
  enabled: boolean;
  indexing_enabled: boolean;
  recall_enabled: boolean;
  tools_enabled: boolean;
  watch_enabled: boolean;
  debounce_ms: number;
  scan_minutes: number;
  deep_scan_hours: number;
  max_files: number;
  max_file_bytes: number;
  max_pdf_bytes: number;
  max_pdf_pages: number;
  max_chunks_per_file: number;
  cache_days: number;
  prompt_chars: number;
  prompt_hits: number;
  max_hit_chars: number;
  /** 0 to 1. */
  min_relevancy: number;
}

/** `knowledge/status`. */
export interface KnowledgeStatusParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
}

/** The state of each collection of a workspace and of the user. */
export interface KnowledgeStatusResult {
  enabled: boolean;
  collections: Array<CollectionStatus>;
}

/**
 * A file of a collection. `bytes` and `lines` are those of what is indexed; times are Unix
 * milliseconds.
 */
export interface KnownFile {
  file_id: string;
  path: string;
  kind: FileKind;
  language: string | null;
  bytes: number;
  lines: number;
  state: FileState;
  reason: string | null;
  sha256: string | null;
  changed_at: number;
  indexed_at: number | null;
  attempt_count: number;
  next_run_at: number | null;
  last_error: FileError | null;
  left_out: Array<number> | null;
  left_out_pages: Array<Array<number>>;
  also: Array<string>;
}

/** A file of a preview, with its size. */
export interface LargeFile {
  path: string;
  bytes: number;
}

/** A recent failure, without its text. */
export interface LastError {
  at: number;
  component: string;
  reason: string;
  incident_id: string | null;
}

/**
 * A file of a collection that says the words of what was forgotten: it is the user's own, and never
 * changed.
 */
export interface LeftFile {
  collection_id: string;
  path: string;
  reason: LeftReason;
}

/** A place that still says the words of what was forgotten, and why. */
export interface LeftPlace {
  place: ForgottenPlace;
  id: string;
  reason: LeftReason;
}

/** `[gateway.limits]`. */
export interface LimitSettings {
  max_message_bytes: number;
  max_in_flight: number;
}

/** `memory/links`. */
export interface LinksParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  /** Default: 1. */
  depth?: number;
  context?: Context;
}

/** The records that are linked to a record, the nearest first; at most a hundred. */
export interface LinksResult {
  links: Array<MemoryLink>;
}

/** `memory/list`. */
export interface ListParams {
  context?: Context;
  scopes?: Array<Scope> | null;
  categories?: Array<Category> | null;
  kinds?: Array<Kind> | null;
  tags?: Array<string> | null;
  statuses?: Array<Status> | null;
  voices?: Array<Voice> | null;
  /** What these agents noted or is in their scope; `user`: what is the user's word. */
  source_agents?: Array<string> | null;
  /** Default: false. */
  include_sensitive?: boolean;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
  /** Default: "updated_at". */
  order?: Order;
}

/** Records in the order asked for, newest or greatest first. */
export interface ListResult {
  records: Array<Record>;
  next_cursor: string | null;
}

/** A place where the same text stands; lines are counted from 1. */
export interface Location {
  collection_id: string;
  path: string;
  from_line: number;
  to_line: number;
  page: number | null;
}

/** A budget of the prompt, in characters unless its name says otherwise. */
export interface ManifestBudget {
  name: string;
  limit: number;
  used: number;
}

/** A dispatched phase, also without hooks. */
export interface ManifestPhase {
  phase: Phase;
  hook_runs: Array<ManifestRun>;
}

/** The planner of the turn's recall and tools. */
export interface ManifestPreflight {
  source: "fallback" | "local" | "model" | "none";
  reason: string;
  plan: unknown;
}

/** The recall of a prompt, with the reason why there is no more. */
export interface ManifestRecall {
  status: RecallStatus;
  reason: string;
  memory_ids: Array<string>;
  chunk_ids: Array<string>;
  knowledge_ids: Array<string>;
}

/** A hook run of a turn. Never contents. */
export interface ManifestRun {
  run_id: string;
  hook_id: string;
  status: RunStatus;
  duration_ms: number;
  contribution_count: number;
  diagnostics: Array<Diagnostic>;
}

/** A part of the prompt that a hook contributed. */
export interface ManifestSection {
  section_id: string;
  hook_id: string;
  domain: Domain;
  chars: number;
  truncated: boolean;
  source_refs: Array<SourceRef>;
}

/** Tools that the model saw, and domains that it could ask for. */
export interface ManifestTools {
  visible: Array<string>;
  hidden_domains: Array<string>;
}

/** `[gateway.mcp]`: the door of `pioneer mcp`. */
export interface McpSettings {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string | null;
}

/**
 * One change, with the record or the candidate as it is now.
 *
 * `record` is null where its words may not be shown: `withheld` says why, as `deleted`, `regulated` or
 * `erased`.
 * `undo` is null where there is nothing that could be taken back any more.
 */
export interface MemoryChange {
  at: number;
  event: ChangeEvent;
  memory_id: string | null;
  candidate_id: string | null;
  scope: Scope;
  category: Category | null;
  record: Record | null;
  candidate: Candidate | null;
  withheld: string | null;
  origin: ChangeOrigin;
  undo: UndoCall | null;
}

/** `memory/changed`. */
export interface MemoryChanged {
  memory_id: string;
  scope: Scope;
  change_kind: ChangeKind;
  record: Record | null;
  origin: Origin;
}

/** `memory/changes`: from `since_at` on, and before `until_at`. */
export interface MemoryChangesParams {
  /** Unix milliseconds. */
  since_at: number;
  /** Unix milliseconds. */
  until_at?: number | null;
  scopes?: Array<Scope> | null;
  /** Default: false. */
  include_sensitive?: boolean;
  context?: Context;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Changes, newest first. */
export interface MemoryChangesResult {
  changes: Array<MemoryChange>;
  next_cursor: string | null;
}

/** `memory/erased`: a pending erase is complete. */
export interface MemoryErased {
  memory_ids: Array<string>;
}

/** `memory/forgotten`. */
export interface MemoryForgotten {
  memory_ids: Array<string>;
  reason: string | null;
}

/** `memory/reinforce` and `memory/archive`. */
export interface MemoryIdParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  context?: Context;
}

/**
 * `memory/invalidated`: another process of the home, or an import, changed these scopes; read records
 * again.
 */
export interface MemoryInvalidated {
  scopes: Array<Scope>;
}

/**
 * A record that is linked to another one: `out` is where the other's link leads, `in` where one comes
 * from.
 */
export interface MemoryLink {
  memory_id: string;
  kind: string;
  origin: EdgeOrigin;
  direction: "in" | "out";
}

/** A partial change of `[gateway.memory]`. */
export interface MemoryPatch {
  enabled?: boolean | null;
  capsules_dir?: string | null;
  allow_global_user_by_default?: boolean | null;
  allow_global_agent_by_default?: boolean | null;
  deterministic_recall_enabled?: boolean | null;
  active_recall_enabled?: boolean | null;
  tools_enabled?: boolean | null;
  agent_notes?: AgentNotes | null;
  proactive_writes_enabled?: boolean | null;
  background_extraction_enabled?: boolean | null;
  debug_trace_enabled?: boolean | null;
  strict_diagnostics_enabled?: boolean | null;
  review_enabled?: boolean | null;
  retention_days?: number | null;
  standing_chars?: number | null;
  aging?: Aging | null;
  archive_days?: number | null;
  cap_inbox?: number | null;
  cap_knowledge?: number | null;
  cap_events?: number | null;
  cap_procedures?: number | null;
}

/** `[gateway.memory]`. */
export interface MemorySettings {
  enabled: boolean;
  capsules_dir: string;
  allow_global_user_by_default: boolean;
  allow_global_agent_by_default: boolean;
  deterministic_recall_enabled: boolean;
  active_recall_enabled: boolean;
  tools_enabled: boolean;
  agent_notes: AgentNotes;
  proactive_writes_enabled: boolean;
  background_extraction_enabled: boolean;
  debug_trace_enabled: boolean;
  strict_diagnostics_enabled: boolean;
  review_enabled: boolean;
  retention_days: number;
  standing_chars: number;
  aging: Aging;
  archive_days: number;
  cap_inbox: number;
  cap_knowledge: number;
  cap_events: number;
  cap_procedures: number;
}

/** The present state of durable memory. */
export interface MemoryState {
  enabled: boolean;
  tools_enabled: boolean;
  deterministic_recall_enabled: boolean;
  active_recall_enabled: boolean;
  background_extraction_enabled: boolean;
  review_enabled: boolean;
}

/** `memory/merge`: a person says that one record is the other one in other words. */
export interface MergeParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  into_memory_id: string;
  /** A repeat of the same request answers the same; 30 days. */
  idempotency_key?: string | null;
  context?: Context;
}

/** The record that stays. The merged one is superseded by it; `memory/restore` brings it back. */
export interface MergeResult {
  record: Record;
  merged_memory_id: string;
}

/** Something that an explanation would need and that is not there. */
export interface Missing {
  kind: string;
  reason: string;
}

/** Requests to a model that passes may make in a day, and have made today. */
export interface ModelBudget {
  daily_model_calls: number;
  used: number;
}

/** The number of times that a run asked a model, and the provider of that model. */
export interface ModelUse {
  provider: string;
  calls: number;
  fell_back_from: string | null;
  reason: string | null;
}

/** A piece that was found and not shown, with the gate that stopped it. */
export interface NearMiss {
  address: string;
  score: number;
  gate: string;
}

/** The reason why a turn went out without what memory would have given it. */
export interface NotShown {
  /** Default: "skipped". */
  status?: "skipped";
  reason: "down" | "late";
}

/**
 * `memory/note`: what an agent noted on its own account. It is no word of the user until a person
 * confirms it.
 *
 * A note has the scope of a workspace or an agent. One that has faded goes to the archive.
 */
export interface NoteParams {
  /** One fact in plain words; at most 16 KiB. */
  content: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  agent_id: string;
  /** Default: "assistant". */
  agent_kind?: AgentKind;
  /** Default: "observation". */
  kind?: Kind;
  /** Default: "custom". */
  category?: Category;
  scope?: Scope | null;
  value?: unknown;
  /** Default: []. */
  tags?: Array<string>;
  /** 0 to 1. Default: 0.5. */
  importance?: number;
  /** A relative path with `/`, such as projects/harbor/plan.md. */
  path?: string | null;
  /** Unix milliseconds. */
  expires_at?: number | null;
  /** A repeat of the same request answers the same; 30 days. */
  idempotency_key?: string | null;
  context?: Context;
}

/** The fate of a note, in a word, with the decision; `how_to_confirm` is a command for a person. */
export interface NoteResult {
  relation: Relation;
  canonical_key: string;
  semantic_fingerprint: string;
  decision: Decision;
  record: Record | null;
  candidate: Candidate | null;
  superseded_memory_id: string | null;
  evidence_merged: boolean;
  status: NoteStatus;
  reason_code: ReasonCode;
  memory_id: string | null;
  how_to_confirm: string | null;
}

/** An empty result. */
export type Nothing = { [name: string]: never };

/** The cause of a change. */
export interface Origin {
  turn_id: string | null;
  source_kind: SourceKind | null;
  reason_code: string | null;
}

/** A heading of a file. */
export interface OutlineEntry {
  heading: string;
  level: number;
  from_line: number;
}

/** A message that is too long to be indexed whole, and the range that is not. */
export interface PartialItem {
  item_id: string;
  turn_id: string;
  from_char: number;
  to_char: number;
}

/** A pass: when it runs next, what a run that is due waits for, and how the last one ended. */
export interface Pass {
  name: PassName;
  enabled: boolean;
  uses_model: boolean;
  interval_ms: number | null;
  /** Unix time in milliseconds, UTC. */
  next_run_at: number | null;
  waiting_for: WaitingFor | null;
  last_run: Run | null;
}

/** `passes/completed`. */
export interface PassCompleted {
  run: Run;
}

/** A partial change of `[gateway.passes]`: scheduled maintenance. */
export interface PassPatch {
  enabled?: boolean | null;
  dream?: boolean | null;
  consolidate_hours?: number | null;
  night_hour?: number | null;
}

/** `[gateway.passes]`: scheduled maintenance. */
export interface PassSettings {
  enabled: boolean;
  dream: boolean;
  consolidate_hours: number;
  night_hour: number;
}

/** `passes/started`. */
export interface PassStarted {
  run_id: string;
  pass: PassName;
  trigger: Trigger;
}

/** `passes/get`. */
export interface PassesGetParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  run_id: string;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** A run, and its changes in the order in which they were made. */
export interface PassesGetResult {
  run: Run;
  changes: Array<RunChange>;
  next_cursor: string | null;
}

/** Every pass. */
export interface PassesListResult {
  passes: Array<Pass>;
  budget: ModelBudget;
}

/** `passes/review`. */
export interface PassesReviewParams {
  context?: Context;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Faded records of the user's own voice, the one that faded first before the others. */
export interface PassesReviewResult {
  records: Array<Record>;
  next_cursor: string | null;
}

/** `passes/run`. A run of the pass that is in progress is joined. */
export interface PassesRunParams {
  pass: PassName;
  /** Default: false. */
  dry_run?: boolean;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** Default: 60000. */
  timeout_ms?: number;
}

/** `passes/runs`. */
export interface PassesRunsParams {
  pass?: PassName | null;
  states?: Array<RunState> | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Runs, newest first. */
export interface PassesRunsResult {
  runs: Array<Run>;
  next_cursor: string | null;
}

/** `passes/undo`. */
export interface PassesUndoParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  run_id: string;
  /** Default: false. */
  dry_run?: boolean;
}

/** The undoing, which is a run itself, with how many changes it took back. */
export interface PassesUndoResult {
  run: Run;
  undone: number;
  skipped: Array<SkippedChange>;
}

/**
 * A line of patterns that is not understood and has no effect; the other lines hold.
 *
 * With `reason` it is a whole file that is not read (`line` is 0): a `link` or what is `not_regular`
 * has no effect;
 * for another reason all in its folder is left out.
 */
export interface PatternProblem {
  file: string;
  line: number;
  pattern: string;
  reason?: string;
}

/**
 * The line that decided; `file` is `exclude`, `include`, `defaults`, `safety` or a path from the
 * collection.
 *
 * With `reason` the whole file decided, as it cannot be read; `line` is 0.
 */
export interface PatternRule {
  file: string;
  line: number;
  pattern: string;
  reason?: string;
}

/** A component that is down and holds its queue. */
export interface PausedQueue {
  component: string;
  reason: string;
  since: number;
}

/** A permission of this turn, with the code of its reason. */
export interface Permission {
  allowed: boolean;
  reason_code: string;
}

/**
 * `turn/post_completed`: every TurnPostTurn run has ended for good, or waits until the store takes
 * something again.
 *
 * What waits is shown as it is (`queued`, `running`); it goes on later without another notification.
 */
export interface PostCompletedNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  hook_runs: Array<ManifestRun>;
}

/** A partial change of `[gateway.preflight]`. */
export interface PreflightPatch {
  enabled?: boolean | null;
  timeout_ms?: number | null;
}

/** `[gateway.preflight]`. */
export interface PreflightSettings {
  enabled: boolean;
  timeout_ms: number;
}

/** All that a host needs to call its own model. */
export interface PrepareResult {
  turn: Turn;
  context_blocks: Array<ContextBlock>;
  prompt_sections: Array<PromptSection>;
  tools: Array<ToolSpec>;
  policy: TurnPolicy;
  prompt_manifest: PromptManifest;
  recall_status: RecallStatus;
}

/** The files that a scan would index. `partial` where two seconds were not enough to see all of it. */
export interface Preview {
  files: number;
  bytes: number;
  by_kind: { [name: string]: number };
  skipped: { [name: string]: number };
  largest: Array<LargeFile>;
  partial: boolean;
  bad_patterns: Array<PatternProblem>;
}

/** `gateway/progress`. */
export interface Progress {
  token: string;
  title: string;
  done: number;
  total: number | null;
  message: string | null;
}

/** The parts of a turn's prompt with their reasons. It never holds contents. */
export interface PromptManifest {
  phases: Array<ManifestPhase>;
  policy: TurnPolicy;
  preflight: ManifestPreflight;
  sections: Array<ManifestSection>;
  tools: ManifestTools;
  budgets: Array<ManifestBudget>;
  recall: ManifestRecall;
}

/** A part of the system prompt; a stable one is byte-identical from turn to turn. */
export interface PromptSection {
  section_id: string;
  title: string;
  text: string;
  stable: boolean;
}

/** The source of a record; set at creation and never changed. */
export interface Provenance {
  /** Default: "explicit_user_request". */
  source_kind?: SourceKind;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  item_id?: string | null;
  created_by?: Actor | null;
  collection_id?: string;
  path?: string;
  from_line?: number;
  to_line?: number;
  sha256?: string;
}

/** `provider/list`. */
export interface ProviderListResult {
  providers: Array<ProviderState>;
}

/** A configured provider. `problem` is None where it can be asked; `hint` is an advice in words. */
export interface ProviderState {
  name: string;
  kind: ProviderKind;
  model: string | null;
  has_key: boolean;
  roles: Array<string>;
  last_error: string | null;
  problem: ProviderProblem | null;
  hint: string | null;
}

/** `provider/test`. */
export interface ProviderTestParams {
  name: string;
}

/** The outcome of one try of a provider; `error` is its fault, `hint` an advice in words. */
export interface ProviderTestResult {
  ok: boolean;
  latency_ms: number;
  error: string | null;
  hint: string | null;
}

/** A provider as the wire shows it. */
export interface ProviderView {
  kind: ProviderKind;
  model: string | null;
  base_url: string | null;
  has_key: boolean;
}

/** `[gateway.proxy]`: the chat proxy of `pioneer proxy`. */
export interface ProxySettings {
  port: number;
  /** An address of this machine, such as 127.0.0.1. */
  bind: string;
  allow_remote: boolean;
  allowed_hosts: Array<string>;
  request_seconds: number;
  recall_deadline_ms: number;
  placement: Placing;
  learn: Learn;
  replay_chars: number;
  memory_mode: MemoryMode;
  drain_seconds: number;
  response_headers: boolean;
  upstreams?: { [name: string]: UpstreamSettings };
}

/** Background work of one kind. */
export interface QueueCounts {
  queued: number;
  leased: number;
  retry_wait: number;
  dead: number;
}

/** Something that a recall considered. Never its text. */
export interface RankedCandidate {
  rank: number;
  score: number;
  factors: { [name: string]: number };
  cut_by: string | null;
  memory_id: string | null;
  chunk_id: string | null;
  lexical_rank: number | null;
  semantic_rank: number | null;
}

/**
 * Milliseconds after which present results are taken: a turn's facts, its hook's look back, a read
 * over MCP.
 */
export interface RecallDeadlines {
  /** Default: 1000. */
  turn?: number;
  /** Default: 800. */
  hook?: number;
  /** Default: 5000. */
  mcp?: number;
}

/**
 * The least value of each part of a hit's score for a prompt; a part without a floor or a value
 * passes.
 */
export interface RecallFloors {
  /** 0 to 1. */
  lexical?: number | null;
  /** 0 to 1. */
  semantic?: number | null;
  /** 0 to 1. */
  total?: number | null;
}

/**
 * A partial change of `[gateway.recall]`: what a turn is given of durable memory.
 *
 * Tokens are those of a scope, whatever the others leave.
 */
export interface RecallPatch {
  workspace_tokens?: number | null;
  user_tokens?: number | null;
  other_tokens?: number | null;
  items?: number | null;
  cache_seconds?: number | null;
  query_chars?: number | null;
  floors?: RecallFloors | null;
  deadline_ms?: RecallDeadlines | null;
}

/**
 * `[gateway.recall]`: what a turn is given of durable memory.
 *
 * Tokens are those of a scope, whatever the others leave.
 */
export interface RecallSettings {
  workspace_tokens: number;
  user_tokens: number;
  other_tokens: number;
  items: number;
  cache_seconds: number;
  query_chars: number;
  floors?: RecallFloors;
  deadline_ms?: RecallDeadlines;
}

/**
 * Proof of an erase; `complete` once no file of the home holds the bytes any more, but for what
 * `remaining` names.
 *
 * With `include_sources` it is complete only if a search for the words finds nothing. `sources` are
 * the places out of
 * which the words were, or would be, taken.
 */
export interface Receipt {
  memory_ids: Array<string>;
  removed: RemovedCounts;
  remaining: Remaining;
  wal: "pending" | "truncated";
  complete: boolean;
  sources: Array<SourcePlace>;
}

/** One durable memory. */
export interface Record {
  kind: Kind;
  tags: Array<string>;
  importance: number;
  valid_from: number | null;
  expires_at: number | null;
  pinned: boolean;
  path: string | null;
  metadata: { [name: string]: unknown };
  memory_id: string;
  scope: Scope;
  category: Category;
  key: string;
  content: string;
  value: unknown;
  status: Status;
  sensitivity: Sensitivity;
  confidence: number;
  provenance: Provenance;
  created_at: number;
  updated_at: number;
  last_accessed_at: number | null;
  access_count: number;
  supersedes: string | null;
  superseded_by: string | null;
  contested: boolean;
  namespace: string | null;
  evidence_count: number;
  index_state: IndexState;
  reinforced_at: number;
  standing: number;
  fades_at: number | null;
  strength: number;
  faded: boolean;
  derived_from: Array<string>;
  voice: Voice;
}

/** Records of the active scopes, counted three ways. */
export interface RecordCounts {
  by_scope: Array<ScopeCount>;
  by_category: { [name: string]: number };
  by_status: { [name: string]: number };
}

/** The record as it is now. */
export interface RecordResult {
  record: Record;
}

/** `thread_episodic/reindex`: a thread or a workspace. */
export interface ReindexParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
}

/** The number of jobs that were made. */
export interface ReindexResult {
  jobs_created: number;
}

/**
 * The rest after an erase: messages it came from, backups in `HOME/backups`, each place that holds its
 * words.
 */
export interface Remaining {
  items: Array<SourceItem>;
  backups: Array<string>;
  places: Array<LeftPlace>;
  more: number;
  files: Array<LeftFile>;
}

/** `memory/remember`: an explicit wish to keep something. */
export interface RememberParams {
  /** Default: "semantic". */
  kind?: Kind;
  /** Default: []. */
  tags?: Array<string>;
  /** 0 to 1. Default: 0.5. */
  importance?: number;
  /** Unix milliseconds. */
  valid_from?: number | null;
  /** Unix milliseconds. */
  expires_at?: number | null;
  /** Default: false. */
  pinned?: boolean;
  /** A relative path with `/`, such as projects/harbor/plan.md. */
  path?: string | null;
  /** The host's own data; at most 8 KiB of JSON. */
  metadata?: { [name: string]: unknown };
  /** One fact in plain words; at most 16 KiB. */
  content: string;
  /** Default: "custom". */
  category?: Category;
  attribute?: string | null;
  scope?: Scope | null;
  /** The caller's own name for the fact, or a canonical key. */
  key?: string | null;
  value?: unknown;
  sensitivity?: Sensitivity | null;
  /** 0 to 1. Default: 1.0. */
  confidence?: number;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  supersedes?: string | null;
  /** A repeat of the same request answers the same; 30 days. */
  idempotency_key?: string | null;
  provenance?: Provenance | null;
  context?: Context;
}

/** The result of a write: a new record, or the one that said the same already. */
export interface RememberResult {
  record: Record;
  created: boolean;
  relation: Relation;
  decision: Decision;
  superseded_memory_id: string | null;
}

/**
 * The parts of a collection that were removed. `wal`: the log holds no byte of it; `complete` needs
 * that.
 */
export interface RemovalReceipt {
  files: number;
  chunks: number;
  fts_rows: number;
  vectors: number;
  edges: number;
  versions: number;
  wal: boolean;
  complete: boolean;
}

/** Rows that an erase removed, per store. */
export interface RemovedCounts {
  records: number;
  evidence: number;
  candidates: number;
  fts_rows: number;
  vectors: number;
  jobs: number;
  snapshots: number;
  graphs: number;
  sources: number;
}

/** The rest of the repair; `damaged` records, whose checksum fails, cannot be mended and are hidden. */
export interface RepairState {
  damaged: number;
  texts: number;
  erases: number;
}

/** `item/agent_message/reset`: the deltas so far do not count. */
export interface ResetNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  item_id: string;
}

/** `memory/restore`. */
export interface RestoreParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  context?: Context;
}

/** The record, active again. */
export interface RestoreResult {
  record: Record;
}

/** `thread_episodic/retry`: one dead job, or all. */
export interface RetryParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  job_id?: string | null;
  /** Default: false. */
  all_dead?: boolean;
}

/** The number of jobs that were made runnable again. */
export interface RetryResult {
  requeued: number;
}

/**
 * A partial change of `[gateway.roles]`: which provider answers in which role; an unset role means the
 * step runs without a model.
 */
export interface RolePatch {
  main?: string | null;
  preflight?: string | null;
  extractor?: string | null;
  enricher?: string | null;
  agents?: { [name: string]: string } | null;
}

/**
 * `[gateway.roles]`: which provider answers in which role; an unset role means the step runs without a
 * model.
 */
export interface RoleSettings {
  main: string | null;
  preflight: string | null;
  extractor: string | null;
  enricher: string | null;
  agents?: { [name: string]: string };
}

/** One run of a pass: counts and ids, never text. `reversible_until` is null where nothing was changed. */
export interface Run {
  run_id: string;
  pass: PassName;
  trigger: Trigger;
  dry_run: boolean;
  state: RunState;
  reason: string | null;
  /** Unix time in milliseconds, UTC. */
  started_at: number | null;
  /** Unix time in milliseconds, UTC. */
  ended_at: number | null;
  stages: Array<RunStage>;
  llm_enriched: number;
  model: ModelUse | null;
  changes: number;
  /** Unix time in milliseconds, UTC. */
  reversible_until: number | null;
}

/** A change of a run to one thing: the members that differ, before and after. */
export interface RunChange {
  id: string;
  what: string;
  from: { [name: string]: unknown };
  to: { [name: string]: unknown };
}

/** The code of a run's failure, never text. */
export interface RunError {
  code: string;
  retryable: boolean;
}

/** A run as it stands. */
export interface RunResult {
  run: Run;
}

/** A step of a run: how many rows it looked at and changed; `counts` says more, by name. */
export interface RunStage {
  name: string;
  state: StageState;
  reason: string | null;
  seen: number;
  changed: number;
  counts: { [name: string]: number };
  duration_ms: number;
}

/**
 * The owner of a memory. The user scope's key is `default`; the others' key is the id of what they
 * name.
 */
export interface Scope {
  kind: ScopeKind;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  key: string;
}

/** The number of records that a scope holds. */
export interface ScopeCount {
  scope: Scope;
  count: number;
}

/** The parts of a score: min(1, (words + meaning + card) * topics * consolidation + related). */
export interface ScoreParts {
  words: number;
  meaning: number;
  card: number;
  topics: number;
  consolidation: number;
  related: number;
}

/** `memory/search`. */
export interface SearchParams {
  context?: Context;
  scopes?: Array<Scope> | null;
  categories?: Array<Category> | null;
  kinds?: Array<Kind> | null;
  tags?: Array<string> | null;
  statuses?: Array<Status> | null;
  voices?: Array<Voice> | null;
  /** What these agents noted or is in their scope; `user`: what is the user's word. */
  source_agents?: Array<string> | null;
  /** Default: false. */
  include_sensitive?: boolean;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
  /** Plain text; never query syntax. */
  query: string;
  /** Default: "hybrid". */
  mode?: SearchMode;
  /** 0 to 1. */
  min_score?: number | null;
  /** Default: true. */
  include_provenance?: boolean;
  /** Default: false. */
  count_elsewhere?: boolean;
  /** The IANA zone that "yesterday" is meant in; absent, as `initialize` said. */
  time_zone?: string | null;
}

/**
 * Hits, best first.
 *
 * Where there is none and `count_elsewhere` asks for it, `elsewhere` counts those of other workspaces.
 */
export interface SearchResult {
  hits: Array<Hit>;
  next_cursor: string | null;
  semantic: SemanticState;
  diagnostics: Array<Diagnostic>;
  elsewhere: Array<Elsewhere>;
  route: SearchRoute;
}

/**
 * The kind of memory that a query asks for, which moves records up or down, and the time that it
 * names.
 *
 * `kinds` of the query switches this off.
 */
export interface SearchRoute {
  kind: RouteKind;
  from_at: number | null;
  to_at: number | null;
}

/** The present state of search. */
export interface SearchState {
  lexical: boolean;
  semantic: SemanticState;
  model: string | null;
  dim: number | null;
  kind: SpaceKind | null;
}

/** Partitions of the workspace's index. */
export interface SegmentCounts {
  count: number;
  open: number;
  sealed: number;
  utilization_percent: number;
}

/** A proposer's claims about a fact. An absent member takes the value that lets less through. */
export interface SemanticFields {
  /** Default: "implicit_candidate". */
  intent?: Intent;
  /** Default: "unclear". */
  explicitness?: Explicitness;
  /** Default: "custom". */
  category?: Category;
  /** Default: "current_user". */
  subject?: Subject;
  subject_key?: string | null;
  /** Default: "custom". */
  attribute?: string;
  custom_attribute?: string | null;
  /** Default: "unknown". */
  scope_hint?: ScopeHint;
  /** Default: "unknown". */
  durability?: Durability;
  /** Default: "unknown". */
  sensitivity?: SensitivityHint;
  /** Default: "low". */
  certainty?: Certainty;
  cardinality?: Cardinality | null;
}

/** The gateway's own name and version. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** The settings as `settings/get` shows them. */
export interface Settings {
  memory: MemorySettings;
  thread_episodic: ThreadEpisodicSettings;
  knowledge: KnowledgeSettings;
  embedding: EmbeddingSettings;
  preflight: PreflightSettings;
  recall: RecallSettings;
  passes: PassSettings;
  agent: AgentSettings;
  instructions: InstructionSettings;
  agents: AgentFileSettings;
  artifacts: ArtifactSettings;
  roles: RoleSettings;
  providers: { [name: string]: ProviderView };
  limits: LimitSettings;
  mcp: McpSettings;
  http: HttpSettings;
  proxy: ProxySettings;
}

/** `settings/get`. */
export interface SettingsGetParams {
  /** Default: false. */
  origins?: boolean;
}

/** A partial change of the settings; absent members stay, null resets to the default. */
export interface SettingsPatch {
  memory?: MemoryPatch;
  thread_episodic?: ThreadEpisodicPatch;
  knowledge?: KnowledgePatch;
  embedding?: EmbeddingPatch;
  preflight?: PreflightPatch;
  recall?: RecallPatch;
  passes?: PassPatch;
  agent?: AgentPatch;
  instructions?: InstructionPatch;
  agents?: AgentFilePatch;
  artifacts?: ArtifactPatch;
  roles?: RolePatch;
}

/**
 * The settings in force; with `origins`, where each value comes from, by dotted key (a provider is one
 * entry).
 */
export interface SettingsResult {
  settings: Settings;
  origins: { [name: string]: "default" | "environment" | "file" } | null;
}

/** `settings/update`. */
export interface SettingsUpdateParams {
  update: SettingsPatch;
}

/** A turn in whose prompt a record stood. */
export interface ShownIn {
  thread_id: string;
  turn_id: string;
  at: number;
}

/**
 * Two similar active records of one scope; `cosine` is null where only their words are known to be the
 * same.
 */
export interface SimilarPair {
  record: Record;
  other: Record;
  cosine: number | null;
}

/** `memory/similar`. */
export interface SimilarParams {
  scopes?: Array<Scope> | null;
  /** Default: false. */
  include_sensitive?: boolean;
  context?: Context;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** A page of pairs, each once, those of the newest records first. An empty page may have a next one. */
export interface SimilarResult {
  pairs: Array<SimilarPair>;
  next_cursor: string | null;
}

/** A record that looks like another one; a hint for a person, who may merge the two. */
export interface SimilarTo {
  memory_id: string;
}

/** A change that was not undone, and why. */
export interface SkippedChange {
  id: string;
  reason: UndoSkip;
}

/** A message that a forgotten memory came from. */
export interface SourceItem {
  thread_id: string;
  turn_id: string | null;
  item_id: string | null;
}

/** A place that said the words of what was forgotten. */
export interface SourcePlace {
  place: ForgottenPlace;
  id: string;
}

/** A source of a text; of a file also the digest of its bytes. */
export interface SourceRef {
  kind: "agent" | "artifact" | "chunk" | "file" | "instruction" | "memory" | "thread" | "workspace";
  id: string;
  sha256: string | null;
}

/** `memory/stats`. */
export interface StatsParams {
  context?: Context;
}

/** Counts for the active scopes. */
export interface StatsResult {
  records: RecordCounts;
  candidates: { [name: string]: number };
  decisions: DecisionCounts;
  index: IndexCounts;
}

/** `gateway/status`. */
export interface StatusResult {
  version: string;
  schema_version: number;
  uptime_ms: number;
  home_id: string;
  processes: number;
  queues: { [name: string]: QueueCounts };
  search: SearchState;
  providers: Array<ProviderState>;
  degraded: Array<Degraded>;
  last_errors: Array<LastError>;
  storage: StorageState;
  repair: RepairState | null;
  capture: Array<CaptureState>;
}

/** Sizes of the database's files. */
export interface StorageState {
  db_bytes: number;
  wal_bytes: number;
}

/** A hook as registered for a phase. */
export interface SubscriptionView {
  hook_id: string;
  phase: Phase;
  priority: number;
  await_policy: AwaitPolicy;
  timeout_ms: number;
  failure_policy: FailurePolicy;
  enabled: boolean;
}

/** Words of the user. */
export interface TextInput {
  type: "text";
  text: string;
}

/** A conversation. */
export interface Thread {
  thread_id: string;
  workspace_id: string;
  agent_id: string | null;
  parent_thread_id: string | null;
  name: string | null;
  mode: Mode;
  memory_mode: MemoryMode;
  origin: ThreadOrigin;
  task_id: string | null;
  archived: boolean;
  turn_count: number;
  created_at: number;
  updated_at: number;
  not_stored: NotStored | null;
  agent: AgentRef | null;
  forked_from: ThreadFork | null;
}

/** A partial change of `[gateway.thread_episodic]`. */
export interface ThreadEpisodicPatch {
  enabled?: boolean | null;
  indexing_enabled?: boolean | null;
  recall_enabled?: boolean | null;
  default_prompt_chars?: number | null;
  max_prompt_chars?: number | null;
  max_hit_chars?: number | null;
  default_max_candidates?: number | null;
  max_candidate_work?: number | null;
  max_segments?: number | null;
  /** 0 to 1. */
  min_relevancy?: number | null;
  min_results?: number | null;
  snippet_chars?: number | null;
  chunk_target_min_chars?: number | null;
  chunk_target_max_chars?: number | null;
  chunk_max_chars?: number | null;
  max_chunks_per_item?: number | null;
  index_batch_limit?: number | null;
  segment_capacity_chunks?: number | null;
  retry_base_delay_secs?: number | null;
  retry_max_delay_secs?: number | null;
  max_attempts?: number | null;
  near_capacity_percent?: number | null;
}

/** `[gateway.thread_episodic]`. */
export interface ThreadEpisodicSettings {
  enabled: boolean;
  indexing_enabled: boolean;
  recall_enabled: boolean;
  default_prompt_chars: number;
  max_prompt_chars: number;
  max_hit_chars: number;
  default_max_candidates: number;
  max_candidate_work: number;
  max_segments: number;
  /** 0 to 1. */
  min_relevancy: number;
  min_results: number;
  snippet_chars: number;
  chunk_target_min_chars: number;
  chunk_target_max_chars: number;
  chunk_max_chars: number;
  max_chunks_per_item: number;
  index_batch_limit: number;
  segment_capacity_chunks: number;
  retry_base_delay_secs: number;
  retry_max_delay_secs: number;
  max_attempts: number;
  near_capacity_percent: number;
}

/** The fork of a conversation from another one: after that turn of it. */
export interface ThreadFork {
  thread_id: string;
  turn_id: string | null;
}

/** `thread/history`. */
export interface ThreadHistoryParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
  /** Default: "asc". */
  order?: "asc" | "desc";
  kinds?: Array<ItemKind> | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/**
 * A piece of conversation. `text` is the whole chunk, `snippet` what a prompt would show; secrets are
 * masked.
 */
export interface ThreadHit {
  chunk_id: string;
  source_id: string;
  thread_id: string;
  turn_id: string;
  item_id: string;
  chunk_index: number;
  role: IndexedRole;
  at: number;
  snippet: string;
  text: string;
  score: number;
  breakdown: { [name: string]: number };
  artifacts: Array<ArtifactRef>;
}

/**
 * `thread/import`.
 *
 * A source that does not fit one request comes in parts, the first one first: each says its `offset`,
 * and all but the
 * last one `has_more`.
 */
export interface ThreadImportParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string;
  source: ImportSource;
  turns: Array<ImportTurn>;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** Default: "replace". */
  mode?: "append" | "replace";
  /** Default: false. */
  dry_run?: boolean;
  name?: string | null;
  generation?: number | null;
  offset?: number | null;
  /** Default: false. */
  has_more?: boolean;
}

/** The thread, and counts of turns. */
export interface ThreadImportResult {
  thread: Thread;
  imported: number;
  skipped: number;
  replaced: number;
  removed: number;
  generation: number;
}

/** `thread_episodic/indexed`. */
export interface ThreadIndexed {
  thread_id: string;
  turn_id: string;
  chunk_count: number;
}

/** `thread/list`: newest first. */
export interface ThreadListParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  archived?: boolean | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Threads, newest first. */
export interface ThreadListResult {
  threads: Array<Thread>;
  next_cursor: string | null;
}

/** A thread by id. */
export interface ThreadParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
}

/** One thread. */
export interface ThreadResult {
  thread: Thread;
}

/** `thread_episodic/search`. */
export interface ThreadSearchParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string;
  /** Plain text; never query syntax. */
  query: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  mode?: SearchScope | null;
  /** Unix milliseconds. */
  from_at?: number | null;
  /** Unix milliseconds. */
  to_at?: number | null;
  roles?: Array<IndexedRole> | null;
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  max_prompt_chars?: number | null;
  /** 0 to 1. */
  min_score?: number | null;
  /** Default: []. */
  exclude_turn_ids?: Array<string>;
  /** Default: false. */
  count_elsewhere?: boolean;
  /** The IANA zone that "yesterday" is meant in; absent, as `initialize` said. */
  time_zone?: string | null;
}

/**
 * Hits, best first; `diagnostics` says why there are none or not all.
 *
 * `understood` is the time that was read from the query, if it was given none: what was said then
 * comes before all
 * else. Where a search of a whole workspace finds nothing, `elsewhere` says which others have hits, if
 * `count_elsewhere` asks for it.
 */
export interface ThreadSearchResult {
  hits: Array<ThreadHit>;
  status: SearchStatus;
  diagnostics: Array<Diagnostic>;
  understood: Understood | null;
  elsewhere: Array<Elsewhere>;
}

/** `thread/start`: opens a thread, or returns the one with that id. */
export interface ThreadStartParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** Where a new thread lies that names no workspace and no parent; absent, as `initialize` said. */
  default_workspace_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  agent_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  parent_thread_id?: string | null;
  name?: string | null;
  /** Default: "agent". */
  mode?: Mode;
  /** Default: "normal". */
  memory_mode?: MemoryMode;
  model?: string | null;
  provider?: string | null;
  /** Default: "user". */
  origin?: ThreadOrigin;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  task_id?: string | null;
  instructions?: string | null;
  /** Whether the agent definition that `agent_id` names acts here. Default: false. */
  agent?: boolean;
  /** The folder that is worked in: an absolute path. */
  cwd?: string | null;
  /**
   * Whether instruction files are added; absent, where a `cwd` is given. A helper that names no `cwd`
   * has its parent's, and its parent's choice.
   */
  instruction_files?: InstructionFiles | null;
  /** Default: "default". */
  instruction_profile?: InstructionProfile;
}

/**
 * `thread_episodic/status`; `item_ids` asks which of these messages are excluded, within the same
 * place.
 */
export interface ThreadStatusParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id?: string | null;
  /** Default: []. */
  item_ids?: Array<string>;
}

/**
 * The progress of the index. `excluded_items` are those of the messages asked about of which a part is
 * excluded.
 */
export interface ThreadStatusResult {
  chunks: ChunkCounts;
  jobs: JobCounts;
  oldest_pending_age_ms: number | null;
  segments: SegmentCounts;
  partial_items: Array<PartialItem>;
  dead_jobs: number;
  paused: PausedQueue | null;
  repair: IndexRepair;
  excluded_items: Array<string>;
}

/** `thread/update`: only the members given change. */
export interface ThreadUpdateParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
  name?: string | null;
  memory_mode?: MemoryMode;
  archived?: boolean;
}

/** `turn/tool_call`; `call_id` is idempotent within the turn. */
export interface ToolCallParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id: string;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  call_id: string;
  name: string;
  arguments?: { [name: string]: unknown };
}

/** The answer, and the tools that are visible now. */
export interface ToolCallResult {
  result: ToolReply;
  visible_tools: Array<string>;
}

/** A host's own tool call of the turn, in a sentence. */
export interface ToolEvent {
  name: string;
  summary?: string | null;
  status?: string | null;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  call_id?: string | null;
}

/** The error of a tool. */
export interface ToolFailure {
  code: string;
  message: string;
  retryable: boolean;
}

/** The answer of a tool. */
export interface ToolReply {
  ok: boolean;
  data: unknown;
  error: ToolFailure | null;
}

/** A tool as a model sees it; `parameters` is a JSON Schema. */
export interface ToolSpec {
  name: string;
  domain: Domain;
  description: string;
  parameters: { [name: string]: unknown };
}

/** The tool side of an item. */
export interface ToolUse {
  call_id: string;
  name: string;
  arguments: unknown;
  is_error: boolean;
}

/** A message of a transcript. */
export interface TranscriptMessage {
  role: "assistant" | "user";
  text: string;
}

/** A message of the user and what was answered; `at` absent: now. */
export interface TranscriptTurn {
  messages: Array<TranscriptMessage>;
  /** Unix milliseconds. */
  at?: number | null;
}

/** One question and all that was done to answer it. */
export interface Turn {
  turn_id: string;
  thread_id: string;
  workspace_id: string;
  driver: Driver;
  mode: Mode;
  status: TurnStatus;
  started_at: number;
  completed_at: number | null;
  error: TurnError | null;
  rounds: number;
  usage: Usage | null;
  prompt_manifest: PromptManifest | null;
  not_stored: NotStored | null;
  superseded_by: string | null;
  tool_events: Array<ToolEvent>;
  upstream: TurnUpstream | null;
}

/** The failure of a turn: a reason for programs, and a sentence for the person who asked. */
export interface TurnError {
  reason: string;
  retryable: boolean;
  message: string;
}

/** `turn/failed`. */
export interface TurnFailedNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  turn: Turn;
  error: TurnError;
}

/** `turn/finish`; idempotent. */
export interface TurnFinishParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id: string;
  status: FinishStatus;
  assistant_text?: string | null;
  /** Default: []. */
  tool_events?: Array<ToolEvent>;
  /** Default: []. */
  artifacts?: Array<ArtifactRefInput>;
}

/** `turn/items`. */
export interface TurnItemsParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id: string;
  /** At most this many, 1 to 100. Default: 100. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** `turn/started`, `turn/completed`, `turn/cancelled`. */
export interface TurnNotice {
  thread_id: string;
  turn_id: string;
  seq: number;
  turn: Turn;
}

/**
 * Options of a host for one turn: switches, the place of recalled blocks, and the time zone.
 *
 * Recalled blocks stand as data before the user's words unless the host asks for another place.
 */
export interface TurnOptions {
  /** Default: false. */
  skip_retention?: boolean;
  /** Default: false. */
  skip_recall?: boolean;
  /** Default: false. */
  skip_files?: boolean;
  /** Default: "before_user". */
  context_placement?: Placement;
  /** Default: false. */
  unknown_client?: boolean;
  /** The IANA zone that "yesterday" is meant in; absent, as `initialize` said. */
  time_zone?: string | null;
}

/** A turn by id. */
export interface TurnParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id: string;
}

/** The policy of this turn: its permissions concerning memory. */
export interface TurnPolicy {
  recall: Permission;
  read_tools: Permission;
  remember: Permission;
  forget: Permission;
  extraction: Permission;
}

/** One turn. */
export interface TurnResult {
  turn: Turn;
}

/** `turn/start` and `turn/prepare`; `input` has a word of the user, or a file. */
export interface TurnStartParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  thread_id: string;
  input: Array<TextInput | ArtifactInput>;
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  turn_id?: string | null;
  model?: string | null;
  provider?: string | null;
  mode?: Mode | null;
  options?: TurnOptions;
  /** The folder that is worked in: an absolute path. */
  cwd?: string | null;
}

/**
 * The upstream that a proxied turn went to: its name in the configuration, its dialect, the model.
 *
 * `model` is the one that the answer names, else the one that was asked for; null where neither names
 * one.
 */
export interface TurnUpstream {
  name: string;
  dialect: Dialect;
  model?: string | null;
}

/** The time that a query named: its first and last millisecond, and its words. */
export interface Understood {
  /** Unix time in milliseconds, UTC. */
  from_at: number;
  /** Unix time in milliseconds, UTC. */
  to_at: number;
  text: string;
}

/** The call that takes a change back; the context is the caller's. */
export interface UndoCall {
  method: string;
  params: { [name: string]: unknown };
}

/**
 * A link that leads nowhere, as it was written. `candidates`: the entities of that name, if there are
 * several.
 */
export interface UnresolvedLink {
  text: string;
  candidates: Array<string>;
}

/** `memory/update`: new content is an explicit correction, everything else changes in place. */
export interface UpdateParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  memory_id: string;
  /** One fact in plain words; at most 16 KiB. */
  content?: string;
  value?: unknown;
  tags?: Array<string>;
  category?: Category;
  /** 0 to 1. */
  importance?: number;
  pinned?: boolean;
  /** Unix milliseconds. */
  expires_at?: number | null;
  /** The host's own data; at most 8 KiB of JSON. */
  metadata?: { [name: string]: unknown };
  /** Unix milliseconds. */
  expected_updated_at?: number | null;
  context?: Context;
}

/** The record as it is now. */
export interface UpdateResult {
  record: Record;
  superseded_memory_id: string | null;
}

/** `[gateway.proxy.upstreams.NAME]`: a model's address. A key itself is never in the file. */
export interface UpstreamSettings {
  dialect: Dialect;
  /** An address of http:// or https://, without credentials and query. */
  base_url: string;
  api_key_env: string | null;
  connect_timeout_ms: number;
  idle_timeout_ms: number;
  default: boolean;
}

/** Tokens as the provider counted them; of the input, those that it had kept. */
export interface Usage {
  /** Default: 0. */
  input_tokens?: number;
  /** Default: 0. */
  output_tokens?: number;
  /** Default: 0. */
  cached_tokens?: number;
}

/** The edge over which a related hit was reached. */
export interface Via {
  entity_id: string;
  kind: string;
  strength: number;
  direction: "in" | "out";
}

/** Work that waits for its time. */
export interface Waiting {
  kind: string;
  count: number;
  next_run_at: number;
}

/** The process that watches a collection's folders, and how many it watches. */
export interface WatchState {
  process: "none" | "other" | "this";
  folders: number;
}

/** Limits that a client should know. */
export interface WireLimits {
  max_message_bytes: number;
  max_in_flight: number;
  max_batch: number;
}

/** A project: threads, their index and workspace-scoped memory live and die with it. */
export interface Workspace {
  workspace_id: string;
  name: string | null;
  root_path: string | null;
  created_at: number;
  updated_at: number;
  state: "active" | "deleting";
}

/** `workspace/create`. */
export interface WorkspaceCreateParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id?: string | null;
  name?: string | null;
  root_path?: string | null;
}

/** `workspace/list`. */
export interface WorkspaceListParams {
  /** At most this many, 1 to 100. Default: 20. */
  limit?: number;
  /** Opaque; `next_cursor` of the page before. */
  cursor?: string | null;
}

/** Workspaces, oldest first. */
export interface WorkspaceListResult {
  workspaces: Array<Workspace>;
  next_cursor: string | null;
}

/** A workspace by id. */
export interface WorkspaceParams {
  /** An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`. */
  workspace_id: string;
}

/** One workspace. */
export interface WorkspaceResult {
  workspace: Workspace;
}

/** `memory/write`: a proposal with its semantics and evidence. */
export interface WriteParams {
  /** Default: "semantic". */
  kind?: Kind;
  /** Default: []. */
  tags?: Array<string>;
  /** 0 to 1. Default: 0.5. */
  importance?: number;
  /** Unix milliseconds. */
  valid_from?: number | null;
  /** Unix milliseconds. */
  expires_at?: number | null;
  /** Default: false. */
  pinned?: boolean;
  /** A relative path with `/`, such as projects/harbor/plan.md. */
  path?: string | null;
  /** The host's own data; at most 8 KiB of JSON. */
  metadata?: { [name: string]: unknown };
  semantic: SemanticFields;
  /** One fact in plain words; at most 16 KiB. */
  content: string;
  scope?: Scope | null;
  /** The caller's own name for the fact, or a canonical key. */
  key?: string | null;
  value?: unknown;
  /** Default: []. */
  evidence?: Array<Evidence>;
  /** Default: "route_to_candidate_policy". */
  disposition?: Disposition;
  /** 0 to 1. */
  confidence?: number | null;
  /** A repeat of the same request answers the same; 30 days. */
  idempotency_key?: string | null;
  provenance?: Provenance | null;
  context?: Context;
}

/** The service's decision; a refusal is a result with no record. */
export interface WriteResult {
  relation: Relation;
  canonical_key: string;
  semantic_fingerprint: string;
  decision: Decision;
  record: Record | null;
  candidate: Candidate | null;
  superseded_memory_id: string | null;
  evidence_merged: boolean;
}

/** Every request: its parameters, its result, and the reasons of its errors. */
export interface Methods {
  /** Exchange versions, capabilities and limits. */
  "initialize": {
    params: InitializeParams;
    result: InitializeResult;
    errors: "already_initialized" | CommonError;
  };
  /** Answer at once. */
  "ping": {
    params: Empty;
    result: Nothing;
    errors: CommonError;
  };
  /** Finish what is in flight; then only `exit` is accepted. */
  "shutdown": {
    params: Empty;
    result: null;
    errors: CommonError;
  };
  /** What works, what waits, what failed. */
  "gateway/status": {
    params: Empty;
    result: StatusResult;
    errors: CommonError;
  };
  /** Return when no background work is runnable. */
  "gateway/drain": {
    params: DrainParams;
    result: DrainResult;
    errors: CommonError;
  };
  /** The settings in force. */
  "settings/get": {
    params: SettingsGetParams;
    result: SettingsResult;
    errors: CommonError;
  };
  /** Change settings, in the file and live. */
  "settings/update": {
    params: SettingsUpdateParams;
    result: SettingsResult;
    errors: CommonError;
  };
  /** Make a workspace, or confirm an equal one. */
  "workspace/create": {
    params: WorkspaceCreateParams;
    result: WorkspaceResult;
    errors: "conflict" | CommonError;
  };
  /** Every workspace. */
  "workspace/list": {
    params: WorkspaceListParams;
    result: WorkspaceListResult;
    errors: CommonError;
  };
  /** One workspace. */
  "workspace/get": {
    params: WorkspaceParams;
    result: WorkspaceResult;
    errors: "not_found" | CommonError;
  };
  /** Remove a workspace, its threads, their index and its memory. */
  "workspace/delete": {
    params: WorkspaceParams;
    result: DeleteResult;
    errors: "not_found" | "conflict" | CommonError;
  };
  /** Open a thread. */
  "thread/start": {
    params: ThreadStartParams;
    result: ThreadResult;
    errors: "not_found" | "conflict" | "agent_invalid" | CommonError;
  };
  /** One thread. */
  "thread/get": {
    params: ThreadParams;
    result: ThreadResult;
    errors: "not_found" | CommonError;
  };
  /** Threads, newest first. */
  "thread/list": {
    params: ThreadListParams;
    result: ThreadListResult;
    errors: CommonError;
  };
  /** Rename, archive, or change how memory is used. */
  "thread/update": {
    params: ThreadUpdateParams;
    result: ThreadResult;
    errors: "not_found" | CommonError;
  };
  /** Remove a thread, its items and its index. */
  "thread/delete": {
    params: ThreadParams;
    result: DeleteResult;
    errors: "not_found" | "turn_in_progress" | CommonError;
  };
  /** What was said, as it was said. */
  "thread/history": {
    params: ThreadHistoryParams;
    result: ItemsResult;
    errors: "not_found" | CommonError;
  };
  /** Bring in turns of another program; repeatable. */
  "thread/import": {
    params: ThreadImportParams;
    result: ThreadImportResult;
    errors: "not_found" | "conflict" | CommonError;
  };
  /** Begin a turn; the rest comes as notifications. */
  "turn/start": {
    params: TurnStartParams;
    result: TurnResult;
    errors: "not_found" | "turn_in_progress" | "conflict" | "provider_not_configured" | "agent_invalid" | CommonError;
  };
  /** Everything before the model, for a host that calls its own. */
  "turn/prepare": {
    params: TurnStartParams;
    result: PrepareResult;
    errors: "not_found" | "turn_in_progress" | "conflict" | "agent_invalid" | CommonError;
  };
  /** Run one of the gateway's tools in a host-driven turn. */
  "turn/tool_call": {
    params: ToolCallParams;
    result: ToolCallResult;
    errors: "not_found" | "conflict" | CommonError;
  };
  /** End a host-driven turn. The same end again changes nothing; another one is a `conflict`. */
  "turn/finish": {
    params: TurnFinishParams;
    result: TurnResult;
    errors: "not_found" | "conflict" | CommonError;
  };
  /** Stop a turn. */
  "turn/cancel": {
    params: TurnParams;
    result: TurnResult;
    errors: "not_found" | CommonError;
  };
  /** A turn with its manifest. */
  "turn/get": {
    params: TurnParams;
    result: TurnResult;
    errors: "not_found" | CommonError;
  };
  /** A turn's items. */
  "turn/items": {
    params: TurnItemsParams;
    result: ItemsResult;
    errors: "not_found" | CommonError;
  };
  /** Find or make the turn of a message that a program without memory passes on, and what it is given. */
  "capture/prepare": {
    params: CapturePrepareParams;
    result: CapturePrepareResult;
    errors: "not_found" | "conflict" | "scope_out_of_context" | CommonError;
  };
  /** Keep what was answered to such a message. */
  "capture/finish": {
    params: CaptureFinishParams;
    result: CaptureFinishResult;
    errors: "not_found" | "conflict" | "scope_out_of_context" | CommonError;
  };
  /** Keep a transcript that grows; what is there already stays once. */
  "capture/ingest": {
    params: CaptureIngestParams;
    result: CaptureIngestResult;
    errors: "not_found" | "conflict" | "scope_out_of_context" | CommonError;
  };
  /** Files of a thread. */
  "artifact/list": {
    params: ArtifactListParams;
    result: ArtifactListResult;
    errors: "not_found" | CommonError;
  };
  /** A part of a file. */
  "artifact/get": {
    params: ArtifactGetParams;
    result: ArtifactGetResult;
    errors: "not_found" | CommonError;
  };
  /** Remove a file's bytes. */
  "artifact/delete": {
    params: ArtifactDeleteParams;
    result: DeleteResult;
    errors: "not_found" | CommonError;
  };
  /** The instruction files that a turn would be given, and what was cut or refused. */
  "instructions/preview": {
    params: InstructionsPreviewParams;
    result: InstructionsPreviewResult;
    errors: "not_found" | CommonError;
  };
  /** Switch the instruction files of a workspace on or off. */
  "instructions/set": {
    params: InstructionsSetParams;
    result: InstructionsSetResult;
    errors: "not_found" | CommonError;
  };
  /** The texts that an instruction file had in earlier turns. */
  "instructions/versions": {
    params: InstructionsVersionsParams;
    result: InstructionsVersionsResult;
    errors: "not_found" | CommonError;
  };
  /** Agent definitions, and those that are invalid. */
  "agents/list": {
    params: AgentsListParams;
    result: AgentsListResult;
    errors: CommonError;
  };
  /** An agent definition with its texts. */
  "agents/get": {
    params: AgentsGetParams;
    result: AgentsGetResult;
    errors: "not_found" | "agent_invalid" | "forbidden" | CommonError;
  };
  /** Find records by words and meaning. */
  "memory/search": {
    params: SearchParams;
    result: SearchResult;
    errors: "memory_disabled" | "scope_out_of_context" | CommonError;
  };
  /** One record, or null. */
  "memory/get": {
    params: GetParams;
    result: GetResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** Records in order. */
  "memory/list": {
    params: ListParams;
    result: ListResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** Keep something because the user wants it kept. */
  "memory/remember": {
    params: RememberParams;
    result: RememberResult;
    errors:
      | "memory_disabled"
      | "scope_out_of_context"
      | "write_refused"
      | "memory_write_disabled"
      | "memory_ignored"
      | "idempotency_mismatch"
      | "not_found"
      | CommonError;
  };
  /** Propose a fact with its semantics and evidence. */
  "memory/write": {
    params: WriteParams;
    result: WriteResult;
    errors:
      | "memory_disabled"
      | "scope_out_of_context"
      | "write_refused"
      | "memory_write_disabled"
      | "memory_ignored"
      | "idempotency_mismatch"
      | "not_found"
      | CommonError;
  };
  /** Keep an agent's own note, which is no word of the user. */
  "memory/note": {
    params: NoteParams;
    result: NoteResult;
    errors:
      | "memory_disabled"
      | "scope_out_of_context"
      | "write_refused"
      | "memory_write_disabled"
      | "memory_ignored"
      | "idempotency_mismatch"
      | "not_found"
      | CommonError;
  };
  /** Take an agent's note for the user's word; for a person, never a tool. */
  "memory/confirm": {
    params: ConfirmParams;
    result: ConfirmResult;
    errors: "not_found" | "conflict" | "memory_disabled" | "memory_write_disabled" | "memory_ignored" | CommonError;
  };
  /** Correct or annotate a record. */
  "memory/update": {
    params: UpdateParams;
    result: UpdateResult;
    errors:
      | "memory_disabled"
      | "scope_out_of_context"
      | "write_refused"
      | "memory_write_disabled"
      | "memory_ignored"
      | "idempotency_mismatch"
      | "not_found"
      | "conflict"
      | CommonError;
  };
  /** Forget; restorable, or erased with a receipt. */
  "memory/forget": {
    params: ForgetParams;
    result: ForgetResult;
    errors: "scope_out_of_context" | "memory_write_disabled" | CommonError;
  };
  /** Undo a forgetting or a merge. */
  "memory/restore": {
    params: RestoreParams;
    result: RestoreResult;
    errors: "not_found" | "scope_out_of_context" | "conflict" | "memory_disabled" | CommonError;
  };
  /** Pairs of records that look alike. */
  "memory/similar": {
    params: SimilarParams;
    result: SimilarResult;
    errors: "scope_out_of_context" | "memory_disabled" | CommonError;
  };
  /** The records that are linked to a record. */
  "memory/links": {
    params: LinksParams;
    result: LinksResult;
    errors: "not_found" | "scope_out_of_context" | "memory_disabled" | CommonError;
  };
  /** Merge a record into another one that says the same; for a person, never a tool. */
  "memory/merge": {
    params: MergeParams;
    result: MergeResult;
    errors:
      | "memory_disabled"
      | "scope_out_of_context"
      | "write_refused"
      | "memory_write_disabled"
      | "memory_ignored"
      | "idempotency_mismatch"
      | "not_found"
      | "conflict"
      | CommonError;
  };
  /** Let a record's lifetime begin anew. */
  "memory/reinforce": {
    params: MemoryIdParams;
    result: RecordResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "conflict"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | CommonError;
  };
  /** Put a record out of sight, until it is restored. */
  "memory/archive": {
    params: MemoryIdParams;
    result: RecordResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "conflict"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | CommonError;
  };
  /** What happened to a record and those it replaced. */
  "memory/history": {
    params: HistoryParams;
    result: HistoryResult;
    errors: "not_found" | "scope_out_of_context" | CommonError;
  };
  /** What was learned, replaced, forgotten and proposed in a time, and how to take it back. */
  "memory/changes": {
    params: MemoryChangesParams;
    result: MemoryChangesResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** Proposals. */
  "memory/candidates/list": {
    params: CandidateListParams;
    result: CandidateListResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** One proposal. */
  "memory/candidates/get": {
    params: CandidateParams;
    result: CandidateResult;
    errors: "not_found" | "scope_out_of_context" | CommonError;
  };
  /** Approve, reject or expire a proposal. */
  "memory/candidates/decide": {
    params: CandidateDecideParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | "write_refused"
      | CommonError;
  };
  /** Make a record of a proposal. */
  "memory/candidates/approve": {
    params: CandidateReasonParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | "write_refused"
      | CommonError;
  };
  /** Refuse a proposal. */
  "memory/candidates/reject": {
    params: CandidateReasonParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | CommonError;
  };
  /** Make a record of a proposal in better words. */
  "memory/candidates/edit_and_approve": {
    params: CandidateEditParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | "write_refused"
      | CommonError;
  };
  /** Fold a proposal into another or into a record. */
  "memory/candidates/merge": {
    params: CandidateMergeParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | "conflict"
      | CommonError;
  };
  /** Refuse this and all that says the same. */
  "memory/candidates/suppress_similar": {
    params: CandidateReasonParams;
    result: CandidateResult;
    errors:
      | "not_found"
      | "scope_out_of_context"
      | "already_decided"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | CommonError;
  };
  /** Why something was or was not saved or recalled. */
  "memory/explain": {
    params: ExplainParams;
    result: ExplainResult;
    errors: "not_found" | "scope_out_of_context" | CommonError;
  };
  /** Counts of the active scopes. */
  "memory/stats": {
    params: StatsParams;
    result: StatsResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** A checksummed bundle. */
  "memory/export": {
    params: ExportParams;
    result: ExportResult;
    errors: "scope_out_of_context" | CommonError;
  };
  /** Take a bundle in; repeatable. */
  "memory/import": {
    params: ImportParams;
    result: ImportResult;
    errors:
      | "scope_out_of_context"
      | "checksum_mismatch"
      | "version_too_new"
      | "memory_disabled"
      | "memory_write_disabled"
      | "memory_ignored"
      | "not_found"
      | CommonError;
  };
  /** Find what was said. */
  "thread_episodic/search": {
    params: ThreadSearchParams;
    result: ThreadSearchResult;
    errors: CommonError;
  };
  /** How far the index is. */
  "thread_episodic/status": {
    params: ThreadStatusParams;
    result: ThreadStatusResult;
    errors: CommonError;
  };
  /** Indexing jobs. */
  "thread_episodic/jobs": {
    params: JobsParams;
    result: JobsResult;
    errors: CommonError;
  };
  /** Make dead jobs runnable. */
  "thread_episodic/retry": {
    params: RetryParams;
    result: RetryResult;
    errors: "not_found" | CommonError;
  };
  /** Build the index again from the stored items. */
  "thread_episodic/reindex": {
    params: ReindexParams;
    result: ReindexResult;
    errors: "not_found" | CommonError;
  };
  /** Never recall this again. */
  "thread_episodic/exclude": {
    params: ExcludeParams;
    result: ExcludeResult;
    errors: "not_found" | CommonError;
  };
  /** Undo an exclusion. */
  "thread_episodic/unexclude": {
    params: ExcludeParams;
    result: ExcludeResult;
    errors: "not_found" | CommonError;
  };
  /** Have a folder's files indexed, or preview that. */
  "knowledge/collections/add": {
    params: CollectionAddParams;
    result: CollectionAddResult;
    errors: "unsafe_root" | "overlapping_collection" | "conflict" | "not_found" | "knowledge_disabled" | CommonError;
  };
  /** The collections that a workspace sees. */
  "knowledge/collections/list": {
    params: CollectionListParams;
    result: CollectionListResult;
    errors: CommonError;
  };
  /** One collection. */
  "knowledge/collections/get": {
    params: CollectionParams;
    result: CollectionResult;
    errors: "not_found" | CommonError;
  };
  /** Change what a collection holds, or where it lies. */
  "knowledge/collections/update": {
    params: CollectionUpdateParams;
    result: CollectionResult;
    errors: "unsafe_root" | "overlapping_collection" | "conflict" | "not_found" | "knowledge_disabled" | CommonError;
  };
  /** Forget a collection to the last byte; its folder is untouched. */
  "knowledge/collections/remove": {
    params: CollectionParams;
    result: CollectionRemoveResult;
    errors: "not_found" | CommonError;
  };
  /** Compare a collection with its folder now. */
  "knowledge/collections/scan": {
    params: CollectionScanParams;
    result: CollectionScanResult;
    errors: "not_found" | "knowledge_disabled" | CommonError;
  };
  /** Find what files, conversations and memory say. */
  "knowledge/search": {
    params: KnowledgeSearchParams;
    result: KnowledgeSearchResult;
    errors: "knowledge_disabled" | CommonError;
  };
  /** Lines of an indexed file as they are now. */
  "knowledge/read": {
    params: KnowledgeReadParams;
    result: KnowledgeReadResult;
    errors: "not_found" | "knowledge_disabled" | CommonError;
  };
  /** Pages, folders, tags and code by name. */
  "knowledge/entities": {
    params: EntitiesParams;
    result: EntitiesResult;
    errors: "not_found" | CommonError;
  };
  /** The links at a page, a folder, a tag or a file of code. */
  "knowledge/edges": {
    params: EdgesParams;
    result: EdgesResult;
    errors: CommonError;
  };
  /** The files of a collection and their states. */
  "knowledge/files": {
    params: FilesParams;
    result: FilesResult;
    errors: "not_found" | CommonError;
  };
  /** How far the index of files is. */
  "knowledge/status": {
    params: KnowledgeStatusParams;
    result: KnowledgeStatusResult;
    errors: CommonError;
  };
  /** Read files again that failed. */
  "knowledge/retry": {
    params: KnowledgeRetryParams;
    result: KnowledgeRetryResult;
    errors: "not_found" | "knowledge_disabled" | CommonError;
  };
  /** Why a file is or is not indexed, or a piece not shown. */
  "knowledge/explain": {
    params: KnowledgeExplainParams;
    result: KnowledgeExplainResult;
    errors: "not_found" | "knowledge_disabled" | CommonError;
  };
  /** What happened to files, newest first. */
  "knowledge/changes": {
    params: ChangesParams;
    result: ChangesResult;
    errors: CommonError;
  };
  /** The contents that a path had; a file that moved has its earlier ones under its path before. */
  "knowledge/versions": {
    params: FileVersionsParams;
    result: FileVersionsResult;
    errors: "not_found" | CommonError;
  };
  /** Registered hooks in dispatch order. */
  "hooks/list": {
    params: Empty;
    result: HooksListResult;
    errors: CommonError;
  };
  /** What hooks did. */
  "hooks/runs": {
    params: HooksRunsParams;
    result: HooksRunsResult;
    errors: CommonError;
  };
  /** Configured model providers. */
  "provider/list": {
    params: Empty;
    result: ProviderListResult;
    errors: CommonError;
  };
  /** Ask a provider for one word. */
  "provider/test": {
    params: ProviderTestParams;
    result: ProviderTestResult;
    errors: "not_found" | "provider_failed" | CommonError;
  };
  /** Every pass, its plan and its last run. */
  "passes/list": {
    params: Empty;
    result: PassesListResult;
    errors: CommonError;
  };
  /** Run a pass now, or rehearse it. */
  "passes/run": {
    params: PassesRunParams;
    result: RunResult;
    errors: "memory_disabled" | "pass_running" | CommonError;
  };
  /** Runs, newest first. */
  "passes/runs": {
    params: PassesRunsParams;
    result: PassesRunsResult;
    errors: CommonError;
  };
  /** A run and what it changed. */
  "passes/get": {
    params: PassesGetParams;
    result: PassesGetResult;
    errors: "not_found" | CommonError;
  };
  /** Take back what a run changed, for 90 days. */
  "passes/undo": {
    params: PassesUndoParams;
    result: PassesUndoResult;
    errors: "not_found" | "conflict" | CommonError;
  };
  /** Records of the user's own voice that have faded. */
  "passes/review": {
    params: PassesReviewParams;
    result: PassesReviewResult;
    errors: "scope_out_of_context" | "memory_disabled" | CommonError;
  };
}

export type MethodName = keyof Methods;

/** The parameters of every notification. */
export interface Notifications {
  /** A turn began. */
  "turn/started": TurnNotice;
  /** An item began. */
  "item/started": ItemNotice;
  /** The next piece of an answer. */
  "item/agent_message/delta": DeltaNotice;
  /** A broken stream is tried again; earlier pieces do not count. */
  "item/agent_message/reset": ResetNotice;
  /** An item is whole. */
  "item/completed": ItemNotice;
  /** A turn ended well. */
  "turn/completed": TurnNotice;
  /** A turn failed; its items are kept. */
  "turn/failed": TurnFailedNotice;
  /** A turn was cancelled. */
  "turn/cancelled": TurnNotice;
  /** The work after a turn is done. */
  "turn/post_completed": PostCompletedNotice;
  /** A record changed. */
  "memory/changed": MemoryChanged;
  /** A proposal waits for a decision. */
  "memory/candidate_created": CandidateCreated;
  /** Records were forgotten. */
  "memory/forgotten": MemoryForgotten;
  /** An erase that was pending is complete. */
  "memory/erased": MemoryErased;
  /** Another process or an import changed these scopes. */
  "memory/invalidated": MemoryInvalidated;
  /** Scheduled maintenance began. */
  "passes/started": PassStarted;
  /** Scheduled maintenance ended. */
  "passes/completed": PassCompleted;
  /** A turn became searchable. */
  "thread_episodic/indexed": ThreadIndexed;
  /** Files of a collection changed; `knowledge/changes` has them. */
  "knowledge/changed": KnowledgeChanged;
  /** Every file of a collection is read. */
  "knowledge/indexed": KnowledgeIndexed;
  /** A turn's instruction files differ from those last used in that workspace. */
  "instructions/changed": InstructionsChanged;
  /** Long work goes on. */
  "gateway/progress": Progress;
  /** Something stopped working. */
  "gateway/degraded": GatewayDegraded;
  /** Something works again. */
  "gateway/recovered": GatewayRecovered;
}

export type NotificationName = keyof Notifications;
